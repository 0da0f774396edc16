package cpython

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Compile makes a byte-compiled copy of the current tree and makes it current. It
// is meant to run beside the first work: it takes seconds of low priority and does
// not touch the tree that is in use. If a compiled tree is there it returns that.
// The installation that [Ensure] returned stays valid until it is released.
func Compile(ctx context.Context, c Config) (Installation, error) {
	s, err := openStore(c)
	if err != nil {
		return Installation{}, err
	}
	unlock, err := s.lock(ctx, "compile.lock", "waiting for another process that compiles Python")
	if err != nil {
		return Installation{}, err
	}
	defer unlock()
	m, from, to, err := s.startCopy(ctx)
	if err != nil {
		return Installation{}, err
	}
	if m.Compiled {
		return s.installation(m, from)
	}
	defer from.lease.release()
	next, err := s.compile(ctx, m, from, to)
	if err != nil {
		s.discard(to)
		return Installation{}, s.roomError(err)
	}
	return s.finishCopy(ctx, from, to, next)
}

// startCopy holds the current tree, checked, and unless it is compiled makes an
// empty one beside it.
func (s *store) startCopy(ctx context.Context) (m manifest, from, to tree, err error) {
	unlock, err := s.lockTrees(ctx)
	if err != nil {
		return m, from, to, err
	}
	defer unlock()
	if m, from, err = s.holdCurrent(); err != nil {
		return m, from, to, err
	}
	if err = s.check(ctx, m, from); err == nil && !m.Compiled {
		to, err = s.newTree()
	}
	if err != nil {
		from.lease.release()
	}
	return m, from, to, s.roomError(err)
}

// finishCopy makes the copy current, unless the tree that it was made of was
// replaced meanwhile: then that is the better one.
func (s *store) finishCopy(ctx context.Context, from, to tree, next manifest) (Installation, error) {
	unlock, err := s.lockTrees(ctx)
	if err != nil {
		s.discard(to)
		return Installation{}, err
	}
	defer unlock()
	m, err := readManifest(s.manifestPath(), s.pin)
	if err != nil || m.Tree != from.name {
		s.discard(to)
		return s.current(ctx)
	}
	return s.publish(to, next)
}

// compile fills the tree to with a copy of from and its byte code.
func (s *store) compile(ctx context.Context, m manifest, from, to tree) (manifest, error) {
	s.config.Progress("byte-compiling Python " + m.Version)
	for _, e := range m.Entries {
		if err := ctx.Err(); err != nil {
			return manifest{}, err
		}
		if err := copyEntry(e, from.root(), to.root()); err != nil {
			return manifest{}, fmt.Errorf("copy the tree: %w", err)
		}
	}
	if err := compileTree(ctx, m, from, to); err != nil {
		return manifest{}, fmt.Errorf("byte-compile the tree: %w", err)
	}
	if err := (shape{runtime.GOOS}).apply(ctx, to.root()); err != nil {
		return manifest{}, err
	}
	entries, err := scan(ctx, to.root())
	if err != nil {
		return manifest{}, err
	}
	if got := digestOf(entries, false).String(); got != s.pin.Content {
		return manifest{}, fmt.Errorf("copied %s and found %s, but %s is embedded: the disk is faulty", from.root(), got, s.pin.Content)
	}
	return manifest{Compiled: true, Entries: entries}, s.config.sync(ctx, to.root())
}

// compileTree adds byte code to the tree to. The interpreter of from does it: the
// copy has just been written, and a process that this one starts meanwhile may for
// a moment have inherited the descriptor, which makes starting it fail (ETXTBSY).
func compileTree(ctx context.Context, m manifest, from, to tree) error {
	exe, err := executablePath(from.root(), m.Entries)
	if err != nil {
		return err
	}
	// The compiler outlives this process if that is killed; its hold on the
	// lease keeps others from sweeping the tree below it.
	inherit, err := to.lease.share()
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range inherit {
			_ = f.Close()
		}
	}()
	_, err = call{
		executable: exe, helper: "compile.py", noSite: true, inherit: inherit,
		args: []string{to.root(), filepath.Join(to.root(), libraryOf(m.Entries))},
	}.run(ctx)
	return err
}

// libraryOf is the directory of the standard library in a tree.
func libraryOf(entries []entry) string {
	i := slices.IndexFunc(entries, func(e entry) bool { return filepath.Base(e.Path) == "os.py" })
	if i < 0 {
		return "lib"
	}
	return filepath.Dir(filepath.FromSlash(entries[i].Path))
}

// copyEntry copies one directory, link or file. Directories come before what is
// in them because entries are sorted by path.
func copyEntry(e entry, from, to string) error {
	source, target := filepath.Join(from, filepath.FromSlash(e.Path)), filepath.Join(to, filepath.FromSlash(e.Path))
	switch {
	case e.Mode.IsDir():
		return os.Mkdir(target, 0o755)
	case e.Link != "":
		return os.Symlink(e.Link, target)
	}
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}
