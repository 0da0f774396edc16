//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
)

// source is one fork server and its children.
type source struct {
	backend *Backend
	server  *server
	outside outside
	watcher *watcher
	level   execution.Level
	shape   sandbox.Shape
	sealed  bridge.ArmLimits
	home    *shelter // nil where there are mounts
	// socketRoom is what one socket of a child may hold.
	socketRoom execution.Bytes
	// disbanding are the removals of control groups that are under way.
	disbanding sync.WaitGroup
	done       chan struct{}

	mu       sync.Mutex // guards what follows
	next     int
	children map[int]*child
	closing  bool
}

var _ sandbox.Source = (*source)(nil)

func newSource(b *Backend, s *server, level execution.Level, shape sandbox.Shape, sealed bridge.ArmLimits, home *shelter) (*source, error) {
	out, err := newOutside(s.process.Pid, level, b.identity)
	if err != nil {
		s.stop()
		<-s.exited
		return nil, err
	}
	src := &source{
		backend: b, server: s, level: level, shape: shape, sealed: sealed, home: home, outside: out, watcher: newWatcher(),
		done: make(chan struct{}), children: map[int]*child{}, socketRoom: socketRoom(),
	}
	if home != nil && b.identity.root {
		src.watcher.as = &b.identity
	}
	go src.listen()
	return src, nil
}

// Level is what was built: a child that lacks a part of it is not made.
func (s *source) Level() execution.Level { return s.level }

// Done is closed when the fork server is dead.
func (s *source) Done() <-chan struct{} { return s.done }

// Close kills the fork server; the kernel kills the children with it.
func (s *source) Close() error {
	s.mu.Lock()
	s.closing = true
	for _, c := range s.children {
		c.setCause(sandbox.CauseShutdown)
	}
	s.mu.Unlock()
	s.server.stop()
	<-s.done
	return nil
}

// order is what the fork server is told to make.
type order struct {
	ID    int    `json:"id"`
	Warm  bool   `json:"warm"`
	Place string `json:"place"`
}

// message is what the fork server says about a child.
type message struct {
	ID     int     `json:"id"`
	Event  string  `json:"event"`
	Error  string  `json:"error"`
	Status int     `json:"status"`
	CPU    float64 `json:"cpu"`
	Peak   int64   `json:"peak"`
}

// listen delivers the fork server's messages until it hangs up, then sees to it
// that nothing of it is left and that nobody waits in vain.
func (s *source) listen() {
	err := s.deliverAll()
	s.server.stop()
	<-s.server.exited
	s.watcher.stop()
	s.mu.Lock()
	children, closing := s.children, s.closing
	s.children = nil
	s.mu.Unlock()
	if !closing {
		s.backend.config.Logger.Error("fork server ended", "error", err)
	}
	for _, c := range children {
		c.outlast()
		c.orphan(fmt.Errorf("%w: %w%s", sandbox.ErrSourceDead, err, s.server.errors.suffix()))
	}
	s.disbanding.Wait()
	if s.home != nil {
		if err := s.home.close(); err != nil {
			s.backend.config.Logger.Warn("a directory of the sandbox is left behind", "error", err)
		}
	}
	close(s.done)
}

func (s *source) deliverAll() error {
	data, rights := make([]byte, maxDatagram), make([]byte, unix.CmsgSpace(4*4))
	for {
		n, nr, _, _, err := s.server.control.ReadMsgUnix(data, rights)
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err != nil {
			return err
		}
		fds, err := receivedDescriptors(rights[:nr])
		if err != nil {
			return err
		}
		if err := s.deliver(data[:n], fds); err != nil {
			closeAll(fds)
			return err
		}
	}
}

func (s *source) deliver(data []byte, fds []int) error {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("bad message of the fork server: %w", err)
	}
	s.mu.Lock()
	c := s.children[m.ID]
	if m.Event == "ended" || m.Event == "failed" {
		delete(s.children, m.ID)
	}
	s.mu.Unlock()
	if c == nil {
		return fmt.Errorf("fork server speaks of an unknown child %d", m.ID)
	}
	switch {
	case m.Event == "started" && len(fds) == 2:
		c.born(fds[0], fds[1])
	case m.Event == "ended" && len(fds) == 0:
		c.finish(m)
	case m.Event == "failed" && len(fds) == 0:
		c.orphan(fmt.Errorf("fork server: %s", m.Error))
	default:
		return fmt.Errorf("unexpected message %q of the fork server", m.Event)
	}
	return nil
}

func receivedDescriptors(rights []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, m := range messages {
		got, err := unix.ParseUnixRights(&m)
		if err != nil {
			closeAll(fds)
			return nil, err
		}
		fds = append(fds, got...)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// Start makes one child and returns when it is parked and was checked.
func (s *source) Start(ctx context.Context, warm bool) (sandbox.Child, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c, err := s.request(warm)
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx, c); err != nil {
		c.Kill(sandbox.CauseAbandoned)
		c.streams.close()
		if s.server.isStopped() && !errors.Is(err, sandbox.ErrSourceDead) {
			err = fmt.Errorf("%w: %w", sandbox.ErrSourceDead, err)
		}
		return nil, fmt.Errorf("start child: %w", err)
	}
	c.hand()
	return c, nil
}

// request registers a child and asks the fork server for it.
func (s *source) request(warm bool) (*child, error) {
	ours, theirs, err := newStreams(s.backend.identity)
	if err != nil {
		return nil, fmt.Errorf("make streams: %w", err)
	}
	defer theirs.close()
	group, doors, err := s.newGroup()
	if err != nil {
		ours.close()
		return nil, fmt.Errorf("make control group: %w", err)
	}
	defer closeFiles(doors)
	c, err := s.register(ours, group)
	if err != nil {
		ours.close()
		if group != nil {
			err = errors.Join(err, group.Close(letGo))
		}
		return nil, err
	}
	data, err := json.Marshal(order{ID: c.id, Warm: warm, Place: c.place})
	if err == nil {
		// Not under the mutex: listen needs it to make room in the other direction.
		_, _, err = s.server.control.WriteMsgUnix(data, unix.UnixRights(descriptors(append(theirs.files(), doors...))...), nil)
	}
	if err != nil {
		// listen finds the same end and ends the child.
		s.server.stop()
		<-c.ended
		return nil, fmt.Errorf("%w: %w", sandbox.ErrSourceDead, err)
	}
	return c, nil
}

func (s *source) register(ours streams, group *cgroup.Group) (*child, error) {
	place := ""
	if s.home != nil {
		var err error
		place, err = s.home.place()
		switch {
		case err != nil && s.server.isStopped():
			return nil, sandbox.ErrSourceDead
		case err != nil:
			return nil, fmt.Errorf("make the child's directory: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.children == nil {
		return nil, sandbox.ErrSourceDead // and its home is removed as a whole
	}
	s.next++
	c := newChild(s, s.next, ours)
	c.place, c.group = place, group
	s.children[c.id] = c
	return c, nil
}

// settle waits until the child is parked and looks at it from outside.
func (s *source) settle(ctx context.Context, c *child) error {
	select {
	case <-c.started:
	case <-c.ended:
		return c.explain(ctx, errGone)
	case <-ctx.Done():
		return fmt.Errorf("wait for the fork: %w", ctx.Err())
	}
	if err := c.readHello(ctx); err != nil {
		return c.explain(ctx, err)
	}
	if err := s.inspect(c); err != nil {
		s.distrust(c, err)
		return fmt.Errorf("child is not sealed: %w", err)
	}
	if s.home != nil {
		return nil
	}
	return c.processes().unlessGone(c.openScratch())
}

// inspect looks from outside whether the child and its fork server are what they have
// to be.
func (s *source) inspect(c *child) error {
	c.mu.Lock()
	group := c.group
	c.mu.Unlock()
	var shared reader
	if err := s.outside.check(c.processes(), requirement{filters(s.shape), s.sealed, group}, &shared); err != nil {
		return err
	}
	return s.outside.checkServer(s.server.process.Pid, &shared)
}

// distrust ends the fork server of a child that is not as it has to be: its other
// children, the living ones included, come from the same hands.
func (s *source) distrust(c *child, finding error) {
	if errors.Is(finding, errGone) {
		return // it ended while it was looked at, which is no fault
	}
	s.backend.config.Logger.Error("child is not sealed; ending its fork server", "error", finding)
	c.Kill(sandbox.CauseUnsealed)
	s.server.stop()
}
