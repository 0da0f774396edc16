//go:build linux

package sidecar_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// shell opens a sidecar that runs bash, or skips where this machine has none.
func shell(t *testing.T, o sidecar.Options) *sidecar.Sidecar {
	t.Helper()
	s := open(t, o)
	info, err := s.Environment().Info(t.Context(), execution.Local)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(info.Languages, execution.Bash) {
		t.Skip("skipped: this machine has no bash")
	}
	return s
}

func TestHonestBashProgramsRunWithoutAlarm(t *testing.T) {
	files, err := filepath.Glob("../../test/corpus/honest/*.sh")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	s := shell(t, sidecar.Options{})
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			want := read(t, strings.TrimSuffix(f, ".sh")+".out")
			r := run(t, s, execution.Request{Language: execution.Bash, Code: read(t, f)})
			if r.Status != execution.StatusOK || r.Stdout != want || r.Isolation != execution.LevelFull {
				t.Errorf("status %s at level %s, error %+v\n%s%s", r.Status, r.Isolation, r.Error, r.Stdout, r.Stderr)
			}
		})
	}
}

func TestABashProgramEndsAsBashDoes(t *testing.T) {
	s := shell(t, sidecar.Options{})
	for name, c := range map[string]struct {
		code           string
		status         execution.Status
		exit           int
		error, signal  string
		stdout, stderr string // what it begins with
	}{
		"ok":               {"echo hi; echo err >&2", execution.StatusOK, 0, "", "", "hi\n", "err\n"},
		"exit":             {"echo hi; exit 3", execution.StatusError, 3, "EXIT", "", "hi\n", ""},
		"last command":     {"echo hi; false", execution.StatusError, 1, "EXIT", "", "hi\n", ""},
		"set -e":           {"set -euo pipefail\nfalse | cat\necho not here", execution.StatusError, 1, "EXIT", "", "", ""},
		"unset variable":   {"set -u\necho $nothing", execution.StatusError, 1, "EXIT", "", "", "<cell>: line 2: nothing: unbound variable"},
		"EXIT trap":        {"trap 'echo bye' EXIT; exit 4", execution.StatusError, 4, "EXIT", "", "bye\n", ""},
		"absent function":  {"f() { g; }; type f >/dev/null; $(echo absent_one) ", execution.StatusDenied, -1, "POLICY_VIOLATION", "", "", ""},
		"killed":           {"echo hi; kill -9 $$", execution.StatusError, 137, "SIGKILL", "SIGKILL", "hi\n", ""},
		"ended by a term":  {"kill $$", execution.StatusError, 143, "SIGTERM", "SIGTERM", "", ""},
		"syntax error":     {"echo hi\nif then", execution.StatusError, 2, "SyntaxError", "", "hi\n", "<cell>: line 2: syntax error"},
		"ungranted":        {"echo hi\nperl -v", execution.StatusDenied, -1, "POLICY_VIOLATION", "", "", ""},
		"detached":         {"sleep 300 & nohup sleep 300 & (sleep 300; echo late) & echo hi", execution.StatusOK, 0, "", "", "hi\n", ""},
		"not found":        {"eval \"$(printf 'c%srl' u)\"", execution.StatusError, 127, "EXIT", "", "", "<cell>: line 1: curl: command not found"},
		"nothing at all":   {"", execution.StatusOK, 0, "", "", "", ""},
		"a here-document":  {"cat <<X\n$((6 * 7))\nX", execution.StatusOK, 0, "", "", "42\n", ""},
		"process subst":    {"diff <(echo a) <(echo a) && echo same", execution.StatusOK, 0, "", "", "same\n", ""},
		"python from bash": {"python3 -c 'print(6 * 7)' | tee /dev/stderr", execution.StatusOK, 0, "", "", "42\n", "42\n"},
		"bash from python": {"exec python3 -c 'import subprocess; subprocess.run([\"bash\", \"-c\", \"echo $0\"])'", execution.StatusOK, 0, "", "", "bash\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, s, execution.Request{Language: execution.Bash, Code: c.code})
			code := ""
			if r.Error != nil {
				code = r.Error.Code
			}
			if r.Status != c.status || r.ExitCode != c.exit || code != c.error || r.Signal != c.signal ||
				!strings.HasPrefix(r.Stdout, c.stdout) || !strings.HasPrefix(r.Stderr, c.stderr) || strings.Contains(r.Stdout, "not here") {
				t.Errorf("%+v %+v", r, r.Error)
			}
			if r.Status == execution.StatusOK && r.DurationMS <= 0 {
				t.Error("no duration")
			}
		})
	}
}

func TestEachLimitHoldsForBash(t *testing.T) {
	s := shell(t, sidecar.Options{})
	for name, c := range map[string]struct {
		code    string
		timeout time.Duration
		status  execution.Status
		exit    int
		stdout  string // what it begins with
	}{
		"time":                {"echo before; while :; do :; done", time.Second, execution.StatusTimeout, -1, "before\n"},
		"time, deaf":          {"trap '' TERM INT HUP; echo before; while :; do sleep 1; done", time.Second, execution.StatusTimeout, -1, "before\n"},
		"time, in a program":  {"echo before; sleep 600", time.Second, execution.StatusTimeout, -1, "before\n"},
		"time, in background": {"(trap '' TERM; sleep 600) & wait", time.Second, execution.StatusTimeout, -1, ""},
		"output":              {"yes", time.Minute, execution.StatusOutputLimit, -1, "y\n"},
		"output of bash":      {"while :; do echo 0123456789012345678901234567890123456789; done", 5 * time.Minute, execution.StatusOutputLimit, -1, "0123"},
		"memory":              {"echo before; a=xxxxxxxxxxxxxxxx; while :; do a=$a$a; done", time.Minute, execution.StatusMemoryLimit, 2, "before\n"},
		"disk":                {"echo before; set -e; for f in a b; do head -c 40M /dev/zero > /tmp/$f; done", time.Minute, execution.StatusDiskLimit, 1, "before\n"},
		"inodes":              {"set -e; for i in {1..10000}; do : > /workspace/$i; done", time.Minute, execution.StatusDiskLimit, 1, ""},
		"fork bomb":           {"echo before; :() { : | : & }; :; wait; while :; do :; done", 2 * time.Second, execution.StatusTimeout, -1, "before\n"},
		// Bash itself tries again for 15 seconds.
		"processes": {"echo before; while :; do sleep 600 & done", time.Minute, execution.StatusProcessLimit, 254, "before\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && c.status == execution.StatusProcessLimit {
				t.Skip("skipped: it takes 15 seconds")
			}
			r := run(t, s, execution.Request{Language: execution.Bash, Code: c.code, Timeout: c.timeout})
			// Where a control group bounds the memory, the kernel ends the program.
			memory := c.status == execution.StatusMemoryLimit && r.ExitCode == -1
			if r.Status != c.status || r.ExitCode != c.exit && !memory || !strings.HasPrefix(r.Stdout, c.stdout) {
				t.Errorf("status %s, error %+v, exit %d, %d bytes of stdout, stderr %.300q", r.Status, r.Error, r.ExitCode, len(r.Stdout), r.Stderr)
			}
			if after := run(t, s, execution.Request{Language: execution.Bash, Code: "echo 1"}); after.Stdout != "1\n" {
				t.Errorf("the next run: %+v", after)
			}
		})
	}
}

func TestBashGetsWhatTheCallBrings(t *testing.T) {
	s := shell(t, sidecar.Options{})
	r := run(t, s, execution.Request{
		Language: execution.Bash, Code: "cat; echo \"$name $list $API_KEY\"; cat data/in.txt; ls -A; pwd",
		Stdin: []byte("input\n"), Files: []execution.File{{Path: "data/in.txt", Data: []byte("file\n")}},
		Variables: map[string]json.RawMessage{"name": []byte(`"a b"`), "list": []byte(`[1, {"x": null}]`), "API_KEY": []byte(`"k"`)},
	})
	if want := "input\na b [1,{\"x\":null}] k\nfile\ndata\n/workspace\n"; r.Stdout != want || r.Status != execution.StatusOK {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

func TestARestrictedGearRunsNoBash(t *testing.T) {
	s := shell(t, sidecar.Options{})
	r := run(t, s, execution.Request{Language: execution.Bash, Code: "echo hi", Gear: "restricted"})
	if r.Status != execution.StatusDenied || r.Error.Violations[0].Rule != "languages" || r.Stdout != "" {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// TestBashWithoutAnyProgramRuns: a gear may grant no program, not even bash.
func TestBashWithoutAnyProgramRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bare.yaml")
	write(t, file, "execution: on\nisolation: sandbox\ndefault: deny\n")
	s := shell(t, sidecar.Options{Gear: file})
	if r := run(t, s, execution.Request{Language: execution.Bash, Code: "(echo $((1 + 1))) | while read -r x; do echo got $x; done"}); r.Stdout != "got 2\n" {
		t.Errorf("%+v %+v", r, r.Error)
	}
	r := run(t, s, execution.Request{Language: execution.Bash, Code: "ls"})
	if r.Status != execution.StatusDenied || !slices.Equal(r.Denied, []string{"run(ls)"}) {
		t.Errorf("%+v %+v", r, r.Error)
	}
	r = run(t, s, execution.Request{Language: execution.Bash, Code: ":", Variables: map[string]json.RawMessage{"BASH_ENV": []byte(`"/workspace/x"`)}})
	if r.Status != execution.StatusDenied || !slices.Equal(r.Denied, []string{"unsafe(environment)"}) {
		t.Errorf("%+v %+v", r, r.Error)
	}
	// Python of the same gear stays without forks and programs.
	if r := run(t, s, execution.Request{Code: "1 + 1"}); r.Status != execution.StatusOK {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

func TestBashWithEveryProgramRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "open.yaml")
	write(t, file, "execution: on\nisolation: sandbox\ndefault: allow\n")
	s := shell(t, sidecar.Options{Gear: file})
	r := run(t, s, execution.Request{Language: execution.Bash, Code: "type -P bash env; touch /usr/bin/x 2>/dev/null || echo read-only; ls /home 2>/dev/null || echo no homes"})
	if r.Status != execution.StatusOK || !strings.HasSuffix(r.Stdout, "/env\nread-only\nno homes\n") {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
