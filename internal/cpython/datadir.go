package cpython

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// prepare makes the data directory and the private directory inside it, and
// returns the latter's path without links.
func prepare(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no data directory is given")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data directory: %w", err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("resolve the data directory: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("resolve the data directory: %w", err)
	}
	private := filepath.Join(dir, "python")
	if err := os.Mkdir(private, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the directory of the interpreter: %w", err)
	}
	if err := checkOwned(dir, 0o022); err != nil {
		return "", err
	}
	if err := checkOwned(private, 0o077); err != nil {
		return "", err
	}
	return private, checkAncestors(dir)
}

// checkOwned refuses a directory that is another user's, or that grants others
// any of the permissions in forbidden.
func checkOwned(dir string, forbidden fs.FileMode) error {
	st, err := lstat(dir)
	if err != nil {
		return fmt.Errorf("check %s: %w", dir, err)
	}
	switch {
	case !st.mode.IsDir():
		return &DirectoryError{Path: dir, What: "is not a directory", Hint: "choose another data directory with --data-dir"}
	case !st.ours():
		return &DirectoryError{
			Path: dir, What: fmt.Sprintf("belongs to uid %d, not to %d", st.uid, os.Geteuid()),
			Hint: "run as its owner, or choose another data directory with --data-dir",
		}
	case privateModes && st.mode.Perm()&forbidden != 0:
		return &DirectoryError{
			Path: dir, What: fmt.Sprintf("has mode %04o, which lets other users in", st.mode.Perm()),
			Hint: "chmod 700 " + dir,
		}
	}
	return nil
}

// checkAncestors refuses a path on which any user could swap a directory: one
// that everybody may write and that has no sticky bit.
func checkAncestors(dir string) error {
	for up := filepath.Dir(dir); privateModes; up = filepath.Dir(up) {
		info, err := os.Lstat(up)
		if err != nil {
			return fmt.Errorf("check %s: %w", up, err)
		}
		if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return &DirectoryError{
				Path: up, What: "can be written by every user, who could replace what is below it",
				Hint: "chmod o-w " + up,
			}
		}
		if up == filepath.Dir(up) {
			return nil
		}
	}
	return nil
}
