package cpython

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// shape says what a tree keeps of the embedded data, which is the same for every
// machine of a platform: the digest in pins.json depends on it.
type shape struct{ goos string }

// The parts that no sandbox needs. Tcl and Tk need a display. The shared
// libpython is for programs that embed Python; on Linux the interpreter and its
// extension modules do not link to it. The _test modules exist to break the
// interpreter's own invariants.
var dropped = map[string][]string{
	"linux": {
		"lib/libtcl*", "lib/libtk*", "lib/tcl*", "lib/tk*", "lib/itcl*", "lib/thread*", "lib/libpython*",
		"lib/python3.*/lib-dynload/_tkinter.*", "lib/python3.*/lib-dynload/_test*", "lib/python3.*/lib-dynload/_ctypes_test.*",
	},
	"darwin":  {"lib/libtcl*", "lib/libtk*", "lib/tcl*", "lib/tk*", "lib/itcl*", "lib/thread*", "lib/python3.*/lib-dynload/_tkinter.*"},
	"windows": {"tcl", "DLLs/_tkinter.pyd", "DLLs/tcl*", "DLLs/tk*"},
}

// keeps reports whether a tree keeps the path. What is below a dropped directory
// is dropped with it.
func (s shape) keeps(rel string) bool {
	if path.Dir(rel) == "bin" && !s.isExecutable(rel) {
		return false // pip, idle, pydoc and python-config start nothing that is here
	}
	for part := rel; part != "."; part = path.Dir(part) {
		for _, pattern := range dropped[s.goos] {
			if ok, _ := path.Match(pattern, part); ok {
				return false
			}
		}
	}
	return true
}

// isExecutable reports whether rel is the interpreter under one of its names.
func (s shape) isExecutable(rel string) bool {
	suffix, ok := strings.CutPrefix(rel, "bin/python")
	return ok && strings.Trim(suffix, "0123456789.") == ""
}

// executable picks the interpreter's own file among names: the one with the full
// version, of which the others are copies.
func (s shape) executable(names []string) (string, error) {
	if s.goos == "windows" {
		return "python.exe", nil
	}
	names = slices.Sorted(slices.Values(names))
	if len(names) == 0 {
		return "", errors.New("no interpreter in bin")
	}
	return names[len(names)-1], nil
}

// mode is the mode that a file gets: nobody needs to write it.
func (s shape) mode(m fs.FileMode) fs.FileMode {
	switch {
	case m.IsDir():
		return fs.ModeDir | 0o755
	case m.Perm()&0o100 != 0 && s.goos != "windows":
		return 0o555
	}
	return 0o444
}

// apply makes the tree below root what it has to be.
func (s shape) apply(ctx context.Context, root string) error {
	if err := s.remove(root); err != nil {
		return fmt.Errorf("trim the tree: %w", err)
	}
	if s.goos != "windows" {
		if err := s.linkExecutables(root); err != nil {
			return fmt.Errorf("link the interpreter: %w", err)
		}
	}
	// A narrow umask has narrowed everything that was made so far.
	if err := os.Chmod(root, rootMode.Perm()); err != nil {
		return err
	}
	return walk(root, func(rel string, st fileState) error {
		if err := ctx.Err(); err != nil || st.mode.Type() == fs.ModeSymlink {
			return err
		}
		return os.Chmod(filepath.Join(root, filepath.FromSlash(rel)), s.mode(st.mode).Perm())
	})
}

func (s shape) remove(root string) error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == root || s.keeps(filepath.ToSlash(file[len(root)+1:])) {
			return err
		}
		if err := os.RemoveAll(file); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// linkExecutables turns the copies of the interpreter, which the module makes of
// links, back into links. The pinned digest proves that they were copies.
func (s shape) linkExecutables(root string) error {
	names, err := filepath.Glob(filepath.Join(root, "bin", "python*"))
	if err != nil {
		return err
	}
	for i, name := range names {
		names[i] = "bin/" + filepath.Base(name)
	}
	exe, err := s.executable(names)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == exe {
			continue
		}
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			return err
		}
		if err := os.Symlink(path.Base(exe), filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return nil
}
