package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/net/netutil"

	"github.com/gearbox-mcp/gearbox/internal/socket"
)

// maxConnections bounds the connections over TCP. A waiting call holds one.
const maxConnections = 4096

// listener is one place where requests come in.
type listener struct {
	net.Listener
	name string // as clients write it
	// remove takes away what it leaves behind. It may be repeated.
	remove func() error
}

// Addresses are the places where requests come in: URLs, and paths of sockets.
func (s *Server) Addresses() []string {
	var out []string
	for _, l := range s.listeners {
		out = append(out, l.name)
	}
	return out
}

// ListenTCP adds a listener on host:port. Where no token was ever made, the host has
// to be a loopback address. cert and key are files in PEM; empty for no TLS.
func (s *Server) ListenTCP(ctx context.Context, address, cert, key string) error {
	addr, open, err := reach(address, s.c.Tokens)
	if err != nil {
		return err
	}
	if open {
		s.bearer.always.Store(true)
	}
	config, err := tlsConfig(cert, key)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr.String())
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	if host, _, err := net.SplitHostPort(address); err == nil && host != "" && addr.IP != nil && !addr.IP.IsUnspecified() {
		s.gate.hosts = append(s.gate.hosts, hostName(host)) // the operator's own name for it
	}
	name := "http://" + l.Addr().String()
	l = netutil.LimitListener(l, maxConnections)
	if config != nil {
		name, l = strings.Replace(name, "http", "https", 1), tls.NewListener(l, config)
	} else if !addr.IP.IsLoopback() {
		s.c.Logger.Warn("tokens and code travel unencrypted to " + name + ": give --tls-cert and --tls-key, or put a proxy with TLS in front")
	}
	s.listeners = append(s.listeners, &listener{l, name, func() error { return nil }})
	return nil
}

// reach resolves an address, reports whether other machines reach it, and refuses to let
// in everybody who does.
func reach(address string, known Tokens) (addr *net.TCPAddr, open bool, err error) {
	addr, err = net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, false, fmt.Errorf("--http %s: write it as 127.0.0.1:8080, or :8080 for every address of this machine: %w", address, err)
	}
	tokens, err := known.List()
	if err != nil {
		return nil, false, err
	}
	open = addr.IP == nil || !addr.IP.IsLoopback()
	if open && len(tokens) == 0 {
		return nil, false, fmt.Errorf("--http %s can be reached from other machines, and there is no token, so that everybody could run code here: make one with gearbox token create NAME, or listen on a loopback address such as 127.0.0.1:%d",
			address, addr.Port)
	}
	return addr, open, nil
}

// ListenUnix adds a listener on a socket of the file system with mode 0600. Its
// directory has to be the operator's own, so that nobody can put another socket in its
// place. A socket that a dead process left is replaced.
func (s *Server) ListenUnix(ctx context.Context, path string) (err error) {
	path, err = socketPath(path)
	if err != nil {
		return err
	}
	dir, name := filepath.Split(path)
	// Without the lock two starts at once could each find the socket of a dead process,
	// and one remove that of the other.
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("--unix %s: lock: %w", path, err)
	}
	if !ok {
		return fmt.Errorf("--unix %s: another server has it: choose another path, or stop that one", path)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Unlock())
		}
	}()
	if err := removeStale(ctx, dir, name); err != nil {
		return fmt.Errorf("--unix %s: %w", path, err)
	}
	l, err := socket.Listen(ctx, dir, name)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", path, err)
	}
	remove := func() error {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return lock.Unlock()
	}
	s.listeners = append(s.listeners, &listener{l, path, remove})
	return nil
}

// socketPath is the path in full of a socket that may be made there.
func socketPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("--unix: %w", err)
	}
	dir, _ := filepath.Split(path)
	if err := checkDirectory(dir); err != nil {
		return "", fmt.Errorf("--unix %s: %w", path, err)
	}
	if st, err := os.Lstat(path); err == nil && st.Mode().Type() != fs.ModeSocket {
		return "", fmt.Errorf("--unix %s: %w", path, errTaken)
	}
	return path, nil
}

// dialTime is how long it takes at most to find out whether somebody answers.
const dialTime = 2 * time.Second

// removeStale removes the socket of a process that is gone, and nothing else.
func removeStale(ctx context.Context, dir, name string) error {
	st, err := os.Lstat(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode().Type() != fs.ModeSocket:
		return errTaken
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := socket.Dial(ctx, dir, name)
	switch {
	case err == nil:
		return errors.Join(errors.New("another program answers there: choose another path, or stop it"), c.Close())
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(filepath.Join(dir, name))
	}
	return fmt.Errorf("whether somebody answers there cannot be found out: %w", err)
}
