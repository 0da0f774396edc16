package shell_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
	"github.com/gearbox-mcp/gearbox/internal/analysis/shell"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

const corpus = "../../../test/corpus"

// scripts reads a folder of the corpus.
func scripts(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(corpus, folder, "*.sh"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts in %s: %v", folder, err)
	}
	all := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(text)
	}
	return all
}

func permissions(t *testing.T, name, source string) []policy.Permission {
	t.Helper()
	head := shell.Analyse(source)
	if head.Failure != nil {
		t.Fatalf("%s does not parse: %s", name, head.Failure.Text)
	}
	found, err := analysis.Permissions(head, analysis.Workspace, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return found
}

// userConfirmed is the built-in gear.
func userConfirmed(t *testing.T) gear.Gear {
	t.Helper()
	for _, g := range gear.Builtin() {
		if g.Name == "user_confirmed" {
			return g
		}
	}
	t.Fatal("no gear user_confirmed")
	return gear.Gear{}
}

// strict is user_confirmed with its programs alone: what is not on the list is
// denied, and so is everything unsafe.
func strict(t *testing.T) gear.Gear {
	t.Helper()
	g := userConfirmed(t)
	g.Name, g.Default = "strict", policy.Deny
	g.Rules.Allow = slices.DeleteFunc(slices.Clone(g.Rules.Allow), func(r policy.Rule) bool { return r.Kind() != policy.Run })
	return g
}

func freeze(t *testing.T, g gear.Gear) gear.Frozen {
	t.Helper()
	f, err := gear.Freeze(g, nil, nil, gear.Overlays{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestHonestScriptsRaiseNoAlarm(t *testing.T) {
	all := scripts(t, "honest")
	if len(all) < 15 {
		t.Errorf("only %d scripts", len(all))
	}
	g := freeze(t, userConfirmed(t))
	for name, source := range all {
		for _, p := range permissions(t, name, source) {
			if d := g.Decide(p); d.Effect != policy.Allow {
				t.Errorf("%s:%d: %s (%s): %s", name, p.Line, p, p.Via, d.Effect)
			}
		}
	}
}

func TestEachHonestScriptHasItsOutput(t *testing.T) {
	for name := range scripts(t, "honest") {
		golden := filepath.Join(corpus, "honest", strings.TrimSuffix(name, ".sh")+".out")
		if text, err := os.ReadFile(golden); err != nil || len(text) == 0 {
			t.Errorf("%s: no output to compare with: %v", name, err)
		}
	}
}

// attack is the permission for which a script is refused, or why it need not be.
func attack(t *testing.T, name, source string) (refused, contained string) {
	t.Helper()
	lines := strings.SplitN(source, "\n", 3)
	if !strings.HasPrefix(lines[0], "# Trick: ") || len(lines) < 3 {
		t.Fatalf("%s: the first line is not # Trick: …", name)
	}
	if refused, ok := strings.CutPrefix(lines[1], "# Refused: "); ok && refused != "" {
		return refused, ""
	}
	contained, ok := strings.CutPrefix(lines[1], "# Contained: ")
	if !ok || contained == "" {
		t.Fatalf("%s: the second line is neither # Refused: … nor # Contained: …", name)
	}
	return "", contained
}

func TestAttacksAreRefusedByName(t *testing.T) {
	g := freeze(t, strict(t))
	all := scripts(t, "attacks/bash")
	refused := 0
	for name, source := range all {
		t.Run(name, func(t *testing.T) {
			want, contained := attack(t, name, source)
			var denied []string
			for _, p := range permissions(t, name, source) {
				if g.Decide(p).Effect == policy.Deny {
					denied = append(denied, p.String())
				}
			}
			switch {
			case want != "" && slices.Contains(denied, want):
				refused++
			case want != "":
				t.Errorf("not refused for %s but for %v", want, denied)
			case len(denied) > 0:
				t.Errorf("said to be contained only (%s), but refused for %v", contained, denied)
			}
		})
	}
	// The rest is held by the sandbox alone; more of it would make the promise of
	// an early answer hollow.
	if refused*10 < len(all)*9 {
		t.Errorf("%d of %d attacks are refused", refused, len(all))
	}
}
