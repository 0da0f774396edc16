package gear_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

func TestARuleIsAddedAndEverythingElseStays(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"nothing":          {"", "allow:\n  - 'run(git)'\n"},
		"comments only":    {"# mine\n", "# mine\nallow:\n  - 'run(git)'\n"},
		"no line end":      {"deny: [run(curl)]", "deny: [run(curl)]\nallow:\n  - 'run(git)'\n"},
		"a list":           {"# mine\nallow:\n  # first\n  - run(jq) # why\n  - \"env(TZ)\"\n\n# then\nask:\n- run(make)\n", "# mine\nallow:\n  # first\n  - run(jq) # why\n  - \"env(TZ)\"\n  - 'run(git)'\n\n# then\nask:\n- run(make)\n"},
		"not indented":     {"allow:\n- run(jq)\ndeny:\n- run(curl)\n", "allow:\n- run(jq)\n- 'run(git)'\ndeny:\n- run(curl)\n"},
		"in brackets":      {"allow: [run(jq), 'read(/é)'] # ä\ndeny: []\n", "allow: [run(jq), 'read(/é)', 'run(git)'] # ä\ndeny: []\n"},
		"empty brackets":   {"allow: []\n", "allow: ['run(git)']\n"},
		"an empty key":     {"allow:\ndeny: [run(curl)]\n", "allow:\n  - 'run(git)'\ndeny: [run(curl)]\n"},
		"an empty key end": {"allow:", "allow:\n  - 'run(git)'\n"},
		"there already":    {"allow: [run(git)]\n", "allow: [run(git)]\n"},
		"carriage returns": {"allow:\r\n  - run(jq)\r\n", "allow:\r\n  - run(jq)\r\n  - 'run(git)'\r\n"},
		"no end of line":   {"allow:\n  - run(jq)", "allow:\n  - run(jq)\n  - 'run(git)'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := gear.AppendAllow("rules.yaml", []byte(c.before), []string{"run(git)"})
			if err != nil || string(got) != c.after {
				t.Errorf("%v\n%q\nwant\n%q", err, got, c.after)
			}
		})
	}
}

func TestAFileThatCannotBeAddedToIsLeftAlone(t *testing.T) {
	for name, c := range map[string]struct{ before, rule, message string }{
		"a mistake":           {"alow: [run(jq)]\n", "run(git)", "rules.yaml:1:1: unknown key"},
		"more than one":       {"", "env(X,Y, Z)", "would be read as"},
		"braces without it":   {"{deny: [run(a)]}\n", "env(X)", "by hand"},
		"the end of document": {"deny: [run(a)]\n...\n", "env(X)", "by hand"},
		"text over lines":     {"allow:\n  - |\n    run(jq)\n", "env(X)", "by hand"},
		"no rule":             {"", "run(", "run("},
		"half a name":         {"", "run(g*)", "no single program"},
		"an invisible rule":   {"", "read(/a\x07b)", ""},
		"more than it says":   {"", "read(/a/../b)", "not a clean path"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := gear.AppendAllow("rules.yaml", []byte(c.before), []string{c.rule})
			if c.message == "" && err == nil {
				return // it is in there, as the function itself has seen
			}
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%v, %q", err, got)
			}
		})
	}
}

func FuzzAddedRulesAreTheOnlyChange(f *testing.F) {
	for _, s := range []string{"", "allow: [run(jq)]", "allow:\n - run(jq)\n # x\ndeny: [net(a.b)]\n", "{allow: []}", "allow: !!seq [a]", "---\nallow:\n---\n"} {
		f.Add(s, "run(git)")
	}
	dir := f.TempDir()
	load := func(t *testing.T, text string) (gear.Overlays, error) {
		path := filepath.Join(dir, "rules.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return gear.LoadOverlays(path)
	}
	f.Fuzz(func(t *testing.T, text, rule string) {
		got, err := gear.AppendAllow("rules.yaml", []byte(text), []string{rule})
		if err != nil {
			return
		}
		before, err := load(t, text)
		if err != nil {
			t.Fatal(err)
		}
		after, err := load(t, string(got))
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if len(after.Deny) != len(before.Deny) || len(after.Ask) != len(before.Ask) || len(after.Allow) > len(before.Allow)+1 {
			t.Fatalf("%q became %q", text, got)
		}
		if !slices.ContainsFunc(after.Allow, func(r policy.Rule) bool { return r.String() == rule }) {
			t.Fatalf("%q has no %q", got, rule)
		}
	})
}
