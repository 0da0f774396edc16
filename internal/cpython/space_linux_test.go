package cpython

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFullDiskIsNamedAndTheNextStartWorks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=700"); err != nil {
		t.Skipf("mounting a small file system is not possible here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	config := Config{Dir: dir}
	refusesForRoom(t, config)
	must(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=64m,mode=700"))
	first := ensure(t, config)
	// The compiled copy has no room beside the first tree.
	_, err := Compile(t.Context(), config)
	var full *SpaceError
	if !errors.As(err, &full) || full.Path != filepath.Join(dir, "python") {
		t.Fatalf("got %v", err)
	}
	if again := ensure(t, config); again.Root != first.Root || len(trees(t, dir)) != 1 {
		t.Fatalf("found %s of %q", again.Root, trees(t, dir))
	}
}

func TestAFullDiskMetByAnyWriteIsNamed(t *testing.T) {
	config := testConfig(t)
	sound := config.extract
	config.extract = func(dir string) error {
		must(t, os.WriteFile(filepath.Join(dir, "half"), nil, 0o644))
		return &fs.PathError{Op: "write", Path: filepath.Join(dir, "half"), Err: unix.ENOSPC}
	}
	refusesForRoom(t, config)
	config.extract = sound
	ensure(t, config)
}

func refusesForRoom(t *testing.T, config Config) {
	t.Helper()
	_, err := Ensure(t.Context(), config)
	var full *SpaceError
	if !errors.As(err, &full) || full.Path != filepath.Join(config.Dir, "python") || full.Needed < 1<<20 {
		t.Fatalf("got %v", err)
	}
	if left := trees(t, config.Dir); len(left) != 0 {
		t.Fatalf("left: %q", left)
	}
}
