//go:build linux && (amd64 || arm64)

package linux

import (
	"errors"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// openShell opens a source for bash with the programs of list beside it.
func openShell(t *testing.T, list string) *source {
	t.Helper()
	tpl := template(sandbox.Shape{Programs: list})
	tpl.Language = execution.Bash
	s, err := backend(t, nil).Open(t.Context(), tpl)
	if errors.Is(err, sandbox.ErrNoShell) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.(*source)
}

func script(t *testing.T, s sandbox.Source, code string) sandboxtest.Outcome {
	t.Helper()
	out := drive(t, s, sandboxtest.Program{Language: execution.Bash, Code: code})
	if out.Result != nil {
		t.Fatalf("bash did not start: %+v", out.Result.Exception)
	}
	return out
}

// programsOf are the names that a built-in gear grants.
func programsOf(t *testing.T, name string) []string {
	t.Helper()
	for _, g := range gear.Builtin() {
		if g.Name == name {
			f, err := gear.Freeze(g, nil, nil, gear.Overlays{})
			if err != nil {
				t.Fatal(err)
			}
			return f.Programs()
		}
	}
	t.Fatalf("no gear %s", name)
	return nil
}

func TestShellHasOnlyWhatIsGranted(t *testing.T) {
	out := script(t, openShell(t, ""), "for f in /usr/bin/* /bin/* /sbin/*; do echo $f; done\nls")
	if out.Stdout != "/usr/bin/bash\n/bin/bash\n/sbin/bash\n" || out.Ended.ExitCode != 127 || !strings.Contains(out.Stderr, "ls: command not found") {
		t.Errorf("ended %+v, stdout %q, stderr %q", out.Ended, out.Stdout, out.Stderr)
	}
	out = script(t, openShell(t, "sort,cat"), "printf 'b\\na\\n' | sort | cat; cut -c1")
	if out.Stdout != "a\nb\n" || out.Ended.ExitCode != 127 {
		t.Errorf("ended %+v, stdout %q, stderr %q", out.Ended, out.Stdout, out.Stderr)
	}
	out = script(t, openShell(t, "*"), "type -P env; : > /usr/x")
	if !strings.HasSuffix(out.Stdout, "/env\n") || !strings.Contains(out.Stderr, "Read-only file system") && !strings.Contains(out.Stderr, "Permission denied") {
		t.Errorf("ended %+v, stdout %q, stderr %q", out.Ended, out.Stdout, out.Stderr)
	}
}

// work is one small use of each program that does more than print its version.
var work = map[string]string{
	"awk": `awk 'BEGIN {print 6 * 7}'`, "mawk": `mawk 'BEGIN {print 6 * 7}'`, "gawk": `gawk '@load "time"; BEGIN {print 6 * 7}'`,
	"bash": "bash -c 'echo $BASH_VERSION'", "sh": "sh -c 'echo $0'", "dash": "dash -c 'echo $0'", "bc": "echo 's(1)' | bc -l", "dc": "echo '6 7 * p' | dc",
	"bunzip2": "bzip2 -c f | bunzip2", "bzcat": "bzip2 -c f | bzcat", "gunzip": "gzip -c f | gunzip", "zcat": "gzip -c f | zcat",
	"unxz": "xz -c f | unxz", "xzcat": "xz -c f | xzcat", "unzstd": "zstd -c f | unzstd", "zstdcat": "zstd -qc f | zstdcat",
	"zgrep": "gzip -c f > f.gz; zgrep one f.gz", "zip": "zip -q f.zip f", "unzip": "zip -q g.zip f && unzip -p g.zip", "tar": "tar czf f.tgz f && tar xzf f.tgz",
	"[": "[ 1 = 1 ]", "test": "test 1 = 1", "true": "true", "false": "! false", "cal": "cal 1 2024", "cmp": "cmp f f", "column": "column -t f",
	"diff": "diff f f", "diff3": "diff3 f f f", "sdiff": "sdiff f f", "expr": "expr 1 + 1", "file": "file f | grep -q ASCII", "find": "find . -name f",
	"getopt": "getopt -o a -- -a", "hexdump": "hexdump -C f", "hostname": "hostname", "iconv": "iconv -f utf-8 -t utf-16 f", "jq": "echo '{}' | jq .",
	"logname": "! logname", "nohup": "nohup cat f", "patch": "(diff f g || true) | patch -s f", "ps": "ps", "python": "python -c 'import json, ssl, sqlite3, ctypes'",
	"python3": "python3 -c 'import json, ssl, sqlite3, ctypes'", "rev": "rev f", "sed": "sed s/o/0/ f", "sort": "sort f", "stdbuf": "stdbuf -oL cat f",
	"strings": "strings f", "stty": "! stty", "tree": "tree .", "tty": "! tty", "which": "which ls", "xargs": "echo f | xargs -n1 cat",
	"xxd": "xxd f", "hostid": "hostid", "echo": "/bin/echo x", "printf": "/bin/printf x", "pwd": "/bin/pwd", "date": "TZ=Asia/Tokyo date -d @0 | grep -q JST",
}

// TestEveryHarmlessProgramOfThisHostWorks uses each program that the default gear
// grants, as far as the host has it.
func TestEveryHarmlessProgramOfThisHostWorks(t *testing.T) {
	names := programsOf(t, "user_confirmed")
	var code strings.Builder
	code.WriteString("printf 'one\\ntwo\\n' > f; printf 'one\\ntwo\\nthree\\n' > g\n")
	present := 0
	for _, name := range names {
		if name != "python" && name != "python3" && findProgram(name) == "" {
			t.Logf("this host has no %s", name)
			continue
		}
		present++
		use := work[name]
		if use == "" {
			use = name + " --version"
		}
		code.WriteString("if ! ( set -o pipefail; " + use + " ) > out 2>&1 < /dev/null || grep -qi warning out; then echo '" + name + "'; cat out; fi\n")
	}
	out := script(t, openShell(t, strings.Join(names, ",")), code.String())
	if out.Stdout != "" || out.Stderr != "" || present < 20 {
		t.Errorf("of %d programs these failed:\n%s%s", present, out.Stdout, out.Stderr)
	}
}

// TestShellHoldsNothingOfTheGuest: its descriptors are the streams and its script, its
// environment that of the sandbox.
func TestShellHoldsNothingOfTheGuest(t *testing.T) {
	out := script(t, openShell(t, "ls,env"), `cd /proc/$$/fd; echo *; cd /
for name in $(compgen -e); do echo -n "$name "; done; echo
echo $$ $PPID $(ls /proc | while read -r p; do [[ $p == [0-9]* ]] && echo -n "$p "; done)
`)
	lines := strings.Split(out.Stdout, "\n")
	// The last is the directory itself, while the pattern is looked for in it.
	if lines[0] != "0 1 2 255 3" {
		t.Errorf("descriptors %s", lines[0])
	}
	for _, name := range strings.Fields(lines[1]) {
		if strings.HasPrefix(name, "PYTHON") || strings.HasPrefix(name, "GEARBOX") || strings.HasPrefix(name, "LD_") {
			t.Errorf("the environment has %s", name)
		}
	}
	if !strings.HasPrefix(lines[2], "2 ") {
		t.Errorf("processes %s", lines[2])
	}
	if out.Stderr != "" {
		t.Errorf("stderr %q", out.Stderr)
	}
}

func TestDetachedProcessesDieWithTheShell(t *testing.T) {
	s := openShell(t, "sleep,setsid,nohup")
	out := script(t, s, "sleep 300 & setsid sleep 300 & nohup sleep 300 >/dev/null 2>&1 & (trap '' TERM HUP; sleep 300) & echo hi")
	if out.Stdout != "hi\n" || out.Ended.ExitCode != 0 || out.Ended.Cause != sandbox.CauseNone {
		t.Errorf("ended %+v, stdout %q, stderr %q", out.Ended, out.Stdout, out.Stderr)
	}
	if left := cellsOf(t, s); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestForkBombOfAShellStaysWithin(t *testing.T) {
	s := openShell(t, "")
	tpl := sandboxtest.Program{
		Language: execution.Bash, Code: "echo before; :() { : | : & }; :; for i in {1..100000}; do :; done; echo after",
		Arm: sandbox.Arm{Limits: execution.Limits{Processes: 24, Memory: 512 * execution.MiB}},
	}
	if out := drive(t, s, tpl); !strings.HasPrefix(out.Stdout, "before\n") {
		t.Errorf("ended %+v, stdout %q", out.Ended, out.Stdout)
	}
	if left := cellsOf(t, s); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
	if out := script(t, s, "echo fine"); out.Stdout != "fine\n" {
		t.Errorf("the next run: %+v", out)
	}
}
