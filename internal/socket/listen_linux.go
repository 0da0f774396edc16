package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listen makes the socket dir/name with mode 0600.
func Listen(ctx context.Context, dir, name string) (net.Listener, error) {
	var modeErr error
	// A socket file gets the mode of its socket at the moment of binding, so that no
	// other user can connect in between.
	c := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		err := raw.Control(func(fd uintptr) { modeErr = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, modeErr)
	}}
	var l net.Listener
	err := within(dir, name, func(path string) (err error) {
		l, err = c.Listen(ctx, "unix", path)
		return err
	})
	if err != nil {
		return nil, err
	}
	// The short path is of use for this moment alone; whoever listens removes the file.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, nil
}

// Dial connects with the socket dir/name.
func Dial(ctx context.Context, dir, name string) (net.Conn, error) {
	var c net.Conn
	err := within(dir, name, func(path string) (err error) {
		c, err = new(net.Dialer).DialContext(ctx, "unix", path)
		return err
	})
	if e := new(net.OpError); errors.As(err, &e) {
		err = fmt.Errorf("connect with %s: %w", filepath.Join(dir, name), e.Err) // the short path says nothing
	}
	return c, err
}

// within calls f with a short path for dir/name: the address of a socket holds 108
// bytes (unix(7)), and data directories can be longer than that.
func within(dir, name string, f func(path string) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	path := fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name)
	if over := len(path) + 1 - len(unix.RawSockaddrUnix{}.Path); over > 0 { // a zero byte ends it
		return fmt.Errorf("the name %q of the socket is %d bytes longer than the 108 bytes of a socket's address allow: choose a shorter one", name, over)
	}
	return f(path)
}
