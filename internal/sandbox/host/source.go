//go:build unix

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/guest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// guestDir is the folder below a source's directory that holds the guest.
const guestDir = "guest"

// source starts one process tree per child.
type source struct {
	c          Config
	keeperTime time.Duration
	python     sandbox.Interpreter
	dir        string
	done       chan struct{}

	mu       sync.Mutex
	closed   bool
	closeErr error
	children map[*child]struct{} // those not reaped yet
}

// Level is that of a process without isolation.
func (*source) Level() execution.Level { return execution.LevelNone }

func (s *source) Done() <-chan struct{} { return s.done }

// Start returns when the guest has said hello.
func (s *source) Start(ctx context.Context, warm bool) (sandbox.Child, error) {
	ch, err := s.launch(ctx, warm)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { ch.Kill(sandbox.CauseAbandoned) })
	err = hello(ch.Bridge())
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return ch, nil
	}
	ch.Kill(sandbox.CauseAbandoned)
	<-ch.reaped
	return nil, errors.Join(fmt.Errorf("start %s: %w%s", s.python.Executable, err, ch.lastWords()), ctx.Err())
}

// launch starts the process tree. The lock is held throughout, so that Close
// sees every child.
func (s *source) launch(ctx context.Context, warm bool) (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("host: %w", sandbox.ErrSourceDead)
	}
	workspace, err := os.MkdirTemp(s.dir, "workspace-")
	if err != nil {
		return nil, fmt.Errorf("make a workspace: %w", err)
	}
	w, err := newWires(s.c.Pipes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the streams: %w", err), os.RemoveAll(workspace))
	}
	cmd := s.command(ctx, w, workspace, warm)
	err = cmd.Start()
	w.closeTheirs()
	if err != nil {
		w.closeOurs()
		return nil, errors.Join(fmt.Errorf("start %s: %w", s.python.Executable, err), os.RemoveAll(workspace))
	}
	ch := &child{cmd: cmd, wires: w, keeperTime: s.keeperTime, workspace: workspace, reaped: make(chan struct{})}
	ch.conn = bridge.NewLimited(w.bridge, bridge.MaxGuestFrame)
	s.children[ch] = struct{}{}
	go func() {
		ch.reap()
		s.forget(ch)
	}()
	return ch, nil
}

// command is the interpreter as the operator has it, running the guest's entry.
// Its session is its own, so that a terminal's signals do not reach it.
func (s *source) command(ctx context.Context, w *wires, workspace string, warm bool) *exec.Cmd {
	entry := filepath.Join(s.dir, guestDir, guest.Package, "hostmain.py")
	args := append([]string{entry, "--workspace", workspace}, w.arguments()...)
	for _, p := range s.python.Path {
		args = append(args, "--site-path", p)
	}
	if warm {
		args = append(args, "--warm")
	}
	// The child outlives the call that starts it: Kill and Close end it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.python.Executable, args...)
	cmd.Dir = workspace
	cmd.Stdin, cmd.Stdout, cmd.Stderr = w.stdin.theirs, w.stdout.theirs, w.stderr.theirs
	cmd.ExtraFiles = w.extra()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// forget takes a dead child off the list. The last one after Close ends the source.
func (s *source) forget(ch *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.children, ch)
	if s.closed && len(s.children) == 0 {
		s.finish()
	}
}

// finish removes the directory. The lock is held and no child is left.
func (s *source) finish() {
	s.closeErr = os.RemoveAll(s.dir)
	close(s.done)
}

// Close kills every child, waits for the last and removes all files.
func (s *source) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		for ch := range s.children {
			ch.Kill(sandbox.CauseShutdown)
		}
		if len(s.children) == 0 {
			s.finish()
		}
	}
	s.mu.Unlock()
	<-s.done
	return s.closeErr
}

// hello reads the guest's first frame.
func hello(conn bridge.Conn) error {
	f, err := conn.ReadFrame()
	if err != nil {
		return fmt.Errorf("read hello: %w", err)
	}
	var head bridge.HelloHead
	if err := json.Unmarshal(f.Head, &head); err != nil || f.Kind != bridge.Hello {
		return fmt.Errorf("read hello: %w: frame of kind %d", bridge.ErrProtocol, f.Kind)
	}
	if head.Protocol != bridge.Protocol {
		return fmt.Errorf("read hello: the guest speaks protocol %d", head.Protocol)
	}
	return nil
}

// maxLastWords is enough for the end of a traceback.
const maxLastWords = 2 << 10

func quoteWords(b []byte) string {
	text := strings.TrimSpace(string(b))
	if text == "" {
		return ""
	}
	return ": " + text
}
