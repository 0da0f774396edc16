//go:build linux

package sidecar_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// Two gears that let analysis pass, so that the sandbox itself refuses: one
// starts programs, the other none.
const (
	everything  = "description: Everything that needs no grant.\ndefault: allow\n"
	computation = "description: Computation.\ndefault: deny\nallow:\n  - import(*)\n  - unsafe(*)\n"
)

const (
	noNetwork = "the sandbox has no network, not even a loopback"
	fetchIt   = ". Fetch the data outside and pass it in the argument files or variables"
	homeEmpty = "The working directory is /workspace and holds no files."
)

// told is a program that fails and everything that its caller is told.
type told struct {
	name, code, gear string
	files            []execution.File
	code1            string // Error.Code
	message          string
	traceback        []string
	library          string // the short line of library frames, up to the place in the file
	hint             string
	denied           []string
}

func failures() []told {
	return []told{
		{
			name: "name lookup", gear: everything,
			code:  "import urllib.request\nurllib.request.urlopen('http://example.com/x')",
			code1: "URLError", message: "<urlopen error [Errno -3] Temporary failure in name resolution>",
			traceback: []string{`  File "<cell>", line 2, in <module>`}, library: "urllib/request.py, line ",
			hint:   noNetwork + "; this needs net(example.com:80), which this version cannot grant" + fetchIt,
			denied: []string{"net(example.com:80)"},
		},
		{
			name: "connection to an address", gear: everything,
			code:  "import socket\nsocket.create_connection(('192.0.2.1', 443))",
			code1: "OSError", message: "[Errno 97] Address family not supported by protocol",
			traceback: []string{`  File "<cell>", line 2, in <module>`}, library: "socket.py, line ",
			hint:   noNetwork + "; this needs net(192.0.2.1:443), which this version cannot grant" + fetchIt,
			denied: []string{"net(192.0.2.1:443)"},
		},
		{
			name: "socket", gear: everything,
			code:  "import socket\nsocket.socket(socket.AF_INET)",
			code1: "OSError", message: "[Errno 97] Address family not supported by protocol",
			traceback: []string{`  File "<cell>", line 2, in <module>`}, library: "socket.py, line ",
			hint: noNetwork + fetchIt,
		},
		{
			name: "absent program", gear: everything,
			code:  "import subprocess\nsubprocess.run(['no-such-tool'])",
			code1: "FileNotFoundError", message: "[Errno 2] No such file or directory: 'no-such-tool'",
			traceback: []string{`  File "<cell>", line 2, in <module>`}, library: "subprocess.py, line ",
			hint:   "the sandbox has no program no-such-tool: the host lacks it, or the gear does not grant run(no-such-tool)",
			denied: []string{"run(no-such-tool)"},
		},
		{
			name: "refused fork", gear: computation,
			code:  "import os\ngetattr(os, 'fo' + 'rk')()",
			code1: "PermissionError", message: "[Errno 1] Operation not permitted",
			traceback: []string{`  File "<cell>", line 2, in <module>`},
			hint:      "the gear lets the program start no process; this needs run(python)",
			denied:    []string{"run(python)"},
		},
		{
			name: "refused system call", gear: everything,
			code:  "import os\nos.chroot('/tmp')",
			code1: "PermissionError", message: "[Errno 1] Operation not permitted: '/tmp'",
			traceback: []string{`  File "<cell>", line 2, in <module>`},
			hint:      "the sandbox refuses this system call, whatever the gear: do without it",
		},
		{
			name: "file of the host", gear: everything,
			code: "def load(path):\n    return open(path)\nload('/home/me/sales.csv')", files: []execution.File{{Path: "sales.csv", Data: []byte("1")}},
			code1: "FileNotFoundError", message: "[Errno 2] No such file or directory: '/home/me/sales.csv'",
			traceback: []string{`  File "<cell>", line 3, in <module>`, `  File "<cell>", line 2, in load`},
			hint: "did you mean sales.csv, in the working directory? The sandbox shows of the host's files only those that a rule " +
				"names: pass the file in the argument files and open it by its name, or ask the operator for " +
				"--allow 'read(/home/me/sales.csv)'. The working directory is /workspace and holds sales.csv.",
		},
		{
			name: "variable of the host", gear: everything,
			code:  "import os\nos.environ[''.join(['API', '_KEY'])]",
			code1: "KeyError", message: "'API_KEY'",
			traceback: []string{`  File "<cell>", line 2, in <module>`}, library: "frame: os, line ",
			hint: "the sandbox does not hold the host's environment: pass the value in the argument variables, or ask the operator for " +
				"--allow 'env(API_KEY)'",
		},
		{
			name: "write outside", gear: everything,
			code:  "open('/usr/x', 'w')",
			code1: "OSError", message: "[Errno 30] Read-only file system: '/usr/x'",
			traceback: []string{`  File "<cell>", line 1, in <module>`},
			hint:      "/usr/x is read-only here: write below /workspace or /tmp, which are private to this run. " + homeEmpty,
		},
		{
			name: "missing package", gear: everything,
			code:  "import cv2",
			code1: "ModuleNotFoundError", message: "No module named 'cv2'",
			traceback: []string{`  File "<cell>", line 1, in <module>`},
			hint: "cv2 is in the package opencv-python, which is not installed, and packages cannot be installed in this version. Use what is " +
				"there (list_packages shows it), or ask the operator to start the server with --python ENV, an environment that has opencv-python",
		},
		{
			name: "no input", gear: everything,
			code:  "input()",
			code1: "EOFError", message: "EOF when reading a line",
			traceback: []string{`  File "<cell>", line 1, in <module>`},
			hint:      "the program's standard input is empty or used up: pass what input() is to read in the argument stdin",
		},
		{
			name: "own mistake in an own module", gear: everything,
			code:  "import functools, helper\nfunctools.singledispatch(helper.half)(0)",
			files: []execution.File{{Path: "helper.py", Data: []byte("def half(n):\n    return 1 / n\n")}},
			code1: "ZeroDivisionError", message: "division by zero",
			traceback: []string{`  File "<cell>", line 2, in <module>`, `  File "/workspace/helper.py", line 2, in half`},
			library:   "functools.py, line ",
		},
	}
}

func TestFailuresAreExplained(t *testing.T) {
	sidecars := map[string]*sidecar.Sidecar{}
	for i, content := range []string{everything, computation} {
		file := filepath.Join(t.TempDir(), []string{"everything", "computation"}[i]+".yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		sidecars[content] = open(t, sidecar.Options{Gear: file})
	}
	for _, f := range failures() {
		t.Run(f.name, func(t *testing.T) {
			f.check(t, run(t, sidecars[f.gear], execution.Request{Code: f.code, Files: f.files}))
		})
	}
}

func (f told) check(t *testing.T, r execution.Result) {
	t.Helper()
	if r.Status != execution.StatusError || r.ExitCode != 1 || r.Stdout != "" || r.Error == nil {
		t.Fatalf("%+v", r)
	}
	if r.Error.Code != f.code1 || r.Error.Message != f.message || r.Error.Hint != f.hint {
		t.Errorf("error %s: %s\nhint %s", r.Error.Code, r.Error.Message, r.Error.Hint)
	}
	var frames []string
	for _, entry := range r.Error.Traceback {
		first, _, _ := strings.Cut(entry, "\n")
		frames = append(frames, first)
	}
	if !slices.Equal(frames, f.traceback) || !slices.Equal(r.Denied, f.denied) {
		t.Errorf("frames %q, denied %q", frames, r.Denied)
	}
	f.checkStderr(t, r.Stderr)
}

// checkStderr compares everything but the lines of source, their marks and the
// line numbers in libraries, which depend on the interpreter.
func (f told) checkStderr(t *testing.T, stderr string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	last := lines[len(lines)-1]
	if f.hint != "" {
		if last != "hint: "+f.hint {
			t.Errorf("the last line is %q", last)
		}
		last = lines[len(lines)-2]
	}
	if !strings.HasSuffix(last, f.code1+": "+f.message) {
		t.Errorf("the report ends in %q", last)
	}
	if lines[0] != "Traceback (most recent call last):" || strings.Contains(stderr, "gearbox") {
		t.Errorf("stderr %s", stderr)
	}
	library := slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "  … ") && strings.HasSuffix(l, " …") && strings.Contains(l, f.library)
	})
	if library != (f.library != "") || strings.Contains(stderr, `File "/python`) {
		t.Errorf("stderr %s", stderr)
	}
}
