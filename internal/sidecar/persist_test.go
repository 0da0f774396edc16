//go:build linux

package sidecar_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// poison leaves what it can wherever it may write, and says where that was.
const poison = `
import builtins, json, os, signal, subprocess, sys
wrote, text = [], "import os\nos.environ['LEFT_BEHIND'] = '1'\nprint('left behind')\n"
home = os.path.expanduser("~")
places = {"/tmp", "/var/tmp", "/dev/shm", "/run", home, os.getcwd(), os.environ.get("TMPDIR", "/tmp"), *sys.path, os.path.dirname(os.__file__)}
names = ("left-behind", "sitecustomize.py", "usercustomize.py", "left.pth", "json.py", ".bashrc", ".profile", ".bash_profile", ".pythonrc", ".config/left", ".local/lib/python3.14/site-packages/left.pth")
for place in filter(None, places):
    for name in names:
        path = os.path.join(place, name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write(text)
            wrote.append(path)
        except OSError:
            pass
os.environ["LEFT_BEHIND"] = os.environ["BASH_ENV"] = os.environ["PYTHONSTARTUP"] = "/tmp/left-behind"
json.dumps = json.loads = lambda *a, **k: "left behind"
builtins.print_left = builtins.len = lambda *a: -1
sys.path.insert(0, "/tmp"); sys.modules["left_behind"] = json
os.umask(0o777); os.nice(5); signal.signal(signal.SIGCHLD, signal.SIG_IGN)
subprocess.Popen(["sleep", "MARK"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "MARK"])
print("/tmp/left-behind" in wrote, "/dev/shm/left-behind" in wrote, home + "/.bashrc" in wrote)
os._exit(0)
`

// clean looks for whatever another program might have left.
const clean = `
import builtins, json, os, signal, subprocess, sys
found = []
for top in ("/tmp", "/var/tmp", "/dev/shm", "/run", os.path.expanduser("~"), os.getcwd()):
    for at, _, files in os.walk(top):
        found += [os.path.join(at, f) for f in files if "left" in f or f.startswith((".bash", ".profile", ".pythonrc")) or f in ("sitecustomize.py", "usercustomize.py", "json.py")]
found += [k for k, v in os.environ.items() if "left" in v.lower() or "LEFT" in k]
found += [m for m in ("sitecustomize", "usercustomize", "left_behind") if m in sys.modules]
found += [p for p in os.listdir("/proc") if p.isdigit() and b"sleep" in open(f"/proc/{p}/cmdline", "rb").read()]
[found, json.dumps(json.loads("[1]")), len("two"), hasattr(builtins, "print_left"), "/tmp" in sys.path, os.umask(0o022) == 0o777,
 os.nice(0), signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL, os.path.basename(json.__file__), subprocess.run(["sh", "-c", "echo clean"], capture_output=True, text=True).stdout]
`

// cleanShell is the same for bash, which would read a profile.
const cleanShell = `ls -A /tmp /dev/shm ~ . 2>/dev/null | grep -E 'left|bashrc|profile|custom' ; echo "${LEFT_BEHIND-}${BASH_ENV-}" clean`

// TestNothingOfARunIsThereForTheNext: whoever's it is, in the same server or in another
// one of the same data directory.
func TestNothingOfARunIsThereForTheNext(t *testing.T) {
	gear := filepath.Join(t.TempDir(), "open.yaml") // the wall alone, without a policy
	if err := os.WriteFile(gear, []byte("description: test\ndefault: allow\nisolation: sandbox\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, beside := open(t, sidecar.Options{Gear: gear}), open(t, sidecar.Options{Gear: gear})
	run(t, s, execution.Request{Code: "1"})
	run(t, beside, execution.Request{Code: "1"})
	other, elsewhere := s.Admit("other")[0], beside.Admit("other")[0]
	const want = `[[],"[1]",3,false,false,false,0,true,"__init__.py","clean\n"]`
	given := execution.Request{Language: execution.Python, Code: clean, Files: []execution.File{{Path: "left-behind", Data: []byte("x")}}}
	if got := runAs(t, s, execution.Local, given); !strings.Contains(string(got.Value), "left-behind") {
		t.Fatalf("what is there is not found: %s %+v", got.Value, got.Error)
	}
	for round := range 3 { // whatever stands ready was made before or after
		mark, _ := tree()
		dirty := run(t, s, execution.Request{Code: strings.ReplaceAll(poison, "MARK", mark)})
		if dirty.Status != execution.StatusOK || dirty.Stdout != "True True True\n" {
			t.Fatalf("%+v", dirty)
		}
		for name, c := range map[string]struct {
			s *sidecar.Sidecar
			p execution.Principal
		}{
			"the same principal":                    {s, execution.Local},
			"another principal":                     {s, other},
			"the same principal, in another server": {beside, execution.Local},
			"another principal, in another server":  {beside, elsewhere},
		} {
			got := runAs(t, c.s, c.p, execution.Request{Language: execution.Python, Code: clean})
			if got.Status != execution.StatusOK || string(got.Value) != want || got.Stdout != "" {
				t.Errorf("round %d, %s: %s %s %+v\n%s", round, name, got.Value, got.Stdout, got.Error, got.Stderr)
			}
			shell := runAs(t, c.s, c.p, execution.Request{Language: execution.Bash, Code: cleanShell})
			if missing := shell.Error; missing != nil && missing.Code == string(execution.CodeUnavailable) {
				continue
			}
			if shell.Stdout != " clean\n" {
				t.Errorf("round %d, %s, in bash: %q %+v\n%s", round, name, shell.Stdout, shell.Error, shell.Stderr)
			}
		}
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("%q live on", left)
		}
	}
}

func runAs(t *testing.T, s *sidecar.Sidecar, p execution.Principal, r execution.Request) execution.Result {
	t.Helper()
	r.Principal = p
	id, err := s.Engine().Submit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Engine().Wait(t.Context(), p, id, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
