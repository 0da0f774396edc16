package e2e

import (
	"crypto/sha256"
	"encoding/hex"
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
	testscript.Main(m, map[string]func(){"gearbox": gearbox, "legacy": legacy, "board": board, "toolserver": toolserver})
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
			e.Setenv("PATH", withReferenceServers(e.Getenv("PATH")))
			return os.Mkdir(e.WorkDir+"/home", 0o700)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "sandbox":
				return sandboxed(), nil
			case "servers":
				return referenceServers() != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"answer": answer,
		},
	})
}

// referenceServers is where test/clients/setup.sh installed the reference servers of the
// protocol; empty where it did not.
func referenceServers() string {
	h := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile("../codemode/node/" + name)
		if err != nil {
			return ""
		}
		h.Write(text)
	}
	dir, err := filepath.Abs("../../.cache/clients/servers-" + hex.EncodeToString(h.Sum(nil))[:16])
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		return ""
	}
	return dir
}

// withReferenceServers adds their programs, and the Node that runs them, to a PATH.
func withReferenceServers(path string) string {
	dir := referenceServers()
	if dir == "" {
		return path
	}
	return strings.Join([]string{filepath.Join(dir, "bin"), filepath.Join(dir, "node_modules", ".bin"), path}, string(os.PathListSeparator))
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
