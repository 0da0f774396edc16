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
	version         string   // of the suite, as npm names it
	args            []string // what makes the suite run all that it has for this protocol
	plain           []string // the scenarios, when the server is to have no fixtures
	scenarios       int      // how many have to run
	passed          int      // how many checks have to pass
}

// Without fixtures no more can be expected than what every server has. A server that
// people use has none, so this holds what they get against the suite.
func runs() []run {
	first := func(r run) run {
		r.suite, r.version, r.args = "conformance-0.1", "0.1.16", []string{"--suite", "all", "--spec-version", r.protocol}
		return r
	}
	// The scenarios that a revision of the protocol requires, and those beside them that
	// the suite does not count: the extensions, and what came after the revision.
	second := func(r run) run {
		r.suite, r.version, r.args = "conformance-0.2", "0.2.0-alpha.12", []string{"--requirements", r.protocol}
		return r
	}
	legacy := []string{
		"server-initialize", "ping", "logging-set-level", "tools-list", "resources-list", "prompts-list",
		"server-sse-multiple-streams", "dns-rebinding-protection",
	}
	modern := []string{
		"tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found", "caching",
		"server-sse-multiple-streams", "dns-rebinding-protection", "http-header-validation",
	}
	return []run{
		first(run{protocol: "2025-11-25", scenarios: 32, passed: 44}),
		second(run{protocol: "2025-11-25", scenarios: 33, passed: 84}),
		second(run{protocol: "2026-07-28", scenarios: 50, passed: 168}),
		first(run{protocol: "2025-11-25", plain: legacy, scenarios: 8, passed: 10}),
		second(run{protocol: "2025-11-25", plain: append(legacy, "server-session-lifecycle"), scenarios: 9, passed: 21}),
		second(run{protocol: "2026-07-28", plain: modern, scenarios: 8, passed: 38}),
	}
}

func (r run) String() string {
	fixtures := "with fixtures"
	if r.plain != nil {
		fixtures = "as it is"
	}
	return fmt.Sprintf("suite %s, protocol %s, server %s", r.version, r.protocol, fixtures)
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
