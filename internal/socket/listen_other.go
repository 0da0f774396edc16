//go:build !linux

package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// maxAddress is what the address of a socket holds on the BSDs, macOS among them.
const maxAddress = 103

// Listen makes the socket dir/name with mode 0600, where the other end of a
// connection can be checked.
func Listen(ctx context.Context, dir, name string) (net.Listener, error) {
	if runtime.GOOS != "darwin" {
		return nil, fmt.Errorf("%s does not tell who is at the other end of a socket: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	path := filepath.Join(dir, name)
	if len(path) > maxAddress {
		return nil, fmt.Errorf("the path %s is longer than the %d bytes of a socket's address: choose a shorter one", path, maxAddress)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // whoever listens removes the file
	// The directory is private, so that nobody else can connect in between.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Dial connects with the socket dir/name.
func Dial(ctx context.Context, dir, name string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, name))
}
