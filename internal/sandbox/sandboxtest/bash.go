package sandboxtest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// bashTests use what every bash has built in, since a template may grant nothing else.
var bashTests = []test{
	{"ExitStatusIsTheShellsOwn", bashExitStatus},
	{"SignalsEndTheShell", bashSignals},
	{"ErrorsNameTheLineOfTheSource", bashErrors},
	{"ScriptFindsItself", bashFindsItself},
	{"ScriptLeavesNoTrace", bashLeavesNoTrace},
	{"StdinIsTheCalls", bashStdin},
	{"VariablesAreEnvironmentStrings", bashVariables},
	{"VariablesThatFitNoEnvironmentAreRefused", bashBadVariables},
	{"FilesAndEnvironmentArriveFirst", bashFiles},
	{"LongSourceRuns", bashLongSource},
	{"BackgroundProcessesDoNotHoldTheAnswer", bashBackground},
	{"DeafShellDies", bashDeaf},
	{"FreshSignalsAndDescriptors", bashFresh},
	{"NothingOfTheBridgeIsLeft", bashBridge},
}

func (s *suite) bash(t *testing.T, p Program) Outcome {
	t.Helper()
	p.Language = execution.Bash
	out := s.drive(t, p)
	if out.Result == nil && !errors.Is(out.ResultErr, io.EOF) {
		t.Errorf("the stream ended with %v", out.ResultErr)
	}
	return out
}

func bashExitStatus(t *testing.T, s *suite) {
	for code, want := range map[string]int{
		"":                                  0,
		"true":                              0,
		"false":                             1,
		"exit 3":                            3,
		"exit 256":                          0,
		"exit -1":                           255,
		"(exit 9)":                          9,
		"set -e\nfalse\necho not here":      1,
		"false\necho end":                   0,
		"no_such_command_at_all":            127,
		"/":                                 126,
		"trap 'echo bye; exit 5' EXIT":      5,
		"set -u\necho $unset":               1,
		"if true; then":                     2,
		"set -o pipefail\nfalse | true":     1,
		"trap 'exit 4' TERM; kill -TERM $$": 4,
		"f() { return 6; }; f":              6,
	} {
		out := s.bash(t, Program{Code: code})
		if out.Result != nil || out.Ended.Cause != sandbox.CauseNone || out.Ended.Signal != 0 || out.Ended.ExitCode != want {
			t.Errorf("%q: ended %+v, stderr %q", code, out.Ended, out.Stderr)
		}
		if strings.Contains(out.Stdout, "not here") {
			t.Errorf("%q went on: %q", code, out.Stdout)
		}
	}
}

func bashSignals(t *testing.T, s *suite) {
	for _, n := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGSEGV} {
		out := s.bash(t, Program{Code: fmt.Sprintf("echo x; kill -%d $$; echo y", n)})
		if out.Ended.Cause != sandbox.CauseNone || out.Ended.Signal != int(n) || out.Stdout != "x\n" {
			t.Errorf("%v: ended %+v, stdout %q", n, out.Ended, out.Stdout)
		}
	}
}

func bashErrors(t *testing.T, s *suite) {
	out := s.bash(t, Program{Code: "echo one\n\nno_such_command_at_all"})
	if want := "<cell>: line 3: no_such_command_at_all: command not found\n"; out.Stderr != want {
		t.Errorf("stderr %q", out.Stderr)
	}
	out = s.bash(t, Program{Code: "echo one\nfi"})
	if !strings.HasPrefix(out.Stderr, "<cell>: line 2: syntax error near unexpected token `fi'\n") || out.Stdout != "one\n" {
		t.Errorf("stdout %q, stderr %q", out.Stdout, out.Stderr)
	}
}

// bashFindsItself covers the two idioms by which scripts look for their own files
// and tell whether they were started or sourced.
func bashFindsItself(t *testing.T, s *suite) {
	out := s.bash(t, Program{Code: `set -euo pipefail
[[ "${BASH_SOURCE[0]}" == "$0" ]] && echo main
[[ $- != *i* ]] && echo "$# $0 $PPID" | { read -r n name parent; echo "$n $name"; }
case "$0" in */*) exit 9 ;; esac
[[ "$(cd . && pwd)" == "$PWD" ]] && echo here
`})
	if out.Ended.ExitCode != 0 || out.Stdout != "main\n0 <cell>\nhere\n" {
		t.Errorf("ended %+v, stdout %q, stderr %q", out.Ended, out.Stdout, out.Stderr)
	}
}

func bashLeavesNoTrace(t *testing.T, s *suite) {
	out := s.bash(t, Program{Code: "shopt -s nullglob dotglob\necho [*] *", Arm: sandbox.Arm{Files: []execution.File{{Path: "<cell>"}}}})
	if out.Stdout != "[*] <cell>\n" && out.Stdout != "<cell>\n" {
		t.Errorf("stdout %q", out.Stdout)
	}
	out = s.bash(t, Program{Code: "shopt -s nullglob dotglob\necho -- *\nf=(*); echo ${#f[@]}"})
	if out.Stdout != "--\n0\n" {
		t.Errorf("stdout %q", out.Stdout)
	}
}

func bashStdin(t *testing.T, s *suite) {
	out := s.bash(t, Program{
		Code:  "read -r first; mapfile -t rest; echo \"$first|${rest[*]}\"\nread -r x <<<here; echo $x\ncat=$(</dev/stdin); echo \"[$cat]\"",
		Stdin: "één\ntwo\nthree",
	})
	if out.Stdout != "één|two three\nhere\n[]\n" {
		t.Errorf("stdout %q, stderr %q", out.Stdout, out.Stderr)
	}
}

func bashVariables(t *testing.T, s *suite) {
	out := s.bash(t, Program{
		Code: `printf '%s\n' "$n" "$text" "$flag" "$none" "$names" "$empty|"; declare -p n`,
		Variables: map[string]any{
			"n": 41, "text": "one two\n$HOME 'é'", "flag": true, "none": nil, "names": map[string]any{"a": []int{1, 2}}, "empty": "",
		},
	})
	want := "41\none two\n$HOME 'é'\ntrue\nnull\n{\"a\":[1,2]}\n|\ndeclare -x n=\"41\"\n"
	if out.Stdout != want {
		t.Errorf("stdout %q, stderr %q", out.Stdout, out.Stderr)
	}
}

func bashBadVariables(t *testing.T, s *suite) {
	for name, v := range map[string]string{"a NUL": "a\x00b", "too long": strings.Repeat("x", 200_000)} {
		out := s.bash(t, Program{Code: "echo ran", Variables: map[string]any{"v": v}})
		if out.Result == nil || out.Result.Outcome != bridge.OutcomeException || out.Result.Exception == nil || out.Stdout != "" {
			t.Errorf("%s: outcome %+v", name, out)
		}
	}
}

func bashFiles(t *testing.T, s *suite) {
	out := s.bash(t, Program{
		Code: `echo "$GREETING"; echo "$(<in/data.txt)"; . ./lib.sh; echo "$made" > out; echo "$(<out)"`,
		Arm: sandbox.Arm{
			Environment: map[string]string{"GREETING": "héllo"},
			Files:       []execution.File{{Path: "in/data.txt", Data: []byte("12\n")}, {Path: "lib.sh", Data: []byte("made=here\n")}},
		},
	})
	if out.Stdout != "héllo\n12\nhere\n" || out.Stderr != "" {
		t.Errorf("stdout %q, stderr %q", out.Stdout, out.Stderr)
	}
}

// bashLongSource is more than a pipe holds and more than an argument may have.
func bashLongSource(t *testing.T, s *suite) {
	out := s.bash(t, Program{Code: "x=0\n" + strings.Repeat("((++x)) # padding\n", 20_000) + "echo $x\n"})
	if out.Stdout != "20000\n" || out.Ended.ExitCode != 0 {
		t.Errorf("ended %+v, stdout %q, stderr %q", out.Ended, out.Stdout, out.Stderr)
	}
}

func bashBackground(t *testing.T, s *suite) {
	out := s.bash(t, Program{Code: "while :; do :; done & (while :; do :; done) & disown -a; echo hi"})
	if out.Stdout != "hi\n" || out.Ended.ExitCode != 0 || out.Ended.Cause != sandbox.CauseNone {
		t.Errorf("ended %+v, stdout %q", out.Ended, out.Stdout)
	}
}

func bashDeaf(t *testing.T, s *suite) {
	child := s.start(t)
	stop := &killAfter{kill: func() { child.Kill(sandbox.CauseTimeout) }}
	out, err := Drive(bounded(t), child, Program{
		Language: execution.Bash, Code: "trap '' TERM INT HUP QUIT; echo ready; while :; do :; done", Stdout: stop,
	})
	if err != nil || out.Ended.Cause != sandbox.CauseTimeout {
		t.Errorf("ended %+v, error %v", out.Ended, err)
	}
}

// bashFresh: a signal that is ignored when a shell starts can never be trapped by it.
func bashFresh(t *testing.T, s *suite) {
	out := s.bash(t, Program{Code: "trap; trap 'echo pipe' PIPE; kill -PIPE $$\necho $SHLVL $LINENO $BASH_SUBSHELL; umask"})
	if !strings.HasPrefix(out.Stdout, "pipe\n") || !strings.HasSuffix(out.Stdout, " 2 0\n0022\n") {
		t.Errorf("stdout %q, stderr %q", out.Stdout, out.Stderr)
	}
}

// bashBridge looks where a guest moves its end of the bridge to.
func bashBridge(t *testing.T, s *suite) {
	out := s.bash(t, Program{Code: "for n in {256..1100}; do if { : >&$n; } 2>/dev/null; then echo $n; fi; done; echo end"})
	if out.Stdout != "end\n" {
		t.Errorf("open descriptors: %q", out.Stdout)
	}
}
