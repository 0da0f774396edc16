package cpython

import (
	"context"
	"errors"
	"fmt"
)

// Ensure returns the embedded interpreter, unpacking it if this version is not
// there yet. A tree that was there is checked quickly first. On the first start
// the tree is not byte-compiled: call [Compile] beside the first work.
//
// The caller holds the tree until [Installation.Release] or its end. Errors are a
// [DirectoryError], a [TamperedError], a [SpaceError], or those of the system.
func Ensure(ctx context.Context, c Config) (Installation, error) {
	s, err := openStore(c)
	if err != nil {
		return Installation{}, err
	}
	unlock, err := s.lockTrees(ctx)
	if err != nil {
		return Installation{}, err
	}
	defer unlock()
	inst, err := s.current(ctx)
	if errors.Is(err, ErrNotUnpacked) {
		return s.install(ctx)
	}
	return inst, err
}

// Repair unpacks a fresh tree whatever the present one looks like. Processes that
// run the present one keep it until they end.
func Repair(ctx context.Context, c Config) (Installation, error) {
	s, err := openStore(c)
	if err != nil {
		return Installation{}, err
	}
	unlock, err := s.lockTrees(ctx)
	if err != nil {
		return Installation{}, err
	}
	defer unlock()
	return s.install(ctx)
}

// current checks the tree that the manifest names and takes a lease on it. The
// lock on the trees must be held.
func (s *store) current(ctx context.Context) (Installation, error) {
	m, t, err := s.holdCurrent()
	if err != nil {
		return Installation{}, err
	}
	if err := s.check(ctx, m, t); err != nil {
		t.lease.release()
		return Installation{}, err
	}
	s.sweep(m.Tree)
	return s.installation(m, t)
}

// holdCurrent reads the manifest and takes a lease on its tree, unchecked.
func (s *store) holdCurrent() (manifest, tree, error) {
	m, err := readManifest(s.manifestPath(), s.pin)
	if err != nil {
		return manifest{}, tree{}, err
	}
	t, err := s.hold(m.Tree)
	if err != nil {
		what := fmt.Sprintf("cannot be held: %v", err)
		return manifest{}, tree{}, &TamperedError{Path: t.dir, What: what, Hint: repairHint}
	}
	return m, t, nil
}

// install unpacks a new tree and makes it current. The lock on the trees must be
// held.
func (s *store) install(ctx context.Context) (Installation, error) {
	current := ""
	if m, err := readManifest(s.manifestPath(), s.pin); err == nil {
		current = m.Tree
	}
	s.sweep(current)
	t, err := s.newTree()
	if err != nil {
		return Installation{}, s.roomError(err)
	}
	entries, err := s.unpack(ctx, t.root())
	if err != nil {
		s.discard(t)
		return Installation{}, s.roomError(err)
	}
	return s.publish(t, manifest{Entries: entries})
}

// publish makes a finished tree the current one. The lock on the trees must be held.
func (s *store) publish(t tree, m manifest) (Installation, error) {
	m.Format, m.Tree, m.Version, m.Content = manifestFormat, t.name, s.pin.Version, s.pin.Content
	if err := m.write(s.manifestPath()); err != nil {
		s.discard(t)
		return Installation{}, s.roomError(err)
	}
	s.sweep(t.name)
	return s.installation(m, t)
}

func (s *store) installation(m manifest, t tree) (Installation, error) {
	exe, err := executablePath(t.root(), m.Entries)
	if err != nil {
		t.lease.release()
		return Installation{}, err
	}
	return Installation{
		Root: t.root(), Executable: exe, Version: m.Version, Embedded: true, Compiled: m.Compiled,
		Digest: digestOf(m.Entries, true), Content: digestOf(m.Entries, false), lease: t.lease,
	}, nil
}
