package cpython

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Difference is one file that is not as the manifest says.
type Difference struct {
	// Path is relative to the root of the tree.
	Path string `json:"path"`
	What string `json:"what"`
}

// Report is what a full check of a tree found.
type Report struct {
	Root        string       `json:"root"`
	Version     string       `json:"version"`
	Compiled    bool         `json:"compiled"`
	Files       int          `json:"files"`
	Differences []Difference `json:"differences,omitempty"`
}

// Err is nil for a sound tree and a [TamperedError] for any other.
func (r Report) Err() error {
	if len(r.Differences) == 0 {
		return nil
	}
	d := r.Differences[0]
	return &TamperedError{
		Path: filepath.Join(r.Root, filepath.FromSlash(d.Path)), What: d.What,
		Others: len(r.Differences) - 1, Hint: repairHint,
	}
}

// checker compares a tree with its manifest.
type checker struct {
	root    string
	entries map[string]entry
	// contents hashes every file; otherwise touched counts the files whose
	// times or inode differ, which says that contents must be hashed.
	contents bool
	touched  int
	// fresh is what was seen of a file before its contents were found right: a
	// change after that shows against it.
	fresh map[string]fileState
	seen  int
	found []Difference
}

func newChecker(root string, m manifest, contents bool) *checker {
	c := &checker{
		root: root, contents: contents,
		entries: make(map[string]entry, len(m.Entries)), fresh: map[string]fileState{},
	}
	for _, e := range m.Entries {
		c.entries[e.Path] = e
	}
	return c
}

func (c *checker) run(ctx context.Context, m manifest) error {
	c.compareRoot()
	seen := make(map[string]bool, len(m.Entries))
	err := walk(c.root, func(rel string, st fileState) error {
		seen[rel] = true
		if err := ctx.Err(); err != nil {
			return err
		}
		what, err := c.compare(rel, st)
		if what != "" {
			c.found = append(c.found, Difference{Path: rel, What: what})
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("check the tree %s: %w", c.root, err)
	}
	c.seen = len(seen)
	for _, e := range m.Entries {
		if !seen[e.Path] {
			c.found = append(c.found, Difference{Path: e.Path, What: "is missing"})
		}
	}
	return nil
}

// compareRoot looks at the one directory that no entry describes.
func (c *checker) compareRoot() {
	st, err := lstat(c.root)
	if err == nil && (st.mode != rootMode || !st.ours()) {
		c.found = append(c.found, Difference{Path: ".", What: fmt.Sprintf("is %s with mode %s of uid %d", kind(st.mode), st.mode, st.uid)})
	}
}

// rootMode is the mode of the directory that holds a tree.
const rootMode = fs.ModeDir | 0o755

// compare says what is wrong with one file, nothing if nothing is.
func (c *checker) compare(rel string, st fileState) (string, error) {
	e, ok := c.entries[rel]
	switch {
	case !ok:
		return "does not belong there", nil
	case st.mode.Type() != e.Mode.Type():
		return fmt.Sprintf("is %s, not %s", kind(st.mode), kind(e.Mode)), nil
	case !st.ours():
		return fmt.Sprintf("belongs to uid %d", st.uid), nil
	case st.mode != e.Mode:
		return fmt.Sprintf("has mode %s, not %s", st.mode, e.Mode), nil
	case e.Mode.IsDir():
		return "", nil
	case e.Mode.Type() == fs.ModeSymlink:
		return c.compareLink(rel, e)
	case st.size != e.Size:
		return fmt.Sprintf("has %d bytes, not %d", st.size, e.Size), nil
	case c.contents:
		c.fresh[rel] = st
		return c.compareContents(rel, e)
	}
	if st.modified != e.Modified || st.changed != e.Changed || st.inode != e.Inode {
		c.touched++
	}
	return "", nil
}

func (c *checker) compareLink(rel string, e entry) (string, error) {
	to, err := os.Readlink(filepath.Join(c.root, filepath.FromSlash(rel)))
	if err == nil && to != e.Link {
		return fmt.Sprintf("leads to %s, not to %s", to, e.Link), nil
	}
	return "", err
}

func (c *checker) compareContents(rel string, e entry) (string, error) {
	sum, err := hashFile(filepath.Join(c.root, filepath.FromSlash(rel)))
	if err == nil && sum != e.Sum {
		return "has other contents", nil
	}
	return "", err
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m.IsRegular():
		return "a file"
	case m.Type() == fs.ModeSymlink:
		return "a link"
	}
	return "a special file"
}

func (c *checker) report(m manifest) Report {
	return Report{Root: c.root, Version: m.Version, Compiled: m.Compiled, Files: c.seen, Differences: c.found}
}

// check is the quick check of a start. When files were only touched, which a
// restored backup and a forged mtime both look like, their contents decide; a
// sound tree is then sealed again. The lock on the trees must be held.
func (s *store) check(ctx context.Context, m manifest, t tree) error {
	quick := newChecker(t.root(), m, false)
	if err := quick.run(ctx, m); err != nil {
		return err
	}
	if err := quick.report(m).Err(); err != nil || quick.touched == 0 {
		return err
	}
	s.config.Progress("checking every file of Python " + m.Version)
	full := newChecker(t.root(), m, true)
	if err := full.run(ctx, m); err != nil {
		return err
	}
	if err := full.report(m).Err(); err != nil {
		return err
	}
	s.config.Logger.Info("sealed the interpreter again", "path", t.root(), "touched", quick.touched)
	for i, e := range m.Entries {
		if st, ok := full.fresh[e.Path]; ok {
			m.Entries[i].Modified, m.Entries[i].Changed, m.Entries[i].Inode = st.modified, st.changed, st.inode
		}
	}
	return s.roomError(m.write(s.manifestPath()))
}

// Verify reads every file of the current tree below the data directory and names
// each that is not as it was unpacked. It returns [ErrNotUnpacked] when there is
// none. Findings are in the report; an error means that it could not be made.
func Verify(ctx context.Context, dir string) (Report, error) {
	s, err := openStore(Config{Dir: dir})
	if err != nil {
		return Report{}, err
	}
	m, t, err := s.holdLocked(ctx)
	if err != nil {
		return Report{}, err
	}
	defer t.lease.release()
	full := newChecker(t.root(), m, true)
	err = full.run(ctx, m)
	return full.report(m), err
}

// holdLocked is [store.holdCurrent] under the lock on the trees.
func (s *store) holdLocked(ctx context.Context) (manifest, tree, error) {
	unlock, err := s.lockTrees(ctx)
	if err != nil {
		return manifest{}, tree{}, err
	}
	defer unlock()
	return s.holdCurrent()
}
