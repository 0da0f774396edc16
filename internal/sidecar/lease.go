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
	l := flock.New(filepath.Join(dir, string(execution.NewID())+".lease"), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("take the instance lease: %w", err)
	}
	if !ok {
		return nil, errors.New("take the instance lease: another process holds a lease with a fresh random name")
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
		if err := errors.Join(os.Remove(p), l.Unlock()); err != nil {
			return fmt.Errorf("remove a dead instance's lease: %w", err)
		}
	}
	return nil
}

func (l *lease) release() error {
	return errors.Join(os.Remove(l.lock.Path()), l.lock.Unlock())
}
