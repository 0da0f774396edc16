package conformance

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const baselineFile = "baseline.yaml"

// expectation is an entry of the baseline: checks of one scenario that are expected not
// to pass when the server has the fixtures.
type expectation struct {
	Suite    string            `yaml:"suite"`
	Protocol string            `yaml:"protocol"`
	Scenario string            `yaml:"scenario"`
	Checks   map[string]string `yaml:"checks"` // the reason for each
}

func (e expectation) of(r run) bool {
	return r.plain == nil && e.Suite == r.suite && e.Protocol == r.protocol
}

func baseline(t *testing.T) []expectation {
	t.Helper()
	b, err := os.ReadFile(baselineFile)
	if err != nil {
		t.Fatal(err)
	}
	expected, err := parse(b)
	if err != nil {
		t.Fatalf("%s: %v", baselineFile, err)
	}
	return expected
}

func parse(b []byte) ([]expectation, error) {
	var file struct {
		Expected []expectation `yaml:"expected"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(&file); err != nil {
		return nil, err
	}
	for _, e := range file.Expected {
		if !slices.ContainsFunc(runs(), e.of) {
			return nil, fmt.Errorf("scenario %q: suite %q is not run at protocol %q", e.Scenario, e.Suite, e.Protocol)
		}
		if e.Scenario == "" || len(e.Checks) == 0 {
			return nil, fmt.Errorf("an entry of suite %s at protocol %s names no scenario or no check", e.Suite, e.Protocol)
		}
		for id, reason := range e.Checks {
			if len(strings.Fields(reason)) < 3 {
				return nil, fmt.Errorf("scenario %s: check %s: give the reason why it is expected to fail", e.Scenario, id)
			}
		}
	}
	return file.Expected, nil
}

func TestTheBaselineIsWellFormed(t *testing.T) { baseline(t) }

func TestABaselineThatExcusesNothingInParticularIsRefused(t *testing.T) {
	const entry = "expected:\n  - suite: 0.2.0-alpha.12\n    protocol: '2026-07-28'\n    scenario: caching\n    checks:\n      some-check: it needs what is not there\n"
	if _, err := parse([]byte(entry)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"no reason":        {"it needs what is not there", ""},
		"a mark":           {"it needs what is not there", "later"},
		"no check":         {"checks:\n      some-check: it needs what is not there\n", ""},
		"no scenario":      {"    scenario: caching\n", ""},
		"another suite":    {"0.2.0-alpha.12", "0.2.0"},
		"another protocol": {"2026-07-28", "2025-03-26"},
		"a slip":           {"scenario:", "scenarios:"},
		"twice":            {"some-check: it needs what is not there\n", "some-check: it needs what is not there\n      some-check: it needs that\n"},
	} {
		changed := strings.Replace(entry, change[0], change[1], 1)
		if _, err := parse([]byte(changed)); err == nil || changed == entry {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestAVerdictThatTheBaselineDoesNotHaveIsAComplaint(t *testing.T) {
	r := run{suite: "1", protocol: "today", scenarios: 2, passed: 2}
	expected := []expectation{{Suite: "1", Protocol: "today", Scenario: "tasks", Checks: map[string]string{"create": "there are no tasks"}}}
	good := func() outcome {
		return outcome{
			"tools": {{ID: "list", Status: "SUCCESS"}, {ID: "note", Status: "INFO"}},
			"tasks": {{ID: "connect", Status: "SUCCESS"}, {ID: "create", Status: "FAILURE"}},
		}
	}
	if wrong := r.judge(good(), expected); wrong != nil {
		t.Fatal(wrong)
	}
	for name, c := range map[string]struct {
		change func(outcome)
		says   string
	}{
		"a failure":                  {func(o outcome) { o["tools"] = append(o["tools"], check{ID: "call", Status: "FAILURE"}) }, "tools: call: FAILURE"},
		"a warning":                  {func(o outcome) { o["tools"] = append(o["tools"], check{ID: "call", Status: "WARNING"}) }, "tools: call: WARNING"},
		"a check that was skipped":   {func(o outcome) { o["tools"] = append(o["tools"], check{ID: "call", Status: "SKIPPED"}) }, "tools: call: SKIPPED"},
		"a word that nobody knows":   {func(o outcome) { o["tools"] = append(o["tools"], check{ID: "call", Status: "MAYBE"}) }, "tools: call: MAYBE"},
		"a second check of the name": {func(o outcome) { o["tasks"] = append(o["tasks"], check{ID: "create", Status: "FAILURE"}) }, "tasks: create: FAILURE"},
		"an entry that passes":       {func(o outcome) { o["tasks"][1].Status = "SUCCESS" }, "tasks: create: passes or was not run"},
		"an entry that was not run":  {func(o outcome) { o["tasks"] = o["tasks"][:1] }, "tasks: create: passes or was not run"},
		"a scenario less":            {func(o outcome) { delete(o, "tools") }, "1 scenarios ran and 2 should have"},
		"a check less":               {func(o outcome) { o["tasks"] = o["tasks"][1:] }, "1 checks passed and 2 should have"},
		"a scenario of notes":        {func(o outcome) { o["tools"] = o["tools"][1:] }, "tools: none of its 1 checks decides anything"},
		"nothing at all":             {func(o outcome) { clear(o) }, "0 scenarios ran and 2 should have"},
	} {
		o := good()
		c.change(o)
		if wrong := strings.Join(r.judge(o, expected), "\n"); !strings.Contains(wrong, c.says) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}
