package socket

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// CheckPeer is nil when the process at the other end of c may ask: it belongs to the
// same user or to root, and to this process's own user namespace. What cannot be
// found out is a refusal.
func CheckPeer(c net.Conn) error {
	p, err := peerOf(c)
	if err != nil {
		return fmt.Errorf("who asks cannot be found out: %w", err)
	}
	defer p.close()
	switch {
	case p.pid == 0:
		return errors.New("who asks is in another pid namespace, and cannot be seen from here")
	case p.uid != 0 && p.uid != os.Geteuid():
		return fmt.Errorf("process %d is of uid %d, and only uid %d and root may ask", p.pid, p.uid, os.Geteuid())
	}
	if err := p.sharesUserNamespace(); err != nil {
		return err
	}
	return p.stillThere()
}

// peer is the process that made a connection, at the moment when it made it.
type peer struct {
	pid, uid int
	// pidfd holds on to that very process, -1 where the kernel cannot (before 6.5).
	pidfd int
}

func peerOf(c net.Conn) (peer, error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return peer{}, errors.New("it is no socket of the kernel")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var cred *unix.Ucred
	var credErr, pidErr error
	pidfd := -1
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		pidfd, pidErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	}); err != nil {
		return peer{}, err
	}
	switch {
	case errors.Is(pidErr, unix.ENOPROTOOPT):
		pidfd = -1
	case pidErr != nil:
		return peer{}, fmt.Errorf("SO_PEERPIDFD: %w", pidErr) // it has ended already
	}
	if credErr != nil {
		p := peer{pidfd: pidfd}
		p.close()
		return peer{}, fmt.Errorf("SO_PEERCRED: %w", credErr)
	}
	return peer{pid: int(cred.Pid), uid: int(cred.Uid), pidfd: pidfd}, nil
}

func (p peer) close() {
	if p.pidfd >= 0 {
		_ = unix.Close(p.pidfd)
	}
}

func (p peer) sharesUserNamespace() error {
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return fmt.Errorf("which user namespace this is cannot be found out: %w", err)
	}
	theirs, err := os.Readlink(p.proc("ns/user"))
	switch {
	case err == nil && theirs == own:
		return nil
	case err == nil:
		return fmt.Errorf("process %d is in another user namespace, that of a sandbox or a container", p.pid)
	case p.uid == 0 && errors.Is(err, os.ErrPermission):
		return p.sharesUserMaps()
	}
	return fmt.Errorf("which user namespace process %d is in cannot be found out: %w", p.pid, err)
}

// sharesUserMaps stands in for the comparison of namespaces where the asker is root
// and this process is not: the kernel then shows the maps alone. Another namespace can
// have the same maps only if root gave it every user there is, and who is root in such
// a one has power over the files of this process anyway.
func (p peer) sharesUserMaps() error {
	for _, name := range []string{"uid_map", "gid_map"} {
		own, err := os.ReadFile("/proc/self/" + name)
		if err != nil {
			return fmt.Errorf("which user namespace this is cannot be found out: %w", err)
		}
		theirs, err := os.ReadFile(p.proc(name))
		if err != nil {
			return fmt.Errorf("which user namespace process %d is in cannot be found out: %w", p.pid, err)
		}
		if !bytes.Equal(own, theirs) {
			return fmt.Errorf("process %d is in another user namespace, that of a sandbox or a container", p.pid)
		}
	}
	return nil
}

// stillThere makes sure that what was read of the process id was read of the process
// that connected, and not of a later one with the same number: as long as the process
// is there its number is not given away.
func (p peer) stillThere() error {
	if p.pidfd < 0 {
		return nil
	}
	err := unix.PidfdSendSignal(p.pidfd, 0, nil, 0)
	if err == nil || errors.Is(err, unix.EPERM) { // root's processes take no signal from others
		return nil
	}
	return fmt.Errorf("process %d has ended: %w", p.pid, err)
}

func (p peer) proc(name string) string { return "/proc/" + strconv.Itoa(p.pid) + "/" + name }
