package sidecar

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// lease tells the other processes of a data directory that this one is alive. It
// is a file lock: the kernel frees it when the process dies, however it dies, so
// that nobody has to guess from times or process ids.
type lease struct{ lock *flock.Flock }

func takeLease(dataDir string) (*lease, error) {
	dir, err := makeDir(dataDir, "instances")
	if err != nil {
		return nil, err
	}
	if err := sweep(dir); err != nil {
		return nil, err
	}
	for range leaseAttempts {
		l, err := tryLease(filepath.Join(dir, string(execution.NewID())+".lease"))
		if l != nil || err != nil {
			return l, err
		}
	}
	return nil, errors.New("take the instance lease: other processes keep removing it")
}

// leaseAttempts is how often a start tries again when another start has swept a
// lease away in the instant between its making and its locking.
const leaseAttempts = 10

// tryLease is nil without an error when the file is no longer the one that was locked.
func tryLease(path string) (*lease, error) {
	l := flock.New(path, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("take the instance lease: %w", err)
	}
	if !ok {
		return nil, nil // a sweep holds it, and removes it
	}
	ours, err := l.Stat()
	if err != nil {
		return nil, fmt.Errorf("take the instance lease: %w", err)
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(ours, there) {
		return nil, l.Unlock()
	}
	return &lease{l}, nil
}

// sweep removes the leases of dead processes.
func sweep(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.lease"))
	if err != nil {
		return fmt.Errorf("list instance leases: %w", err)
	}
	for _, p := range paths {
		l := flock.New(p, flock.SetFlag(os.O_RDWR))
		ok, err := l.TryLock()
		if errors.Is(err, os.ErrNotExist) {
			continue // its owner has just removed it
		}
		if err != nil {
			return fmt.Errorf("look at the instance lease %s: %w", p, err)
		}
		if !ok {
			continue
		}
		// The lock is ours, so no living process owns the file. Removing it
		// while the lock is held leaves no moment for a second owner.
		if err := errors.Join(remove(p), l.Unlock()); err != nil {
			return fmt.Errorf("remove a dead instance's lease: %w", err)
		}
	}
	return nil
}

func (l *lease) release() error {
	return errors.Join(remove(l.lock.Path()), l.lock.Unlock())
}

// remove removes a file that another process may have removed already.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
