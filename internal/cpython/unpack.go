package cpython

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	embedded "github.com/kluctl/go-embed-python/python"
)

// extractEmbedded unpacks the embedded interpreter into dir, which is empty. The
// module cannot be interrupted; it takes a second or two.
func extractEmbedded(dir string) error {
	_, err := embedded.NewEmbeddedPythonWithTmpDir(dir, false)
	// The module reads each file whole, 160 MB in sum, none of it needed again.
	debug.FreeOSMemory()
	return errors.Join(err, os.RemoveAll(dir+".lock"))
}

// unpack fills an empty directory with the embedded interpreter, trimmed and
// proven to be the one that was embedded.
func (s *store) unpack(ctx context.Context, root string) ([]entry, error) {
	s.config.Progress("unpacking Python " + s.pin.Version)
	if err := s.pin.placeholders(root); err != nil {
		return nil, fmt.Errorf("prepare the tree: %w", err)
	}
	if err := s.config.extract(root); err != nil {
		return nil, fmt.Errorf("unpack the interpreter: %w", err)
	}
	if err := (shape{runtime.GOOS}).apply(ctx, root); err != nil {
		return nil, err
	}
	entries, err := scan(ctx, root)
	if err != nil {
		return nil, err
	}
	if got := digestOf(entries, true).String(); got != s.pin.Content {
		return nil, fmt.Errorf("unpacked %s and found %s, but %s is embedded: the disk or the build is faulty", root, got, s.pin.Content)
	}
	return entries, s.config.sync(ctx, root)
}

// placeholders puts files without blocks where the module would write what is
// trimmed afterwards, two thirds of everything: it skips what is there in the
// right size. Were it not to, unpacking would only take longer.
func (p pin) placeholders(root string) error {
	for name, size := range p.Unwanted {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return err
		}
		if err := os.Truncate(file, size); err != nil {
			return err
		}
	}
	return nil
}

// roomError turns the system's word for a full disk into one that says what is
// needed.
func (s *store) roomError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, errQuota) {
		return &SpaceError{Path: s.dir, Needed: s.pin.Unpacked, Err: err}
	}
	return err
}

func sortEntries(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.Path, b.Path) })
}

// executablePath is where the interpreter lies in a tree.
func executablePath(root string, entries []entry) (string, error) {
	s := shape{runtime.GOOS}
	var names []string
	for _, e := range entries {
		if s.isExecutable(e.Path) && e.Mode.IsRegular() {
			names = append(names, e.Path)
		}
	}
	exe, err := s.executable(names)
	return filepath.Join(root, filepath.FromSlash(exe)), err
}
