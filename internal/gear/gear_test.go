package gear_test

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

var update = flag.Bool("update", false, "rewrite the golden files and docs/gears.md")

// golden compares with a file, or rewrites it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what it was; -update rewrites it. Now:\n%s", path, got)
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return paths
}

func goldenName(path string) string {
	return strings.ReplaceAll(strings.TrimSuffix(path, ".yaml"), " ", "_") + ".golden"
}

func TestGearFilesAreReadAsShown(t *testing.T) {
	t.Setenv("HOME", "/home/someone")
	registry := gear.OpenRegistry("testdata/good")
	for _, path := range files(t, "testdata/good/*.yaml") {
		g, err := registry.LoadFile(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		text, err := g.Show()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, goldenName(path), text)
		if again := load(t, g.Name, text); !same(g, again) {
			t.Errorf("%s: what is shown reads differently:\n%+v\n%+v", path, g, again)
		}
	}
}

// load reads a gear from text.
func load(t testing.TB, name, text string) gear.Gear {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := gear.OpenRegistry(filepath.Dir(path)).LoadFile(path)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return g
}

// same compares all but where the gears come from.
func same(a, b gear.Gear) bool {
	a.Origin, b.Origin, a.Extends, b.Extends = "", "", nil, nil
	texts := func(r policy.RuleSet) []string {
		var out []string
		for _, rules := range [][]policy.Rule{r.Deny, r.Ask, r.Allow} {
			out = append(out, "-")
			for _, rule := range rules {
				out = append(out, rule.String())
			}
		}
		return out
	}
	if !slices.Equal(texts(a.Rules), texts(b.Rules)) || !maps.Equal(a.Env, b.Env) {
		return false
	}
	a.Rules, b.Rules, a.Env, b.Env = policy.RuleSet{}, policy.RuleSet{}, nil, nil
	return reflect.DeepEqual(a, b)
}

func TestBrokenGearFilesSayWhereAndWhat(t *testing.T) {
	registry := gear.OpenRegistry("testdata/bad")
	for _, path := range files(t, "testdata/bad/*.yaml") {
		if base := filepath.Base(path); strings.HasPrefix(base, "deep") && base != "deep1.yaml" {
			continue // parts of the chain that deep1 begins
		}
		_, err := registry.LoadFile(path)
		if err == nil {
			t.Errorf("%s was accepted", path)
			continue
		}
		var e *gear.FileError
		if !errors.As(err, &e) {
			t.Errorf("%s: no place in %v", path, err)
		}
		golden(t, goldenName(path), filepath.ToSlash(err.Error())+"\n")
	}
}

func TestBuiltinGearsAreShownAndReadBack(t *testing.T) {
	var names []string
	for _, g := range gear.Builtin() {
		names = append(names, g.Name)
		text, err := g.Show()
		if err != nil {
			t.Fatal(err)
		}
		if again := load(t, "own", text); !same(g, rename(again, g.Name)) {
			t.Errorf("%s reads back differently", g.Name)
		}
	}
	if !slices.Equal(names, []string{"read_only", "restricted", "user_confirmed", "full_trust"}) {
		t.Error(names)
	}
}

func rename(g gear.Gear, name string) gear.Gear { g.Name = name; return g }

func TestUnknownGearNamesTheNearest(t *testing.T) {
	_, err := gear.OpenRegistry(filepath.Join(t.TempDir(), "missing")).Get("user_confimed")
	if !errors.Is(err, gear.ErrUnknown) || !strings.Contains(err.Error(), "did you mean user_confirmed?") {
		t.Error(err)
	}
	for _, name := range []string{"", "../x", "a/b", "A", "x\x00"} {
		if _, err := gear.OpenRegistry(t.TempDir()).Get(name); !errors.Is(err, gear.ErrUnknown) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestListHoldsBrokenFilesToo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"mine.yaml": "default: ask\n", "broken.yaml": "nonsense: 1\n", "notes.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, e := range gear.OpenRegistry(dir).List() {
		mark := ""
		if e.Err != nil {
			mark = "!"
		}
		got = append(got, e.Gear.Name+mark)
	}
	want := []string{"read_only", "restricted", "user_confirmed", "full_trust", "broken!", "mine"}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
	if g, err := gear.OpenRegistry(dir).Get("mine"); err != nil || g.Default != policy.Ask {
		t.Error(g, err)
	}
}

func TestFileThatIsTooLargeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(path, []byte(strings.Repeat("# x\n", 1<<17)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gear.OpenRegistry(t.TempDir()).LoadFile(path); err == nil {
		t.Error("accepted")
	}
}

func TestExtendingAddsRulesAndReplacesTheRest(t *testing.T) {
	g, err := gear.OpenRegistry("testdata/good").Get("narrow")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(g.Extends, []string{"team", "user_confirmed"}) || g.Default != policy.Deny {
		t.Errorf("%v %v", g.Extends, g.Default)
	}
	if len(g.Rules.Deny) != 2 || len(g.Rules.Ask) != 1 || g.Limits.Timeout != 30*time.Second || g.Limits.Scratch != 16*execution.MiB {
		t.Errorf("%+v", g)
	}
	base, _ := gear.OpenRegistry("testdata/good").Get("user_confirmed")
	if len(base.Rules.Deny) != 0 || len(g.Rules.Allow) <= len(base.Rules.Allow) {
		t.Error("extending changed what is extended, or lost its rules")
	}
}

func TestOverlaysFromFlagsAndFile(t *testing.T) {
	o, err := gear.ParseOverlays([]string{"net(a.example)"}, []string{"run(git)"}, []string{"run(rm)"})
	if err != nil || len(o.Allow) != 1 || o.Allow[0].String() != "net(a.example)" || o.Ask[0].String() != "run(git)" || o.Deny[0].String() != "run(rm)" {
		t.Errorf("%+v %v", o, err)
	}
	if _, err := gear.ParseOverlays([]string{"run(g*)"}, []string{"x"}, nil); err == nil ||
		!strings.Contains(err.Error(), "--allow") || !strings.Contains(err.Error(), "--ask") {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if o, err := gear.LoadOverlays(path); err != nil || len(o.Allow)+len(o.Ask)+len(o.Deny) != 0 {
		t.Errorf("a missing file: %+v %v", o, err)
	}
	if err := os.WriteFile(path, []byte("allow:\n  - env(TOKEN)\ndenny: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var e *gear.FileError
	if _, err := gear.LoadOverlays(path); !errors.As(err, &e) || e.Line != 3 || e.Column != 1 || e.Hint != "did you mean deny?" {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("allow:\n  - env(TOKEN)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := gear.LoadOverlays(path)
	if err != nil || len(file.With(o).Allow) != 2 {
		t.Errorf("%+v %v", file, err)
	}
}

func FuzzGearFile(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml", "builtin/*.yaml"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "fuzzed.yaml")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := gear.OpenRegistry(dir).LoadFile(path)
		if err != nil {
			return
		}
		text, err := g.Show()
		if err != nil {
			t.Fatal(err)
		}
		if again := load(t, "fuzzed", text); !same(g, again) {
			t.Fatalf("%q is shown as\n%s\nwhich reads differently", data, text)
		}
	})
}
