// Package instance is the place of one process among those that share a data
// directory. Each holds a lease, a file lock that the kernel frees when the process
// dies, and listens beside it on a socket, by which the operator's own commands ask
// it: any process can find the others and speak with them.
//
// What belongs here: who is alive, who may ask, and the way there and back. What is
// asked and answered is a matter of whoever hands in the handler.
//
// # Protocol
//
// HTTP/1.1 over a stream socket of the file system, <data-dir>/instances/ID.sock,
// mode 0600, beside ID.lease. ID begins with the process id. Answers are JSON; one
// with another status than 200 is {"error": "a sentence"}.
//
// A connection is answered when the kernel vouches for its other end: the same user
// or root, and a process of this user namespace. Everybody else gets 403 and a line
// in the log, and no handler sees the request. Sandboxes and containers have user
// namespaces of their own, so that a program in one cannot ask even if the socket's
// path was shown to it.
//
// # Invariants
//
//   - A socket exists only while its lease does: it is made after the lease is taken
//     and removed before the lease is. Whoever finds a lease of a dead process
//     removes both while holding the lock.
//   - Where the other end cannot be checked there is no socket.
package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/gearbox-mcp/gearbox/internal/socket"
)

// folder is the directory of leases and sockets below the data directory.
const folder = "instances"

// ID names one instance. It holds the process id and is never used twice.
type ID string

func newID() ID { return ID(strconv.Itoa(os.Getpid()) + "-" + rand.Text()) }

// PID is the process id as the instance itself saw it, 0 when the name holds none.
func (id ID) PID() int {
	digits, _, _ := strings.Cut(string(id), "-")
	pid, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return pid
}

func (id ID) lease() string { return string(id) + leaseSuffix }

func (id ID) socket() string { return string(id) + socketSuffix }

const (
	leaseSuffix  = ".lease"
	socketSuffix = ".sock"
)

// Instance is this process among those of a data directory. Leave ends it.
type Instance struct {
	id     ID
	dir    string
	lock   *flock.Flock
	server *http.Server  // nil until Answer
	served chan struct{} // closed when the server has ended
}

// Join takes a lease in the data directory and sweeps away what dead processes left
// there.
func Join(dataDir string) (*Instance, error) {
	dir := filepath.Join(dataDir, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if _, err := Live(dataDir); err != nil {
		return nil, err
	}
	for range attempts {
		i, err := join(dir, newID())
		if i != nil || err != nil {
			return i, err
		}
	}
	return nil, errors.New("take the instance lease: other processes keep removing it")
}

// attempts is how often a start tries again when another process has swept a lease
// away in the instant between its making and its locking.
const attempts = 10

// join is nil without an error when the file is no longer the one that was locked.
func join(dir string, id ID) (*Instance, error) {
	path := filepath.Join(dir, id.lease())
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
	if there, err := os.Lstat(path); err != nil || !os.SameFile(ours, there) {
		return nil, l.Unlock()
	}
	return &Instance{id: id, dir: dir, lock: l}, nil
}

// ID names this instance.
func (i *Instance) ID() ID { return i.id }

// Answer lets h answer those who may ask, until Leave. It returns once they can
// connect, and is called at most once. The error wraps [errors.ErrUnsupported] on
// systems that do not tell who is at the other end of a socket.
func (i *Instance) Answer(ctx context.Context, h http.Handler, log *slog.Logger) error {
	l, err := socket.Listen(ctx, i.dir, i.id.socket())
	if err != nil {
		return fmt.Errorf("listen for questions about this instance: %w", err)
	}
	i.server, i.served = newServer(h, log), make(chan struct{})
	go func() {
		defer close(i.served)
		if err := i.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("this instance answers no more questions", "error", err)
		}
	}()
	return nil
}

// Leave ends the answers and gives the lease back.
func (i *Instance) Leave() error {
	var errs []error
	if i.server != nil {
		errs = append(errs, i.server.Close())
		<-i.served
	}
	errs = append(errs, bury(i.dir, i.id), i.lock.Unlock())
	return errors.Join(errs...)
}

// bury removes what lies in the directory for an instance; its lock is held.
func bury(dir string, id ID) error {
	return errors.Join(remove(filepath.Join(dir, id.socket())), remove(filepath.Join(dir, id.lease())))
}

// remove removes a file that another process may have removed already.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
