package sidecar_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func TestManyWhoSayAlwaysAtOnceLoseNoRule(t *testing.T) {
	dir := t.TempDir()
	const many = 24
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			rules := []string{fmt.Sprintf("run(tool%d)", i), "run(git)"}
			if err := sidecar.WithRules(t.Context(), dir, rules, func() error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	o, err := gear.LoadOverlays(filepath.Join(dir, "rules.yaml"))
	if err != nil || len(o.Allow) != many+1 {
		t.Errorf("%v, %v", o.Allow, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "rules.yaml")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	only(t, dir, "rules.yaml", "rules.yaml.lock")
}

// only expects these files in a directory and no others.
func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
}

func TestRulesAreNotWrittenWithoutAnAnswerThatCounts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rules.yaml")
	const mine = "# mine\nallow: [run(jq)]\n"
	if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("somebody was first")
	err := sidecar.WithRules(t.Context(), dir, []string{"run(git)"}, func() error {
		if text, _ := os.ReadFile(path); string(text) != mine {
			t.Errorf("written before the answer: %q", text)
		}
		return refused
	})
	if text, _ := os.ReadFile(path); !errors.Is(err, refused) || string(text) != mine {
		t.Errorf("%v, %q", err, text)
	}
	only(t, dir, "rules.yaml", "rules.yaml.lock")
}

func TestAnAnswerIsNotGivenWhenItsRulesCannotBeWritten(t *testing.T) {
	for name, prepare := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a mistake":   func(path string) error { return os.WriteFile(path, []byte("alow: []\n"), 0o600) },
		"no such form": func(path string) error {
			return os.WriteFile(path, []byte("{deny: [run(a)]}\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := prepare(filepath.Join(dir, "rules.yaml")); err != nil {
				t.Fatal(err)
			}
			err := sidecar.WithRules(t.Context(), dir, []string{"run(git)"}, func() error {
				t.Error("the answer was given")
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), "rules.yaml") {
				t.Errorf("%v", err)
			}
			only(t, dir, "rules.yaml", "rules.yaml.lock")
		})
	}
}

func TestARulesFileThatIsKeptElsewhereStaysThere(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	real, link := filepath.Join(elsewhere, "gearbox-rules"), filepath.Join(dir, "rules.yaml")
	if err := errors.Join(os.WriteFile(real, nil, 0o600), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	if err := sidecar.WithRules(t.Context(), dir, []string{"run(git)"}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	st, err := os.Lstat(link)
	if err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", st, err)
	}
	if text, _ := os.ReadFile(real); string(text) != "allow:\n  - 'run(git)'\n" {
		t.Errorf("%q", text)
	}
}

func TestAlwaysIsNeverWiderThanWhatWasAsked(t *testing.T) {
	mount := execution.Asked{Kind: "run", Target: "mount", Allow: "run(mount)"}
	for name, c := range map[string]struct {
		asked []execution.Asked
		want  []string
	}{
		"each rule once":        {[]execution.Asked{mount, {Kind: "env", Target: "A", Allow: "env(A)"}, mount}, []string{"run(mount)", "env(A)"}},
		"every program":         {[]execution.Asked{{Kind: "run", Target: "*", Allow: "run(*)"}}, nil},
		"none for one of them":  {[]execution.Asked{mount, {Kind: "run", Target: "x"}}, nil},
		"a pattern":             {[]execution.Asked{{Kind: "read", Target: "/home/me/*", Allow: "read(/home/me/*)"}}, nil},
		"two of one":            {[]execution.Asked{{Kind: "env", Target: "A,B", Allow: "env(A,B)"}}, nil},
		"all of one":            {[]execution.Asked{{Kind: "run", Target: "mount", Allow: "run(*)"}}, nil},
		"another kind":          {[]execution.Asked{{Kind: "run", Target: "A", Allow: "env(A)"}}, nil},
		"something else than a": {[]execution.Asked{{Kind: "run", Target: "mount", Allow: "mount"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sidecar.Lasting(&execution.Approval{Asked: c.asked})
			if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
