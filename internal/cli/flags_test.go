package cli

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func TestServerArgumentsReadBackToTheSameOptions(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []sidecar.Options{
		{},
		{Gear: "restricted"},
		{
			Gear: filepath.Join(dir, "g.yaml"), Allow: []string{"net(a:{80,443})", "run(git)"}, Ask: []string{"read(/x)"}, Deny: []string{"env(*)"},
			Python: filepath.Join(dir, "venv"), Preload: []string{"pandas", "scipy.stats"}, Backend: "linux", MinimumIsolation: "full", AllowFullTrust: true, AllowFullTrustAsRoot: true,
			Compat: []string{"python-interpreter", "mcp-run-python"}, DataDir: dir,
			Pool: sidecar.PoolOptions{Concurrency: new(8), Size: new(0), Max: new(32), Idle: new(90 * time.Second), RecycleRuns: new(500), RecycleAge: new(time.Hour)},
		},
	} {
		args := serverArgs(o)
		if args[0] != "serve" {
			t.Fatalf("%v", args)
		}
		got, err := parseServeFlags(args[1:])
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%v: %+v, %v: want %+v", args, got, err, o)
		}
	}
}

func TestPathsAmongServeFlagsAreMadeAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	o, err := parseServeFlags([]string{"--gear", "mine.yaml", "--python", "venv", "--data-dir", "d"})
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{o.Gear: "mine.yaml", o.Python: "venv", o.DataDir: "d"} {
		if !filepath.IsAbs(got) || filepath.Base(got) != want {
			t.Errorf("%q is not the absolute path of %q", got, want)
		}
	}
	if o, err := parseServeFlags([]string{"--gear", "restricted"}); err != nil || o.Gear != "restricted" {
		t.Errorf("a name became %q, %v", o.Gear, err)
	}
}
