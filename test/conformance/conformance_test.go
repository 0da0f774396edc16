package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// run is one suite at one version of the protocol.
type run struct {
	suite, protocol string
	// Either all the scenarios that apply, or those that the suite lists for the
	// revision of the protocol, with the extensions beside them that it does not count.
	all       bool
	plain     []string // what is looked at when the server is to have no fixtures
	scenarios int      // how many have to run
	passed    int      // how many checks have to pass
}

// The suites, as npm and as suites/package.json name them.
const (
	first, firstIn   = "0.1.16", "conformance-0.1"
	second, secondIn = "0.2.0-alpha.12", "conformance-0.2"
)

// Without fixtures no more can be expected than what every server has. A server that
// people use has none, so this holds what they get against the suites.
func runs() []run {
	legacy := []string{
		"server-initialize", "ping", "logging-set-level", "tools-list", "resources-list", "prompts-list",
		"server-sse-multiple-streams", "dns-rebinding-protection",
	}
	modern := []string{
		"tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found", "caching",
		"server-sse-multiple-streams", "dns-rebinding-protection", "http-header-validation",
	}
	return []run{
		{suite: first, protocol: "2025-11-25", all: true, scenarios: 32, passed: 44},
		{suite: second, protocol: "2025-06-18", all: true, scenarios: 27, passed: 56},
		{suite: second, protocol: "2025-11-25", scenarios: 33, passed: 84},
		{suite: second, protocol: "2026-07-28", scenarios: 50, passed: 197},
		{suite: first, protocol: "2025-11-25", all: true, plain: legacy, scenarios: 8, passed: 10},
		{suite: second, protocol: "2025-11-25", plain: append(legacy, "server-session-lifecycle"), scenarios: 9, passed: 21},
		{suite: second, protocol: "2026-07-28", plain: modern, scenarios: 8, passed: 38},
	}
}

// arguments make a suite run what it has for the protocol.
func (r run) arguments() []string {
	if r.all {
		return []string{"--suite", "all", "--spec-version", r.protocol}
	}
	return []string{"--requirements", r.protocol}
}

func (r run) String() string {
	fixtures := "with fixtures"
	if r.plain != nil {
		fixtures = "as it is"
	}
	return fmt.Sprintf("suite %s, protocol %s, server %s", r.suite, r.protocol, fixtures)
}

func TestTheOfficialSuitesPass(t *testing.T) {
	dir := installed(t)
	g, expected := build(t), baseline(t)
	var figures strings.Builder
	for _, r := range runs() {
		t.Run(r.String(), func(t *testing.T) {
			done := r.on(t, dir, g.serve(t, r.plain == nil))
			fmt.Fprintf(&figures, "%-63s %s\n", r, done.count())
			for _, complaint := range r.judge(done, expected) {
				t.Error(complaint)
			}
		})
	}
	report(t, figures.String())
}

// judge says what is wrong with what a run has found.
func (r run) judge(done outcome, expected []expectation) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	reasons := map[[2]string]string{}
	for _, e := range expected {
		for id, reason := range e.Checks {
			if e.of(r) {
				reasons[[2]string{e.Scenario, id}] = reason
			}
		}
	}
	for scenario, checks := range done {
		if !slices.ContainsFunc(checks, check.decides) {
			say("%s: none of its %d checks decides anything", scenario, len(checks))
		}
		for _, c := range checks {
			at := [2]string{scenario, c.ID}
			switch _, known := reasons[at]; {
			case c.passed() || !c.decides():
			case known:
				delete(reasons, at) // an entry excuses one check, not all of its name
			default:
				say("%s: %s: %s: %s (%s)", scenario, c.ID, c.Status, c.ErrorMessage, c.references())
			}
		}
	}
	for at := range reasons {
		say("%s: %s: passes or was not run, and %s expects it to fail: take the entry out", at[0], at[1], baselineFile)
	}
	n := done.count()
	if n.scenarios != r.scenarios {
		say("%d scenarios ran and %d should have", n.scenarios, r.scenarios)
	}
	if n.passed != r.passed {
		say("%d checks passed and %d should have", n.passed, r.passed)
	}
	slices.Sort(wrong)
	return wrong
}

// report tells the figures, in the log of the test and, if there is to be one, in the
// report of the long forms.
func report(t *testing.T, text string) {
	t.Helper()
	t.Logf("\n%s", text)
	dir := os.Getenv("GEARBOX_TEST_FIGURES")
	if dir == "" {
		return
	}
	markdown := "\n## The official conformance suites\n\nEach check that did not pass stands in `test/conformance/baseline.yaml` with its reason.\n\n```text\n" + text + "```\n"
	if err := os.WriteFile(filepath.Join(dir, "conformance.md"), []byte(markdown), 0o600); err != nil {
		t.Error(err)
	}
}
