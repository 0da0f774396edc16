package cli

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// options are those of serve with the flags and nothing else.
func options(t *testing.T, args ...string) *loaded {
	t.Helper()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	given := (&settings{}).table().Declare(fs, nil)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	l, err := load(given)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestInstalledFlagsReadBackToTheSameOptions(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GEARBOX_DATA_DIR", dir)
	rules, err := gear.ParseOverlays([]string{"net(a.example:{80,443})", "run(git)"}, []string{"read(/x)"}, []string{"env(*)"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want sidecar.Options
	}{
		{nil, sidecar.Options{DataDir: dir}},
		{[]string{"--gear", "restricted"}, sidecar.Options{DataDir: dir, Gear: "restricted"}},
		{
			[]string{
				"--gear", filepath.Join(dir, "g.yaml"), "--allow", "net(a.example:{80,443})", "--allow", "run(git)", "--ask", "read(/x)", "--deny", "env(*)",
				"--python", filepath.Join(dir, "venv"), "--preload", "pandas,scipy.stats", "--backend", "linux", "--minimum-isolation", "full",
				"--allow-full-trust", "--allow-full-trust-as-root", "--compat", "python-interpreter", "--compat", "mcp-run-python", "--data-dir", dir,
				"--concurrency", "8", "--pool-size", "0", "--pool-max", "32", "--pool-idle", "90s", "--recycle-runs", "500", "--recycle-age", "1h", "--principal-rate", "600", "--principal-concurrency", "16",
			},
			sidecar.Options{
				Gear: filepath.Join(dir, "g.yaml"), Rules: rules, DataDir: dir,
				Python: filepath.Join(dir, "venv"), Preload: []string{"pandas", "scipy.stats"}, Backend: "linux", MinimumIsolation: "full", AllowFullTrust: true, AllowFullTrustAsRoot: true,
				Compat:    []string{"python-interpreter", "mcp-run-python"},
				Pool:      sidecar.PoolOptions{Concurrency: new(8), Size: new(0), Max: new(32), Idle: new(90 * time.Second), RecycleRuns: new(500), RecycleAge: new(time.Hour)},
				Principal: sidecar.PrincipalOptions{Rate: new(600), Concurrency: new(16)},
			},
		},
	} {
		installed, err := parseServeFlags(c.args)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseServeFlags(installed)
		if err != nil || !slices.Equal(again, installed) {
			t.Errorf("%v: reads back as %v, %v", installed, again, err)
		}
		for _, args := range [][]string{c.args, installed} {
			got := options(t, args...).server
			got.Settings = c.want.Settings
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v: %+v: want %+v", args, got, c.want)
			}
		}
	}
}

func TestPathsAmongServeFlagsAreMadeAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	args, err := parseServeFlags([]string{"--gear", "mine.yaml", "--python", "venv", "--data-dir", "d", "--config", "c.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"--gear", "mine.yaml", "--python", "venv", "--data-dir", "d", "--config", "c.yaml"} {
		if got := args[i]; i%2 == 0 && got != want || i%2 == 1 && (!filepath.IsAbs(got) || filepath.Base(got) != want) {
			t.Errorf("%q is not the absolute path of %q", got, want)
		}
	}
	if args, err := parseServeFlags([]string{"--gear", "restricted"}); err != nil || !slices.Equal(args, []string{"--gear", "restricted"}) {
		t.Errorf("a name became %q, %v", args, err)
	}
}
