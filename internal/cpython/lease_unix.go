//go:build unix

package cpython

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// lease is a shared lock on a tree. It is a bare descriptor and not an os.File,
// because the garbage collector closes a forgotten file, and a caller that only
// remembers the paths of an [Installation] must keep its tree.
type lease struct {
	fd   int
	once sync.Once
}

func takeLease(path string) (*lease, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lease %s: %w", path, err)
	}
	if err := unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("take the lease %s: %w", path, err)
	}
	return &lease{fd: fd}, nil
}

func (l *lease) release() {
	if l != nil {
		l.once.Do(func() { _ = unix.Close(l.fd) })
	}
}

// share returns a file that keeps the lease when a child process inherits it:
// the lock lives as long as any descriptor of the same open file.
func (l *lease) share() ([]*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(l.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("share the lease: %w", err)
	}
	return []*os.File{os.NewFile(uintptr(fd), "lease")}, nil
}

// leased reports whether any process holds the lease. When in doubt it does.
func leased(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return !errors.Is(err, unix.ENOENT)
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil
}
