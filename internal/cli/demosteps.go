package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// demoSteps are the calls of the demo and what is to come of each.
func demoSteps(bell *listener) []step {
	return []step{
		{
			title:     "A value: the last expression comes back",
			arguments: map[string]any{"code": "prices = [19.5, 4.25, 8.0]\nprint(f\"{len(prices)} items\")\nsum(prices)"},
			expect:    isValue("31.75"),
		},
		{
			title:     "A refusal: judged before anything runs, with a hint",
			arguments: map[string]any{"code": "# subprocess in a comment is harmless\nimport subprocess\nsubprocess.run([\"id\"])", "gear": "restricted"},
			expect:    isRefusal,
		},
		{
			title:     "A timeout: the whole process tree is gone",
			arguments: map[string]any{"code": "while True:\n    pass", "timeout_seconds": 1},
			expect:    isOneOf(execution.StatusTimeout),
		},
		{
			title:     "An endless print: head and tail are kept, the rest is not",
			arguments: map[string]any{"code": "n = 0\nwhile True:\n    n += 1\n    print(\"line\", n)", "timeout_seconds": 5},
			// A slow machine meets the time limit first.
			expect: isOneOf(execution.StatusOutputLimit, execution.StatusTimeout),
		},
		{
			title: "A network attempt: the sandbox has no network",
			// The address is put together at run time, so that analysis cannot see it
			// coming and the wall itself has to hold.
			arguments: map[string]any{"code": fmt.Sprintf(
				"import socket\nplace = \".\".join(str(n) for n in (127, 0, 0, 1))\nsocket.create_connection((place, %d), timeout=2)", bell.port())},
			expect: hearsNothing(bell),
		},
		{
			title:     "And the next call is none the worse",
			arguments: map[string]any{"code": "6 * 7"},
			expect:    isValue("42"),
		},
	}
}

func isValue(want string) func(execution.Result) error {
	return func(r execution.Result) error {
		if r.Status != execution.StatusOK || !equalJSON(r.Value, want) {
			return fmt.Errorf("expected the value %s, got status %s and value %s", want, r.Status, r.Value)
		}
		return nil
	}
}

func equalJSON(got json.RawMessage, want string) bool {
	var a, b float64
	return json.Unmarshal(got, &a) == nil && json.Unmarshal([]byte(want), &b) == nil && a == b
}

func isOneOf(statuses ...execution.Status) func(execution.Result) error {
	return func(r execution.Result) error {
		if !slices.Contains(statuses, r.Status) {
			return fmt.Errorf("expected one of %v, got %s", statuses, r.Status)
		}
		return nil
	}
}

func isRefusal(r execution.Result) error {
	if err := isOneOf(execution.StatusDenied)(r); err != nil {
		return err
	}
	if r.Error == nil || len(r.Error.Violations) == 0 {
		return errors.New("expected a violation")
	}
	for _, v := range r.Error.Violations {
		if v.Line != 2 && v.Line != 3 {
			return fmt.Errorf("expected violations in lines 2 and 3, got line %d", v.Line)
		}
		if v.Hint == "" {
			return fmt.Errorf("%s has no hint", v.Permission)
		}
	}
	return nil
}

// hearsNothing accepts a refusal by policy as well as by the wall: what counts is
// that no connection came.
func hearsNothing(bell *listener) func(execution.Result) error {
	return func(r execution.Result) error {
		if n := bell.heard.Load(); n > 0 {
			return fmt.Errorf("%d connections came out of the sandbox", n)
		}
		return isOneOf(execution.StatusError, execution.StatusDenied)(r)
	}
}
