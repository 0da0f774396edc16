package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// CheckPeer is nil when the process at the other end of c may ask: it belongs to the
// same user or to root. This system has no user namespaces.
func CheckPeer(c net.Conn) error {
	s, ok := c.(syscall.Conn)
	if !ok {
		return errors.New("who asks cannot be found out: it is no socket of the kernel")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return fmt.Errorf("who asks cannot be found out: %w", err)
	}
	var cred *unix.Xucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); err != nil || credErr != nil {
		return fmt.Errorf("who asks cannot be found out: %w", errors.Join(err, credErr))
	}
	if cred.Uid != 0 && int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("the asker is of uid %d, and only uid %d and root may ask", cred.Uid, os.Geteuid())
	}
	return nil
}
