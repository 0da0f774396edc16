//go:build linux

package sidecar_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// modules lie in the environment of an operator: one tells which process imported it, by
// number and by something that no second import gives.
var modules = map[string]string{
	"ready.py":  "import os\npid, mark = os.getpid(), os.urandom(8).hex()\n",
	"broken.py": "import no_such_library\n",
}

const tell = "import sys\nfound = 'ready' in sys.modules\nimport ready\nprint(found, ready.pid, ready.mark, sys.path)"

func TestPreloadedModulesAreReadyForEveryRun(t *testing.T) {
	venv := cpythontest.Environment(t, modules)
	var first, second, plain []string
	t.Run("with", func(t *testing.T) {
		s := open(t, sidecar.Options{Python: venv, Preload: []string{"ready"}})
		first, second = fields(t, run(t, s, execution.Request{Code: tell})), fields(t, run(t, s, execution.Request{Code: tell}))
	})
	t.Run("without", func(t *testing.T) {
		plain = fields(t, run(t, open(t, sidecar.Options{Python: venv}), execution.Request{Code: tell}))
	})
	if first == nil || plain == nil {
		return // skipped or failed above
	}
	if first[0] != "True" || first[1] != "1" {
		t.Errorf("not imported by the fork server: %v", first)
	}
	if second[2] != first[2] {
		t.Error("two runs have modules of two imports")
	}
	if plain[0] != "False" || plain[1] == "1" {
		t.Errorf("imported without being asked for: %v", plain)
	}
	if plain[3] != first[3] || !strings.Contains(plain[3], venv) {
		t.Errorf("sys.path with %s and without %s", first[3], plain[3])
	}
}

// fields are what a program printed in one line: three words and the rest.
func fields(t *testing.T, r execution.Result) []string {
	t.Helper()
	f := strings.SplitN(r.Stdout, " ", 4)
	if r.Status != execution.StatusOK || len(f) != 4 {
		t.Fatalf("status %s, error %+v: %s%s", r.Status, r.Error, r.Stdout, r.Stderr)
	}
	return f
}

func TestClassesOfPrincipalsShareNoPreloadedModule(t *testing.T) {
	s := open(t, sidecar.Options{Python: cpythontest.Environment(t, modules), Preload: []string{"ready"}})
	local := fields(t, run(t, s, execution.Request{Code: tell}))
	other := s.Admit("somebody")[0]
	id, err := s.Engine().Submit(t.Context(), execution.Request{Principal: other, Language: execution.Python, Code: tell})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Engine().Wait(t.Context(), other, id, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got := fields(t, r); got[0] != "True" || got[2] == local[2] {
		t.Errorf("local %v, other %v", local, got)
	}
}

func TestAModuleThatCannotBePreloadedRefusesRunsByName(t *testing.T) {
	run(t, open(t, sidecar.Options{}), execution.Request{Code: "1"}) // skips where there is no sandbox
	venv := cpythontest.Environment(t, modules)
	s := open(t, sidecar.Options{Python: venv, Preload: []string{"ready", "broken"}})
	_, err := s.Engine().Submit(t.Context(), execution.Request{Principal: execution.Local, Language: execution.Python, Code: "1"})
	var rejected *execution.RejectedError
	if !errors.As(err, &rejected) || rejected.Code != execution.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"broken", "No module named 'no_such_library'", "--preload"} {
		if !strings.Contains(rejected.Message, want) {
			t.Errorf("%q is not in: %s", want, rejected.Message)
		}
	}
	d := s.Diagnose(t.Context())
	if d.Healthy {
		t.Error("the doctor finds nothing wrong")
	}
	if text := fmt.Sprint(d.Checks); !strings.Contains(text, "No module named 'no_such_library'") {
		t.Errorf("checks %s", text)
	}

	// What is missing is installed: no restart is needed.
	site, err := filepath.Glob(filepath.Join(venv, "lib", "python3.*", "site-packages"))
	if err != nil || len(site) != 1 {
		t.Fatal(site, err)
	}
	if err := os.WriteFile(filepath.Join(site[0], "no_such_library.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := run(t, s, execution.Request{Code: "import sys\nprint('broken' in sys.modules)"}); r.Stdout != "True\n" {
		t.Errorf("%+v", r)
	}
}

func TestPreloadIsCheckedBeforeAnythingStarts(t *testing.T) {
	for name, c := range map[string]struct {
		options sidecar.Options
		want    []string
	}{
		"without an environment": {sidecar.Options{Preload: []string{"pandas"}}, []string{"--preload", "--python"}},
		"no name":                {sidecar.Options{Python: "/usr/bin/python3", Preload: []string{"os; print()"}}, []string{"--preload", `"os; print()"`}},
		"an empty part":          {sidecar.Options{Python: "/usr/bin/python3", Preload: []string{"scipy..stats"}}, []string{"--preload", `"scipy..stats"`}},
		"a path":                 {sidecar.Options{Python: "/usr/bin/python3", Preload: []string{"../x"}}, []string{"--preload", `"../x"`}},
		"nothing":                {sidecar.Options{Python: "/usr/bin/python3", Preload: []string{"pandas", ""}}, []string{"--preload", `""`}},
		"too many":               {sidecar.Options{Python: "/usr/bin/python3", Preload: []string{strings.Repeat("a.", 3000) + "a"}}, []string{"--preload", "4096"}},
	} {
		_, err := tryOpen(t, c.options)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q is not in: %v", name, w, err)
			}
		}
	}
}
