package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestExecuteCodeAnswersInTheFormOfTheOriginal(t *testing.T) {
	engine := newEngine(map[string]execution.Result{
		"print(42)": {Status: execution.StatusOK, Stdout: "42\n", DurationMS: 3.7},
		"1/0": {
			Status: execution.StatusError, ExitCode: 1, Stderr: "Traceback…", DurationMS: 1,
			Error: &execution.Error{Code: "ZeroDivisionError", Message: "division by zero", Line: 1, Traceback: []string{"  File \"<cell>\", line 1\n"}},
		},
		"while True: pass": {
			Status: execution.StatusTimeout, ExitCode: -1, Stderr: "Execution timed out after 30 seconds.",
			Error: &execution.Error{Code: "TIMEOUT", Message: "Execution timed out after 30 seconds."},
		},
		"import subprocess": {
			Status: execution.StatusDenied, ExitCode: -1,
			Error: &execution.Error{
				Code: "POLICY_VIOLATION", Message: "Not permitted: import(subprocess).", Violations: []execution.Violation{{Permission: "import(subprocess)", Line: 1}},
			},
		},
		"ask": {Status: execution.StatusPendingApproval, OperationID: "op_1", ExitCode: -1, Summary: "This program needs a human's yes to run(git)."},
	})
	s, _ := newServer(t, Config{Engine: engine, Compat: []string{ProfileCodeMode}})
	session := connect(t, s, "2025-11-25", nil)
	for _, c := range []struct {
		args map[string]any
		want executeCodeAnswer // of stderr the beginning
	}{
		{map[string]any{"code": "print(42)"}, executeCodeAnswer{Success: true, Stdout: "42\n", DurationMS: 3}},
		{map[string]any{"code": "print(42)", "timeout": 5, "variables": nil}, executeCodeAnswer{Success: true, Stdout: "42\n", DurationMS: 3}},
		{map[string]any{"code": "1/0"}, executeCodeAnswer{Stderr: "Traceback", DurationMS: 1, Diagnostics: &diagnostics{ErrorType: "ZeroDivisionError", Message: "division by zero", Line: 1, Traceback: "  File \"<cell>\", line 1\n"}}},
		{map[string]any{"code": "while True: pass"}, executeCodeAnswer{Stderr: "Execution timed out", Diagnostics: &diagnostics{ErrorType: "TIMEOUT"}}},
		{map[string]any{"code": "import subprocess"}, executeCodeAnswer{Stderr: "", Diagnostics: &diagnostics{ErrorType: "POLICY_VIOLATION", Line: 1}}},
		{map[string]any{"code": "ask"}, executeCodeAnswer{Stderr: "", Diagnostics: &diagnostics{ErrorType: "PENDING_APPROVAL"}}},
		{map[string]any{"code": "x", "timeout": 0}, executeCodeAnswer{Stderr: "timeout: must be greater than zero", Diagnostics: &diagnostics{ErrorType: "INVALID_ARGUMENT"}}},
		{map[string]any{"code": "x", "timeout": "soon"}, executeCodeAnswer{Stderr: "timeout", Diagnostics: &diagnostics{ErrorType: "INVALID_ARGUMENT"}}},
		{map[string]any{"code": strings.Repeat("é", 8001)}, executeCodeAnswer{Stderr: "Code exceeds maximum length of 8000", Diagnostics: &diagnostics{ErrorType: "POLICY_VIOLATION"}}},
		{map[string]any{"code": strings.Repeat("\n", 400) + "1"}, executeCodeAnswer{Stderr: "Code exceeds maximum of 400 lines", Diagnostics: &diagnostics{ErrorType: "POLICY_VIOLATION"}}},
	} {
		res := call(t, session, "execute_code", c.args)
		var got executeCodeAnswer
		if err := json.Unmarshal(mustJSON(t, res.StructuredContent), &got); err != nil {
			t.Fatal(err)
		}
		if got.Success != c.want.Success || got.Stdout != c.want.Stdout || !strings.HasPrefix(got.Stderr, c.want.Stderr) || got.DurationMS != c.want.DurationMS || (got.Diagnostics == nil) != (c.want.Diagnostics == nil) {
			t.Errorf("%v: %+v", c.args, got)
			continue
		}
		if d := c.want.Diagnostics; d != nil && (got.Diagnostics.ErrorType != d.ErrorType || got.Diagnostics.Line != d.Line || d.Traceback != "" && got.Diagnostics.Traceback != d.Traceback) {
			t.Errorf("%v: %+v", c.args, got.Diagnostics)
		}
		if res.IsError {
			t.Errorf("%v: an error of the call", c.args)
		}
	}
	for _, r := range engine.requests {
		if r.Timeout.Seconds() != 30 && r.Timeout.Seconds() != 5 {
			t.Errorf("timeout %v", r.Timeout)
		}
	}
}

func TestExecuteCodeLeavesTheLengthToAGearThatBoundsIt(t *testing.T) {
	code := strings.Repeat("#", 9000)
	engine := newEngine(map[string]execution.Result{code: {Status: execution.StatusOK}})
	s, _ := newServer(t, Config{Engine: engine, Compat: []string{ProfileCodeMode}, OwnSourceLimits: true})
	res := call(t, connect(t, s, "2025-11-25", nil), "execute_code", map[string]any{"code": code})
	if !strings.Contains(string(mustJSON(t, res.StructuredContent)), `"success":true`) {
		t.Errorf("%+v", res.StructuredContent)
	}
}
