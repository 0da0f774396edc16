package cpython

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	treePrefix = "tree-"
	// lockRetry is how often a lock that another process holds is tried again:
	// short beside the second that unpacking takes.
	lockRetry = 20 * time.Millisecond
)

// store is the private directory with the trees of one data directory. The
// package documentation says what lies where.
type store struct {
	dir    string
	pin    pin
	config Config
}

func openStore(c Config) (*store, error) {
	p, err := currentPin()
	if err != nil {
		return nil, err
	}
	dir, err := prepare(c.Dir)
	if err != nil {
		return nil, err
	}
	return &store{dir: dir, pin: p, config: c.withDefaults()}, nil
}

func (s *store) manifestPath() string { return filepath.Join(s.dir, "manifest.json") }

// lock waits for the named lock. The kernel frees it when its holder dies.
func (s *store) lock(ctx context.Context, name, waiting string) (unlock func(), err error) {
	l := flock.New(filepath.Join(s.dir, name), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err == nil && !ok {
		s.config.Progress(waiting)
		_, err = l.TryLockContext(ctx, lockRetry)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.Path(), err)
	}
	return func() { _ = l.Close() }, nil
}

func (s *store) lockTrees(ctx context.Context) (unlock func(), err error) {
	return s.lock(ctx, "lock", "waiting for another process that prepares Python")
}

// tree is one unpacked interpreter and this process's hold on it.
type tree struct {
	name  string
	dir   string
	lease *lease
}

func (t tree) root() string { return filepath.Join(t.dir, "python") }

// newTree makes an empty tree. The lock on the trees must be held, or a sweep
// could see the tree before its lease.
func (s *store) newTree() (tree, error) {
	var b [4]byte
	_, _ = rand.Read(b[:])
	name := treePrefix + hex.EncodeToString(b[:])
	if err := os.Mkdir(filepath.Join(s.dir, name), 0o755); err != nil {
		return tree{}, fmt.Errorf("make a tree: %w", err)
	}
	t, err := s.hold(name)
	if err != nil {
		return tree{}, err
	}
	if err := os.Mkdir(t.root(), 0o755); err != nil {
		s.discard(t)
		return tree{}, fmt.Errorf("make a tree: %w", err)
	}
	return t, nil
}

// hold takes the lease of a tree. The lock on the trees must be held.
func (s *store) hold(name string) (tree, error) {
	t := tree{name: name, dir: filepath.Join(s.dir, name)}
	var err error
	t.lease, err = takeLease(filepath.Join(t.dir, "lease"))
	return t, err
}

// discard removes a tree that never became current.
func (s *store) discard(t tree) {
	t.lease.release()
	s.remove(t.name)
}

// sweep removes every tree but the one to keep that no living process uses: what
// killed processes left, and what newer trees replaced. The lock on the trees must
// be held.
func (s *store) sweep(keep string) {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		s.config.Logger.Warn("sweep old interpreters", "path", s.dir, "error", err)
		return
	}
	for _, d := range names {
		if !strings.HasPrefix(d.Name(), treePrefix) || d.Name() == keep {
			continue
		}
		if !leased(filepath.Join(s.dir, d.Name(), "lease")) {
			s.remove(d.Name())
		}
	}
}

func (s *store) remove(name string) {
	if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
		s.config.Logger.Warn("remove an old interpreter", "path", name, "error", err)
	}
}
