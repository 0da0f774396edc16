package archtest

import (
	"slices"
	"strings"
	"testing"
)

// rank orders the rooms. A room imports only rooms of a lower rank, so that no
// cycle can form and a decision never depends on what carries it out. A new room
// needs a line here: choosing it is choosing what the room may know.
var rank = map[string]int{
	"execution":  0, // the nouns: know nothing
	"tool":       0, // the nouns of code mode: know nothing
	"subprocess": 0, // helper programs that end with this process: knows nothing of what they do

	"policy":  1, // decides, from nouns alone
	"bridge":  1, // bytes to frames
	"audit":   1, // events and their chain
	"visible": 1, // text for a person to read, all of it
	"guest":   1, // embedded Python, no Go to speak of
	"logging": 1, // keys and redaction

	"clientconfig": 1, // other programs' configuration files, edited in place
	"socket":       1, // sockets for a user's own processes: knows nothing of what is said over them
	"instance":     2, // the processes of one data directory: knows nothing of what they answer
	"webhook":      1, // messages to an address of the operator's: knows nothing of what they say
	"token":        2, // credentials and the rights of their holders, from a file

	"gear":     2, // rules from files
	"analysis": 2, // facts to permissions
	"sandbox":  2, // the contract; its backends are judged by backendRank
	"cpython":  2, // the interpreter on disk
	"catalog":  2, // tools to Python, and results to frames of the bridge: pure
	"upstream": 2, // sessions with other MCP servers
	"snippet":  2, // saved scripts from files: makes requests of them, and knows nothing of what runs them
	"relay":    2, // one client's messages passed on to our own server

	"config": 3, // settings and where they are written; reads files as gear does

	"authz":       3, // the door
	"pool":        3, // children kept ready
	"capture":     3, // streams and files of a run
	"egress":      3, // the door of the network
	"environment": 3, // packages for a run

	"quota": 4, // what one principal may start: stands before the engine, and knows only its methods

	"engine": 5, // the list of steps

	"gateway":  6, // one tool call: implements what engine needs of tools
	"approval": 6, // answers of people: knows how an operation of which nothing was run ends

	"mcpserver": 7, // front doors
	"web":       7,
	"store":     7, // implements engine's journal, whose errors and states it has to name
	"telemetry": 7, // wraps the engine's interfaces and reads its load and the pools' counts

	"sidecar": 8,  // knows every concrete type
	"cli":     9,  // commands
	"cmd":     10, // main
}

// backendRank is the rank of everything below sandbox: a backend may use the
// contract, and is used by sidecar alone.
const backendRank = 3

// metThroughInterfaces are rooms that engine uses only through interfaces that
// it declares itself: each can be replaced without touching the state machine.
var metThroughInterfaces = []string{"pool", "store", "egress", "environment", "approval", "gateway", "telemetry"}

func rankOf(p pkg) (int, bool) {
	if strings.HasPrefix(p.folder, "internal/sandbox/") {
		return backendRank, true
	}
	r, known := rank[p.room()]
	return r, known
}

func TestEveryRoomHasItsPlaceInTheDirection(t *testing.T) {
	for _, p := range packages(t) {
		room := p.room()
		if room == "" || room == "archtest" {
			continue
		}
		if _, known := rankOf(p); !known {
			t.Errorf("%s: the room %q has no rank: place it in rooms_test.go", p.folder, room)
		}
	}
}

func TestImportsPointOneWay(t *testing.T) {
	all := packages(t)
	byPath := map[string]pkg{}
	for _, p := range all {
		byPath[p.importPath()] = p
	}
	for _, p := range all {
		from, known := rankOf(p)
		if !known {
			continue
		}
		for _, imported := range p.imports() {
			target, ours := byPath[imported]
			if !ours || family(p) == family(target) {
				continue
			}
			to, known := rankOf(target)
			switch {
			case !known:
				t.Errorf("%s imports %s, which is no room of the product", p.folder, target.folder)
			case to >= from:
				t.Errorf("%s (rank %d) imports %s (rank %d): imports point from higher to lower, see docs/architecture.md", p.folder, from, target.folder, to)
			}
		}
	}
}

// family is what may import within itself: a room with its sub-packages, or one
// backend with its own. Backends do not know each other.
func family(p pkg) string {
	parts := strings.Split(p.folder, "/")
	if len(parts) > 2 && parts[0] == "internal" && parts[1] == "sandbox" {
		return strings.Join(parts[:3], "/")
	}
	return p.room()
}

func TestEngineMeetsItsNeighboursThroughItsOwnInterfaces(t *testing.T) {
	for _, p := range packages(t) {
		if p.room() != "engine" {
			continue
		}
		for _, room := range metThroughInterfaces {
			if slices.Contains(p.imports(), module+"/internal/"+room) {
				t.Errorf("%s imports internal/%s: engine declares an interface and sidecar supplies it", p.folder, room)
			}
		}
	}
}

func TestOnlySidecarNamesBackends(t *testing.T) {
	for _, p := range packages(t) {
		if p.room() == "sidecar" || p.room() == "sandbox" || p.room() == "" {
			continue
		}
		if p.room() == "cmd" {
			// The binary re-executes itself as the sandbox's first process, and
			// that switch has to come before anything else in main.
			continue
		}
		for _, imported := range p.imports() {
			if strings.HasPrefix(imported, module+"/internal/sandbox/") {
				t.Errorf("%s imports %s: only sidecar knows concrete backends; use the contract in internal/sandbox", p.folder, imported)
			}
		}
	}
}

func TestNoRoomIsADrawer(t *testing.T) {
	// A name that holds anything ends up holding everything.
	drawers := []string{"util", "utils", "common", "helper", "helpers", "base", "manager", "misc", "shared", "types", "lib", "core"}
	for _, p := range packages(t) {
		parts := strings.Split(p.folder, "/")
		if name := parts[len(parts)-1]; slices.Contains(drawers, name) {
			t.Errorf("%s: name the package after the one idea it holds", p.folder)
		}
	}
}
