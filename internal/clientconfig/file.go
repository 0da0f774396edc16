package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The modes of what is made new: configuration often holds tokens.
const (
	newFileMode = 0o600
	newDirMode  = 0o700
)

// maxFile is far above any real configuration: Claude Code keeps its history of
// projects in the same file, which reaches some megabytes.
const maxFile = 64 << 20

// file is a configuration file as it was read.
type file struct {
	path   string // with symbolic links resolved
	exists bool
	info   fs.FileInfo
	data   []byte
	// private has the new content readable for its owner alone, whatever it was.
	private bool
}

func openFile(t Target) (*file, error) {
	path, exists, err := resolve(t.Path)
	if err != nil {
		return nil, err
	}
	if err := staysWithin(t.Within, path); err != nil {
		return nil, err
	}
	f := &file{path: path, exists: exists}
	if !exists {
		return f, nil
	}
	if f.info, err = os.Stat(path); err != nil {
		return nil, err
	}
	switch {
	case !f.info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", path)
	case f.info.Size() > maxFile:
		return nil, fmt.Errorf("%s: %d bytes is too large for a configuration file", path, f.info.Size())
	}
	f.data, err = os.ReadFile(path)
	return f, err
}

// resolve follows symbolic links so that a linked file is edited where it is
// and the link stays. What does not exist yet is resolved as far as it does.
func resolve(path string) (resolved string, exists bool, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", false, err
	}
	resolved, err = filepath.EvalSymlinks(path)
	if err == nil {
		return resolved, true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", false, fmt.Errorf("%s: a symbolic link to a file that does not exist", path)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, false, nil
	}
	parent, _, err = resolve(parent)
	return filepath.Join(parent, filepath.Base(path)), false, err
}

func staysWithin(project, path string) error {
	if project == "" {
		return nil
	}
	root, _, err := resolve(project)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s lies outside the project %s: a symbolic link leads out of it", path, root)
	}
	return nil
}

// replace writes the new content by rename.
func (f *file) replace(data []byte) error {
	if err := os.MkdirAll(filepath.Dir(f.path), newDirMode); err != nil {
		return err
	}
	if err := f.stillTheSame(); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(f.path), ".gearbox-*.tmp")
	if err != nil {
		return err
	}
	err = f.fill(t, data)
	if err = errors.Join(err, t.Close()); err == nil {
		err = os.Rename(t.Name(), f.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", f.path, err), os.Remove(t.Name()))
	}
	return nil
}

// fill writes data into t, which gets the mode and owner of the original: under
// sudo the file would otherwise become root's.
func (f *file) fill(t *os.File, data []byte) error {
	if _, err := t.Write(data); err != nil {
		return err
	}
	mode := fs.FileMode(newFileMode)
	if f.exists {
		if !f.private {
			mode = f.info.Mode().Perm()
		}
		if err := keepOwner(t, f.info); err != nil {
			return err
		}
	}
	if err := t.Chmod(mode); err != nil {
		return err
	}
	return t.Sync()
}

// stillTheSame catches a client that rewrote its own file meanwhile. Between
// this look and the rename a moment remains, as there is no lock that clients keep.
func (f *file) stillTheSame() error {
	now, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !f.exists:
		return nil
	case err != nil:
		return err
	case !f.exists || !bytes.Equal(now, f.data):
		return fmt.Errorf("%s: changed while it was being edited: close the client and try again", f.path)
	}
	return nil
}

func (f *file) remove() error {
	if err := f.stillTheSame(); err != nil {
		return err
	}
	return os.Remove(f.path)
}

// backup keeps the content as it was read, under a name that was free.
func (f *file) backup(now time.Time) (string, error) {
	stamp := now.UTC().Format("20060102T150405Z")
	for n := range 100 {
		name := fmt.Sprintf("%s.gearbox-%s.%02d.bak", f.path, stamp, n)
		b, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFileMode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("keep a backup: %w", err)
		}
		err = f.fill(b, f.data)
		if err = errors.Join(err, b.Close()); err != nil {
			return "", errors.Join(fmt.Errorf("keep a backup: %w", err), os.Remove(name))
		}
		return name, nil
	}
	return "", fmt.Errorf("%s: too many backups of one second", f.path)
}

// kept is one backup.
type kept struct {
	path string
	data []byte
}

func (k kept) discard() error { return os.Remove(k.path) }

// backups are those of this file, newest first.
func (f *file) backups() ([]kept, error) {
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		return nil, err
	}
	var out []kept
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(f.path)+".gearbox-") || !strings.HasSuffix(e.Name(), ".bak") || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(filepath.Dir(f.path), e.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out = append(out, kept{path: path, data: data})
	}
	slices.Reverse(out) // ReadDir sorts by name, and the names by time
	return out, nil
}
