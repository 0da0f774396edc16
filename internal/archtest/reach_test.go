package archtest

import (
	"slices"
	"strings"
	"testing"
)

// pure rooms decide, describe or translate. They are fuzzed and replayed, and
// an approval binds to what they compute, so the same input must give the same
// output on every machine at every hour.
var pure = []string{"execution", "policy", "gear", "audit", "catalog", "bridge", "logging"}

// outside are packages through which a pure room could reach the world.
var outside = map[string]string{
	"os/exec":               "a pure room starts no process",
	"os/signal":             "a pure room hears no signals",
	"net":                   "a pure room opens no connection",
	"net/http":              "a pure room opens no connection",
	"syscall":               "a pure room makes no system call",
	"golang.org/x/sys/unix": "a pure room makes no system call",
	"log":                   "logs are injected, and a pure room has nothing to log",
	"math/rand":             "a pure room gives the same answer twice",
	"math/rand/v2":          "a pure room gives the same answer twice",
}

// clock are the ways to read or wait for time.
var clock = []string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.Tick", "time.NewTimer", "time.NewTicker"}

// fileReaders are pure rooms that may import os: a gear is a file that the
// operator names.
var fileReaders = []string{"gear"}

func TestPureRoomsTouchNothingOutside(t *testing.T) {
	for _, p := range packages(t) {
		if !slices.Contains(pure, p.room()) {
			continue
		}
		for _, imported := range reached(t, p) {
			if reason, banned := outside[imported.path]; banned {
				t.Errorf("%s reaches %s by %s: %s", p.folder, imported.path, imported.by, reason)
			}
			if imported.path == "os" && !slices.Contains(fileReaders, p.room()) {
				t.Errorf("%s reaches os by %s: a pure room reads no file and no environment", p.folder, imported.by)
			}
		}
	}
}

func TestPureRoomsReadNoClock(t *testing.T) {
	for _, p := range packages(t) {
		if !slices.Contains(pure, p.room()) {
			continue
		}
		for _, f := range p.files {
			for _, name := range calls(f, "time") {
				if !f.test && slices.Contains(clock, name) {
					t.Errorf("%s uses %s: time comes in as an argument", f.path, name)
				}
			}
		}
	}
}

// step is an import and the package of ours that makes it.
type step struct{ path, by string }

// reached lists what p imports, directly or through other packages of this
// module. Standard and third-party packages are not followed: what they need
// for themselves is not what the room can say.
func reached(t *testing.T, p pkg) []step {
	t.Helper()
	byPath := map[string]pkg{}
	for _, other := range packages(t) {
		byPath[other.importPath()] = other
	}
	var found []step
	seen := map[string]bool{}
	queue := []pkg{p}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, imported := range next.imports() {
			if ours, ok := byPath[imported]; ok {
				if !seen[imported] {
					seen[imported] = true
					queue = append(queue, ours)
				}
				continue
			}
			found = append(found, step{path: imported, by: next.folder})
		}
	}
	return found
}

// starters may start processes, each for one reason. Everything else asks them.
var starters = map[string]string{
	"internal/sandbox/linux": "clones the sandbox's first process",
	"internal/sandbox/host":  "runs the interpreter without a sandbox for full_trust",
	"internal/subprocess":    "runs the helper programs of others, and sees to it that they end with this process",
	"internal/cpython":       "byte-compiles and asks an operator's interpreter what it is",
	"internal/environment":   "builds package trees with uv",
	"internal/upstream":      "starts stdio servers that the operator configured",
	"internal/cli":           "demo and debug start a server as a client would",
}

func TestOnlyNamedRoomsStartProcesses(t *testing.T) {
	launchers := map[string][]string{
		"os":                    {"os.StartProcess"},
		"syscall":               {"syscall.ForkExec", "syscall.StartProcess", "syscall.Exec"},
		"golang.org/x/sys/unix": {"unix.Exec"},
	}
	for _, p := range packages(t) {
		if p.room() == "" || underStarter(p.folder) {
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			if slices.Contains(f.imports, "os/exec") {
				t.Errorf("%s imports os/exec: only %v start processes, so that a reviewer knows where to look", f.path, starterNames())
			}
			for imported, names := range launchers {
				for _, name := range calls(f, imported) {
					if slices.Contains(names, name) {
						t.Errorf("%s calls %s: only %v start processes", f.path, name, starterNames())
					}
				}
			}
		}
	}
}

func underStarter(folder string) bool {
	for name := range starters {
		if folder == name || strings.HasPrefix(folder, name+"/") {
			return true
		}
	}
	return false
}

func starterNames() []string {
	var names []string
	for name := range starters {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// mcpSpeakers may import the MCP SDK. The protocol changes every few months;
// it changes in these rooms and nowhere else.
var mcpSpeakers = map[string]string{
	"internal/mcpserver": "answers clients",
	"internal/upstream":  "is the client of other servers",
	"internal/relay":     "passes the messages of a client on",
	"internal/cli":       "demo and debug play the part of a client",
}

func TestOnlyTheEdgesSpeakMCP(t *testing.T) {
	for _, p := range packages(t) {
		if p.room() == "" || mcpSpeakers["internal/"+p.room()] != "" {
			continue
		}
		for _, imported := range p.imports() {
			if strings.HasPrefix(imported, "github.com/modelcontextprotocol/go-sdk") {
				t.Errorf("%s imports %s: only mcpserver, upstream, relay and the demo of cli speak MCP", p.folder, imported)
			}
		}
	}
}

func TestGuestPythonIsNeverAStringInGo(t *testing.T) {
	// Python that runs inside the sandbox is the trusted base: it is source in
	// its own folder, where formatter, type checker and reviewers see it.
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.folder, "internal/sandbox") && p.room() != "guest" {
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			for _, text := range stringLiterals(f) {
				if strings.Contains(text, "\nimport ") || strings.Contains(text, "\ndef ") {
					t.Errorf("%s holds Python in a string: move it to internal/guest/gearbox_guest", f.path)
				}
			}
		}
	}
}
