//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// value runs code and decodes the value of its last expression.
func value[T any](t *testing.T, s sandbox.Source, code string) T {
	t.Helper()
	out := run(t, s, code)
	if out.Result == nil {
		t.Fatalf("no result: %v, ended %+v, stderr %s", out.ResultErr, out.Ended, out.Stderr)
	}
	var v T
	if err := json.Unmarshal(out.Result.Value, &v); err != nil {
		t.Fatalf("value %s, exception %+v: %v", out.Result.Value, out.Result.Exception, err)
	}
	return v
}

func TestOnlyGrantedProgramsArePresent(t *testing.T) {
	const list = "import os\nsorted(os.listdir('/usr/bin'))"
	if got := value[[]string](t, open(t, sandbox.Shape{}), list); len(got) != 0 {
		t.Errorf("without programs: %v", got)
	}
	some := open(t, sandbox.Shape{Programs: "sort,sh,no-such-program"})
	if got := value[[]string](t, some, list); !slices.Equal(got, []string{"sh", "sort"}) {
		t.Errorf("with two programs: %v", got)
	}
	const pipe = "import subprocess\nsubprocess.run('sort; echo $0', shell=True, input='b\\na\\n', capture_output=True, text=True).stdout"
	if got := value[string](t, some, pipe); got != "a\nb\n/bin/sh\n" {
		t.Errorf("shell printed %q", got)
	}
	if got := value[[]string](t, open(t, sandbox.Shape{Programs: "*"}), list); !slices.Contains(got, "env") {
		t.Errorf("with all programs: %v", got)
	}
}

func TestProgramNamesThatArePathsAreRefused(t *testing.T) {
	for _, list := range []string{"../bin/sh", "/bin/../sh", "/bin/sh/", ".", "..", "a,,b", "a\x00b"} {
		if _, err := backend(t, nil).Open(t.Context(), template(sandbox.Shape{Programs: list})); err == nil {
			t.Errorf("%q was accepted", list)
		}
	}
}

func TestTemplatesThatNothingCanCarryOutAreRefused(t *testing.T) {
	b := backend(t, nil)
	for name, tpl := range map[string]sandbox.Template{
		"network": template(sandbox.Shape{Network: true}),
		"ruby":    {Language: "ruby"},
	} {
		if _, err := b.Open(t.Context(), tpl); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestInterpreterOfTheHostRuns(t *testing.T) {
	i, err := cpython.FromPath(t.Context(), "/usr/bin/python3")
	if err != nil {
		t.Skipf("no usable Python of the system: %v", err)
	}
	defer i.Release()
	in := sandbox.Interpreter{Executable: i.Executable, Version: i.Version, Embedded: i.Embedded, Root: i.Root, Mounts: i.Mounts, Path: i.Path}
	backend(t, nil) // skips where there is no sandbox
	b := New(Config{Interpreters: func(context.Context, execution.Digest) (sandbox.Interpreter, error) { return in, nil }})
	const code = "import json, sqlite3, ssl, sys\n[sys.executable, '.'.join(map(str, sys.version_info[:3]))]"
	if got := value[[]string](t, openWith(t, b, sandbox.Shape{}), code); !slices.Equal(got, []string{i.Executable, i.Version}) {
		t.Errorf("got %v, want %s of version %s", got, i.Executable, i.Version)
	}
}

func TestInterpreterThatCannotBeReachedIsNamed(t *testing.T) {
	in := sandbox.Interpreter{Embedded: true, Root: "/nowhere/python", Executable: "/nowhere/python/bin/python3"}
	backend(t, nil)
	b := New(Config{Interpreters: func(context.Context, execution.Digest) (sandbox.Interpreter, error) { return in, nil }})
	_, err := b.Open(t.Context(), template(sandbox.Shape{}))
	if err == nil || !strings.Contains(err.Error(), "/nowhere/python") || !strings.Contains(err.Error(), "not reachable") {
		t.Errorf("got %v", err)
	}
}

// TestTheHostCannotBeSeen: names, paths and files of the host stay outside.
func TestTheHostCannotBeSeen(t *testing.T) {
	s := open(t, sandbox.Shape{})
	mounts := value[string](t, s, "open('/proc/self/mountinfo').read()")
	if root := interpreter(t).Root; strings.Contains(mounts, root) {
		t.Errorf("the list of mounts names %s:\n%s", root, mounts)
	}
	var host string
	if name, err := os.Hostname(); err == nil && name != hostName {
		host = name
	}
	got := value[map[string]any](t, s, `
import os
{"node": os.uname().nodename, "uid": [os.getuid(), os.getgid(), os.getgroups()], "root": sorted(os.listdir("/")),
 "environment": sorted(os.environ), "home": os.path.expanduser("~"), "descriptors": len(os.listdir("/proc/self/fd"))}
`)
	if got["node"] == host || got["home"] != workspace {
		t.Errorf("got %v", got)
	}
	for _, name := range []string{"home", "root", "srv", "opt", "sys", "boot"} {
		if slices.Contains(got["root"].([]any), any(name)) {
			t.Errorf("/%s is there", name)
		}
	}
	for _, name := range got["environment"].([]any) {
		if strings.HasPrefix(name.(string), "GEARBOX") || name == "PATH" {
			t.Errorf("the environment has %s", name)
		}
	}
}

func TestChildrenShareNoRandomness(t *testing.T) {
	s := open(t, sandbox.Shape{})
	// The first bytes of OpenSSL and the first hello of TLS, whose keys come from it.
	const code = `
import random, ssl, os
a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
try:
    context.wrap_bio(a, b, server_hostname="example.test").do_handshake()
except ssl.SSLWantReadError:
    pass
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, ssl.RAND_bytes(16).hex().encode())
    os._exit(0)
[ssl.RAND_bytes(16).hex(), b.read().hex(), str(random.random()), os.read(r, 32).decode()]
`
	first, second := value[[]string](t, s, code), value[[]string](t, s, code)
	for i := range first {
		if first[i] == second[i] {
			t.Errorf("value %d is the same in two children: %s", i, first[i])
		}
	}
}

func TestPlanHoldsNoMountTwice(t *testing.T) {
	for _, programs := range []string{"", "sh", "*"} {
		p, err := newPlan(interpreter(t), sandbox.Shape{Programs: programs}, backend(t, nil).config.Guest)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, m := range p.Mounts {
			if seen[m.Target] || !filepath.IsAbs(m.Target) || m.Target == "/" {
				t.Errorf("programs %q: mount %+v", programs, m)
			}
			seen[m.Target] = true
		}
	}
}
