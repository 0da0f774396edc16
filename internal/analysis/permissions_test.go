package analysis_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

func permissions(t *testing.T, exists func(string) bool, facts ...bridge.Fact) []string {
	t.Helper()
	found, err := analysis.Permissions(bridge.FactsHead{Facts: facts}, "", exists)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, 0, len(found))
	for _, p := range found {
		out = append(out, p.String())
	}
	return out
}

func TestPathsAreAbsoluteAndClean(t *testing.T) {
	for path, want := range map[string]string{
		"out.csv":            "/workspace/out.csv",
		"./a/../b":           "/workspace/b",
		"../etc/passwd":      "/etc/passwd",
		"/etc//./passwd":     "/etc/passwd",
		"/tmp/../etc/shadow": "/etc/shadow",
		"~/.ssh/id_rsa":      "~/.ssh/id_rsa",
		"~name":              "/workspace/~name",
		".":                  "/workspace",
	} {
		got := permissions(t, nil, bridge.Fact{Kind: "read", Target: path, Line: 1, Column: 1})
		if !slices.Equal(got, []string{"read(" + want + ")"}) {
			t.Errorf("%s: got %v, want %s", path, got, want)
		}
	}
}

func TestTheHomeOfASandboxIsItsWorkspace(t *testing.T) {
	for target, want := range map[string]string{
		"~":              "/workspace",
		"~/.config/x":    "/workspace/.config/x",
		"~/../etc/x":     "/etc/x",
		"~root/.ssh/key": "/workspace/~root/.ssh/key",
	} {
		found, err := analysis.Permissions(bridge.FactsHead{Facts: []bridge.Fact{
			{Kind: "write", Target: target, Line: 1}, {Kind: "write", Target: want, Line: 2},
		}}, analysis.Workspace, nil)
		if err != nil || len(found) != 1 || found[0].Target != want || found[0].Line != 1 {
			t.Errorf("%s: got %v, %v; want %s", target, found, err, want)
		}
	}
}

func TestOnlyHostPathsThatExistAreAskedFor(t *testing.T) {
	var asked []string
	exists := func(path string) bool {
		asked = append(asked, path)
		return path == "/etc/passwd"
	}
	got := permissions(t, exists,
		bridge.Fact{Kind: "read", Target: "/etc/passwd", Line: 1},
		bridge.Fact{Kind: "read", Target: "/no/such", Line: 2},
		bridge.Fact{Kind: "read", Target: "data.csv", Line: 3},
		bridge.Fact{Kind: "read", Target: "/tmp/x", Line: 4},
		bridge.Fact{Kind: "read", Target: "/proc/self/status", Line: 5},
		bridge.Fact{Kind: "read", Target: "~/.ssh/id_rsa", Line: 6},
		bridge.Fact{Kind: "write", Target: "/no/such", Line: 7},
	)
	want := []string{
		"read(/etc/passwd)", "read(/workspace/data.csv)", "read(/tmp/x)", "read(/proc/self/status)",
		"read(~/.ssh/id_rsa)", "write(/no/such)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	slices.Sort(asked)
	if !slices.Equal(asked, []string{"/etc/passwd", "/no/such"}) {
		t.Errorf("the host was asked for %v", asked)
	}
}

func TestEachTargetIsNamedOnceWhereItIsFirst(t *testing.T) {
	found, err := analysis.Permissions(bridge.FactsHead{Facts: []bridge.Fact{
		{Kind: "run", Target: "ls", Via: "os.system", Line: 9, Column: 1},
		{Kind: "run", Target: "ls", Via: "subprocess.run", Line: 2, Column: 5},
		{Kind: "import", Target: "os", Line: 2, Column: 1},
		{Kind: "read", Target: "a", Line: 3, Column: 1},
		{Kind: "read", Target: "./a", Line: 1, Column: 1},
	}}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []policy.Permission{
		{Kind: policy.Read, Target: "/workspace/a", Line: 1, Column: 1},
		{Kind: policy.Import, Target: "os", Line: 2, Column: 1},
		{Kind: policy.Run, Target: "ls", Via: "subprocess.run", Line: 2, Column: 5},
	}
	if !slices.Equal(found, want) {
		t.Errorf("got %v", found)
	}
}

func TestMalformedFactsPermitNothing(t *testing.T) {
	many := make([]bridge.Fact, 5000)
	for i := range many {
		many[i] = bridge.Fact{Kind: "import", Target: "os"}
	}
	for name, facts := range map[string][]bridge.Fact{
		"unknown kind":  {{Kind: "admin", Target: "x"}},
		"empty kind":    {{Target: "x"}},
		"no target":     {{Kind: "run"}},
		"not UTF-8":     {{Kind: "run", Target: "a\xff"}},
		"long target":   {{Kind: "run", Target: strings.Repeat("x", 5000)}},
		"long via":      {{Kind: "run", Target: "x", Via: strings.Repeat("x", 5000)}},
		"negative line": {{Kind: "run", Target: "x", Line: -1}},
		"huge column":   {{Kind: "run", Target: "x", Column: 1 << 40}},
		"too many":      many,
	} {
		found, err := analysis.Permissions(bridge.FactsHead{Facts: facts}, "", nil)
		if !errors.Is(err, analysis.ErrFacts) || found != nil {
			t.Errorf("%s: got %v, %v", name, found, err)
		}
	}
}

func FuzzPermissionsAreWellFormed(f *testing.F) {
	f.Add([]byte(`{"facts":[{"kind":"read","target":"../x","via":"open","line":1,"column":2}]}`))
	f.Add([]byte(`{"facts":[{"kind":"net","target":"[::1]:80","line":-1}],"failure":{"class":"SyntaxError"}}`))
	f.Add([]byte(`{"facts":null}`))
	f.Add([]byte(`{"facts":[{"kind":"run","target":"\ud800"},{"kind":"write","target":"~/../../x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var head bridge.FactsHead
		if json.Unmarshal(data, &head) != nil {
			return
		}
		found, err := analysis.Permissions(head, "", nil)
		if err != nil {
			if found != nil {
				t.Fatal("permissions beside an error")
			}
			return
		}
		again, err := analysis.Permissions(facts(found), "", nil)
		if err != nil || !slices.Equal(found, again) {
			t.Fatalf("not stable: %v, then %v (%v)", found, again, err)
		}
		if first, second := analysis.Digest("1", "x", head), analysis.Digest("1", "x", head); first != second {
			t.Fatal("the digest is not a function")
		}
	})
}

// facts are the facts that ask for exactly the permissions.
func facts(permissions []policy.Permission) bridge.FactsHead {
	var head bridge.FactsHead
	for _, p := range permissions {
		head.Facts = append(head.Facts, bridge.Fact{Kind: string(p.Kind), Target: p.Target, Via: p.Via, Line: p.Line, Column: p.Column})
	}
	return head
}

func TestDigestCoversEverythingThatIsAnalysed(t *testing.T) {
	head := func(f ...bridge.Fact) bridge.FactsHead { return bridge.FactsHead{Facts: f} }
	base := bridge.Fact{Kind: "run", Target: "ls", Via: "os.system", Line: 1, Column: 2}
	moved, other, via, kind := base, base, base, base
	moved.Line, other.Target, via.Via, kind.Kind = 2, "rm", "os.popen", "env"
	column := base
	column.Column = 21
	seen := map[string]string{}
	for name, d := range map[string]string{
		"base":    analysis.Digest("1", "x", head(base)).String(),
		"version": analysis.Digest("2", "x", head(base)).String(),
		"source":  analysis.Digest("1", "y", head(base)).String(),
		"moved":   analysis.Digest("1", "x", head(moved)).String(),
		"column":  analysis.Digest("1", "x", head(column)).String(),
		"target":  analysis.Digest("1", "x", head(other)).String(),
		"via":     analysis.Digest("1", "x", head(via)).String(),
		"kind":    analysis.Digest("1", "x", head(kind)).String(),
		"twice":   analysis.Digest("1", "x", head(base, base)).String(),
		"none":    analysis.Digest("1", "x", head()).String(),
		"failure": analysis.Digest("1", "x", bridge.FactsHead{Failure: &bridge.Exception{Class: "SyntaxError"}}).String(),
	} {
		if twin, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, twin)
		}
		seen[d] = name
	}
}
