package cpython

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const victim = "lib/python3.14/this.py"

// tampering is what someone does to a tree, and the path and words by which it has
// to be named.
type tampering struct {
	path, what string
	do         func(t *testing.T, file string)
}

var tamperings = map[string]tampering{
	"contents of equal size and the old mtime": {victim, "other contents", func(t *testing.T, file string) {
		info, err := os.Stat(file)
		must(t, err)
		overwrite(t, file, strings.Repeat("#", int(info.Size())))
		must(t, os.Chtimes(file, time.Time{}, info.ModTime()))
	}},
	"a file replaced by one of equal size": {victim, "other contents", func(t *testing.T, file string) {
		info, err := os.Stat(file)
		must(t, err)
		must(t, os.WriteFile(file+".new", make([]byte, info.Size()), 0o444))
		must(t, os.Chmod(file+".new", info.Mode()))
		must(t, os.Rename(file+".new", file))
	}},
	"a longer file":     {victim, "bytes, not", func(t *testing.T, file string) { overwrite(t, file, strings.Repeat("#", 1<<16)) }},
	"a missing file":    {victim, "missing", func(t *testing.T, file string) { must(t, os.Remove(file)) }},
	"a writable file":   {victim, "mode", func(t *testing.T, file string) { must(t, os.Chmod(file, 0o666)) }},
	"a set-id file":     {"bin/python3.14", "mode", func(t *testing.T, file string) { must(t, os.Chmod(file, 0o555|os.ModeSetuid)) }},
	"a link for a file": {victim, "is a link", func(t *testing.T, file string) { must(t, os.Remove(file)); must(t, os.Symlink("/etc/passwd", file)) }},
	"a link elsewhere": {"bin/python3", "leads to /bin/sh", func(t *testing.T, file string) {
		must(t, os.Remove(file))
		must(t, os.Symlink("/bin/sh", file))
	}},
	"a sitecustomize": {"lib/python3.14/sitecustomize.py", "does not belong", func(t *testing.T, file string) {
		must(t, os.WriteFile(file, []byte("import os\n"), 0o444))
	}},
	"a .pth file": {"lib/python3.14/site-packages/x.pth", "does not belong", func(t *testing.T, file string) {
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte("import os\n"), 0o444))
	}},
	"a library beside the run path": {"lib/libc.so.6", "does not belong", func(t *testing.T, file string) {
		must(t, os.WriteFile(file, nil, 0o555))
	}},
	"a root that others may write": {".", "mode", func(t *testing.T, file string) { must(t, os.Chmod(file, 0o777)) }},
	"an empty directory":           {"lib/python3.14/json/x", "does not belong", func(t *testing.T, file string) { must(t, os.Mkdir(file, 0o755)) }},
	"a directory that others may write": {"lib/python3.14/json", "mode", func(t *testing.T, file string) {
		must(t, os.Chmod(file, 0o777))
	}},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// overwrite changes a file in place, as an editor would that cares for no mode.
func overwrite(t *testing.T, file, text string) {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	must(t, os.Chmod(file, 0o644))
	must(t, os.WriteFile(file, []byte(text), 0o644))
	must(t, os.Chmod(file, info.Mode()))
}

func TestATamperedTreeIsRefusedNamedAndRepaired(t *testing.T) {
	config := testConfig(t)
	inst := ensure(t, config)
	for name, c := range tamperings {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(inst.Root, c.path)
			c.do(t, file)
			refuses(t, config, file, c.what)
			report, err := Verify(t.Context(), config.Dir)
			if err != nil || !slices.ContainsFunc(report.Differences, func(d Difference) bool {
				return d.Path == c.path && strings.Contains(d.What, c.what)
			}) {
				t.Errorf("the full check says %+v, %v", report.Differences, err)
			}
			inst = repairs(t, config, inst)
		})
	}
}

func refuses(t *testing.T, config Config, file, what string) {
	t.Helper()
	_, err := Ensure(t.Context(), config)
	var tampered *TamperedError
	if !errors.As(err, &tampered) || !strings.Contains(tampered.What, what) {
		t.Fatalf("got %v, want a file that %s", err, what)
	}
	if !strings.HasPrefix(file, tampered.Path) || tampered.Hint != "gearbox doctor --repair" {
		t.Errorf("names %s and hints %q", tampered.Path, tampered.Hint)
	}
}

// repairs returns the fresh installation.
func repairs(t *testing.T, config Config, old Installation) Installation {
	t.Helper()
	fresh, err := Repair(t.Context(), config)
	must(t, err)
	if fresh.Root == old.Root || fresh.Digest != old.Digest {
		t.Errorf("repaired to %+v", fresh)
	}
	old.Release()
	again, err := Ensure(t.Context(), config)
	must(t, err)
	fresh.Release()
	if again.Root != fresh.Root || len(trees(t, config.Dir)) != 1 {
		t.Errorf("then found %s of %q", again.Root, trees(t, config.Dir))
	}
	report, err := Verify(t.Context(), config.Dir)
	if err != nil || report.Err() != nil || report.Files == 0 {
		t.Errorf("the full check says %+v, %v", report, err)
	}
	return again
}

func TestAManifestCannotVouchForOtherSources(t *testing.T) {
	config := testConfig(t)
	inst := ensure(t, config)
	s, err := openStore(config)
	must(t, err)
	overwrite(t, filepath.Join(inst.Root, victim), "import os\n")
	m, err := readManifest(s.manifestPath(), s.pin)
	must(t, err)
	m.Entries, err = scan(t.Context(), inst.Root)
	must(t, err)
	must(t, m.write(s.manifestPath()))
	refuses(t, config, s.manifestPath(), "other sources")
	repairs(t, config, inst)
}

func TestADamagedStoreIsRefusedNamedAndRepaired(t *testing.T) {
	cases := map[string]struct {
		damage func(t *testing.T, manifest, tree string)
		what   string
	}{
		"manifest cut short":      {func(t *testing.T, m, _ string) { must(t, os.Truncate(m, 1000)) }, "cannot be read"},
		"manifest of another dir": {func(t *testing.T, m, _ string) { replace(t, m, `"tree":"tree-`, `"tree":"../tree-`) }, "names a tree"},
		"tree removed":            {func(t *testing.T, _, tree string) { must(t, os.RemoveAll(tree)) }, "cannot be held"},
		"root removed": {func(t *testing.T, _, tree string) {
			must(t, os.RemoveAll(filepath.Join(tree, "python")))
		}, "missing"},
	}
	config := testConfig(t)
	inst := ensure(t, config)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			manifest := filepath.Join(config.Dir, "python", "manifest.json")
			c.damage(t, manifest, filepath.Dir(inst.Root))
			_, err := Ensure(t.Context(), config)
			var tampered *TamperedError
			if !errors.As(err, &tampered) || !strings.Contains(tampered.What, c.what) {
				t.Fatalf("got %v", err)
			}
			inst = repairs(t, config, inst)
		})
	}
}

func replace(t *testing.T, file, old, new string) {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, []byte(strings.Replace(string(data), old, new, 1)), 0o600))
}

func TestATreeThatWasOnlyTouchedIsSealedAgain(t *testing.T) {
	config := testConfig(t)
	inst := ensure(t, config)
	file := filepath.Join(inst.Root, victim)
	data, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file+".copy", data, 0o444))
	must(t, os.Chmod(file+".copy", 0o444))
	must(t, os.Rename(file+".copy", file))
	var said []string
	config.Progress = func(s string) { said = append(said, s) }
	ensure(t, config)
	ensure(t, config)
	if len(said) != 1 || !strings.HasPrefix(said[0], "checking every file") {
		t.Fatalf("said %q, want one full check", said)
	}
}

func TestAManifestOfAnotherVersionIsReplacedWithoutAsking(t *testing.T) {
	config := testConfig(t)
	ensure(t, config).Release()
	s, err := openStore(config)
	must(t, err)
	replace(t, s.manifestPath(), s.pin.Content, "sha256:00")
	inst := ensure(t, config)
	if len(trees(t, config.Dir)) != 1 || inst.Content.String() != s.pin.Content {
		t.Fatalf("got %+v of %q", inst, trees(t, config.Dir))
	}
}

func TestDataThatIsNotTheEmbeddedDataIsNeverPublished(t *testing.T) {
	config := testConfig(t)
	sound := config.extract
	config.extract = func(dir string) error {
		if err := sound(dir); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, victim), []byte("import os\n"), 0o644)
	}
	if _, err := Ensure(t.Context(), config); err == nil || !strings.Contains(err.Error(), "is embedded") {
		t.Fatalf("got %v", err)
	}
	if _, err := Verify(t.Context(), config.Dir); !errors.Is(err, ErrNotUnpacked) {
		t.Errorf("the full check says %v", err)
	}
	if left := trees(t, config.Dir); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	config.extract = sound
	ensure(t, config)
}
