package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func shown(t *testing.T, r execution.Result) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{Streams: Streams{Out: &out, Err: &errs}}
	if err := a.show(r); err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String()
}

func TestOutputIsPassedOnUnchangedAndTheValueFollows(t *testing.T) {
	for name, c := range map[string]struct {
		result      execution.Result
		out, stderr string
	}{
		"nothing":         {execution.Result{Status: execution.StatusOK}, "", ""},
		"streams":         {execution.Result{Status: execution.StatusOK, Stdout: "a\r\n%s", Stderr: "b"}, "a\r\n%s", "b"},
		"value":           {execution.Result{Status: execution.StatusOK, Value: json.RawMessage("21"), ValueType: "int"}, "21\n", ""},
		"after output":    {execution.Result{Status: execution.StatusOK, Stdout: "a\n", Value: json.RawMessage(`"b"`), ValueType: "str"}, "a\n'b'\n", ""},
		"unfinished line": {execution.Result{Status: execution.StatusOK, Stdout: "a", Value: json.RawMessage("1"), ValueType: "int"}, "a\n1\n", ""},
		"timeout":         {execution.Result{Status: execution.StatusTimeout, Stderr: "Execution timed out after 1 second."}, "", "Execution timed out after 1 second.\n"},
		"traceback only in the answer": {
			execution.Result{Status: execution.StatusError, Stderr: "so far", Error: &execution.Error{Code: "ValueError", Message: "no", Traceback: []string{"  line 1\n"}}},
			"", "so far\nTraceback (most recent call last):\n  line 1\nValueError: no\n",
		},
		"traceback in both": {
			execution.Result{Status: execution.StatusError, Stderr: "Traceback (most recent call last):\n  line 1\nValueError: no\n", Error: &execution.Error{Code: "ValueError", Message: "no", Traceback: []string{"  line 1\n"}}},
			"", "Traceback (most recent call last):\n  line 1\nValueError: no\n",
		},
		"syntax error in both": {
			execution.Result{Status: execution.StatusError, Stderr: "SyntaxError: no\n", Error: &execution.Error{Code: "SyntaxError", Message: "no"}},
			"", "SyntaxError: no\n",
		},
		"refused while running": {
			execution.Result{Status: execution.StatusOK, Denied: []string{"run(ls)", "net(a)"}},
			"", "gearbox: refused while running: run(ls), net(a)\n",
		},
		"notes": {
			execution.Result{
				Status: execution.StatusOK, Lossy: true, Warnings: []string{"weak"},
				Truncated: map[string]execution.Truncated{"stdout": {TotalBytes: 9, KeptBytes: 4}},
			},
			"", "gearbox: stdout: 4 of 9 bytes were kept\ngearbox: bytes that are not UTF-8 were replaced\ngearbox: warning: weak\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs := shown(t, c.result)
			if out != c.out || errs != c.stderr {
				t.Errorf("stdout %q, stderr %q: want %q and %q", out, errs, c.out, c.stderr)
			}
		})
	}
}

func TestRefusalTellsPlaceHintAndTheOptionThatPermitsIt(t *testing.T) {
	out, errs := shown(t, execution.Result{
		Status: execution.StatusDenied, ExitCode: -1, Stderr: "Not permitted: import(subprocess). Nothing was run.",
		Error: &execution.Error{Code: "POLICY_VIOLATION", Violations: []execution.Violation{{
			Rule: "default", Permission: "import(subprocess)", Line: 2, Column: 5, Source: "    import subprocess",
			Hint: "Compute it in Python.", Allow: "import(subprocess)",
		}}},
	})
	want := `gearbox: Not permitted: import(subprocess). Nothing was run.

line 2, column 5: import(subprocess) is not permitted (rule: default)
    import subprocess
  hint: Compute it in Python.
  to permit it: --allow 'import(subprocess)'
`
	if out != "" || errs != want {
		t.Errorf("stdout %q, stderr\n%s\nwant\n%s", out, errs, want)
	}
}

func TestQuotedRulesSurviveAShell(t *testing.T) {
	const shell = "/bin/sh"
	if _, err := os.Stat(shell); err != nil {
		t.Skipf("no POSIX shell here: %v", err)
	}
	for _, rule := range []string{"net(api.github.com:443)", "read(/it's $HOME/`x`/**)", `a"b\c`, "", "\n"} {
		got, err := exec.CommandContext(t.Context(), shell, "-c", "printf %s "+shellQuote(rule)).Output()
		if err != nil || string(got) != rule {
			t.Errorf("%q arrived as %q, %v", rule, got, err)
		}
	}
}

// TestWhatDoesNotShowIsMadeVisible: text of a program or a model that Gearbox prints in its
// own name is shown as the approvals show it.
func TestWhatDoesNotShowIsMadeVisible(t *testing.T) {
	const text, want = "a\u202eb\u200b\x1b[2J", "a⟨U+202E⟩b⟨U+200B⟩⟨U+001B⟩[2J"
	_, errs := shown(t, execution.Result{
		Status: execution.StatusDenied, Stderr: text,
		Error: &execution.Error{Violations: []execution.Violation{{Permission: text, Rule: text, Line: 1, Column: 1, Source: text, Hint: text, Allow: text}}},
	})
	if n := strings.Count(errs, want); n != 6 || strings.ContainsAny(errs, "\u202e\u200b\x1b\ufffd") {
		t.Errorf("%d times: %q", n, errs)
	}
	_, errs = shown(t, execution.Result{Status: execution.StatusOK, Denied: []string{text}, Warnings: []string{text}})
	if n := strings.Count(errs, want); n != 2 {
		t.Errorf("%d times: %q", n, errs)
	}
	var out bytes.Buffer
	a := &app{Streams: Streams{Out: &out, Err: &out}}
	a.section("code", text+"\r\n\tb ⟨U+0041⟩\n")
	if out.String() != "\ncode:\n  "+want+"⟨U+000D⟩\n      b ⟨U+27E8⟩U+0041⟩\n" {
		t.Errorf("%q", out.String())
	}
	if got := row([]string{text, text}); got != want+"\t"+want {
		t.Errorf("%q", got)
	}
}
