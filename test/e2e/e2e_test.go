package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gearbox-mcp/gearbox/internal/cli"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// TestMain lets the test binary stand in for gearbox, sandbox processes included,
// so that the scripts cover what the tests were built from.
func TestMain(m *testing.M) {
	sidecar.Reexec()
	if filepath.Base(os.Args[0]) != "gearbox" {
		// Tests that are run under nohup ignore hang-ups, and what they start would too.
		// A signal that is caught is one that a new program begins with unchanged.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Main(m, map[string]func(){"gearbox": gearbox, "legacy": legacy, "board": board})
}

func gearbox() {
	os.Exit(cli.Process())
}

func TestScripts(t *testing.T) {
	// One data directory for all: unpacking the interpreter takes seconds.
	data := t.TempDir()
	// doctor takes a second, and its answer does not change.
	sandboxed := sync.OnceValue(func() bool {
		doctor := exec.CommandContext(t.Context(), "gearbox", "doctor")
		doctor.Env = append(os.Environ(), "GEARBOX_DATA_DIR="+data)
		return doctor.Run() == nil
	})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GEARBOX_DATA_DIR", data)
			e.Setenv("HOME", e.WorkDir+"/home")
			return os.Mkdir(e.WorkDir+"/home", 0o700)
		},
		Condition: func(name string) (bool, error) {
			if name != "sandbox" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return sandboxed(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"answer": answer,
		},
	})
}

// exits runs gearbox and checks its exit code, which exec cannot:
// exits CODE ARGUMENTS…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARGUMENT…")
	}
	err := ts.Exec("gearbox", args[1:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s\nstdout: %s\nstderr: %s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// answer checks that a file is one structured answer by the published schema,
// and has the given fields: answer FILE [FIELD=JSON]…
func answer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: answer FILE [FIELD=JSON]…")
	}
	text := ts.ReadFile(args[0])
	var got map[string]any
	ts.Check(json.Unmarshal([]byte(text), &got))
	ts.Check(schema().Validate(got))
	for _, f := range args[1:] {
		name, want, _ := strings.Cut(f, "=")
		have, err := json.Marshal(got[name])
		ts.Check(err)
		if string(have) != want {
			ts.Fatalf("%s is %s, want %s, in %s", name, have, want, text)
		}
	}
}

var schema = sync.OnceValue(func() *jsonschema.Resolved {
	text, err := os.ReadFile("../../docs/answer.schema.json")
	if err != nil {
		panic(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		panic(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		panic(err)
	}
	return resolved
})
