//go:build unix

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

const (
	// keeperTime is long for a keeper that works; the program may have stopped it.
	keeperTime = 5 * time.Second
	// drainTime is how long a stream may outlive the tree. Only a process that
	// escaped the keeper can hold one open; what is in the pipe is read at once.
	drainTime = 2 * time.Second
)

// child is one process tree: a keeper, below it the program.
type child struct {
	cmd        *exec.Cmd
	wires      *wires
	conn       bridge.Conn
	keeperTime time.Duration
	workspace  string
	reaped     chan struct{} // closed when ended is set

	mu       sync.Mutex
	cause    sandbox.Cause
	killed   bool
	fallback *time.Timer

	ended    sandbox.Ended
	endedErr error
}

var _ sandbox.Child = (*child)(nil)

func (c *child) Bridge() bridge.Conn   { return c.conn }
func (c *child) Stdin() io.WriteCloser { return c.wires.stdin.ours }
func (c *child) Stdout() io.Reader     { return tail{c.wires.stdout.ours} }
func (c *child) Stderr() io.Reader     { return tail{c.wires.stderr.ours} }

// Arm brings files, environment and limits in. The guest's word that they are
// in force is taken: nothing rests on it without isolation.
func (c *child) Arm(ctx context.Context, a sandbox.Arm) error {
	if a.NoFork || a.NoExec {
		return errors.New("host: cannot refuse new processes or programs")
	}
	head := bridge.ArmHead{Limits: armLimits(a.Limits), Environment: a.Environment}
	var body []byte
	for _, f := range a.Files {
		head.Files = append(head.Files, bridge.ArmFile{Path: f.Path, Size: int64(len(f.Data))})
		body = append(body, f.Data...)
	}
	frame, err := bridge.NewFrame(bridge.Arm, armID, head, body)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.Kill(sandbox.CauseCancelled) })
	defer stop()
	if err := c.conn.WriteFrame(frame); err != nil {
		return fmt.Errorf("host: arm: %w", err)
	}
	return c.armed()
}

// armID is the id of the one arm frame; ids belong to whoever asks.
const armID = 1

func (c *child) armed() error {
	f, err := c.conn.ReadFrame()
	if err != nil {
		return fmt.Errorf("host: arm: %w", err)
	}
	var head bridge.ArmedHead
	if err := json.Unmarshal(f.Head, &head); err != nil || f.Kind != bridge.Arm {
		return fmt.Errorf("host: arm: %w: frame of kind %d", bridge.ErrProtocol, f.Kind)
	}
	if head.Error != "" {
		return fmt.Errorf("host: arm: %s", head.Error)
	}
	return nil
}

// armLimits leaves the number of processes alone: RLIMIT_NPROC counts all
// processes of the user, so that any useful limit would fail honest programs.
func armLimits(l execution.Limits) bridge.ArmLimits {
	return bridge.ArmLimits{
		AddressSpace: int64(l.Memory),
		OpenFiles:    int64(l.OpenFiles),
		FileSize:     int64(l.Scratch),
	}
}

// Kill closes the control pipe: the keeper ends the tree and then itself.
func (c *child) Kill(cause sandbox.Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return
	}
	c.killed, c.cause = true, cause
	_ = c.wires.control.ours.Close()
	c.fallback = time.AfterFunc(c.keeperTime, func() { _ = c.cmd.Process.Kill() })
}

// reap waits for the keeper, which outlives the tree, and cleans up.
func (c *child) reap() {
	defer close(c.reaped)
	err := c.cmd.Wait()
	c.mu.Lock()
	c.killed = true // from here on nobody can be its killer
	if c.fallback != nil {
		c.fallback.Stop()
	}
	c.ended = ended(c.cause, c.cmd.ProcessState)
	c.mu.Unlock()
	c.ended.Usage.MemoryPeak = c.memoryPeak()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		c.endedErr = fmt.Errorf("wait for %s: %w", c.cmd.Path, err)
	}
	for _, f := range []*os.File{c.wires.control.ours, c.wires.report.ours, c.wires.stdin.ours} {
		_ = f.Close()
	}
	deadline := time.Now().Add(drainTime)
	for _, f := range []*os.File{c.wires.stdout.ours, c.wires.stderr.ours, c.wires.in.ours} {
		_ = f.SetReadDeadline(deadline) // fails only when it is closed already
	}
	if err := removeTree(c.workspace); err != nil {
		c.endedErr = errors.Join(c.endedErr, fmt.Errorf("remove the workspace: %w", err))
	}
}

// removeTree also removes directories that the program closed to their owner.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}

// Stop waits for the end: the keeper's account is all there is.
func (c *child) Stop(ctx context.Context) (sandbox.Ended, error) {
	c.Kill(sandbox.CauseFinished)
	return c.Wait(ctx)
}

// Wait blocks until the tree is dead and the workspace is removed.
func (c *child) Wait(ctx context.Context) (sandbox.Ended, error) {
	select {
	case <-c.reaped:
		return c.ended, c.endedErr
	case <-ctx.Done():
		return sandbox.Ended{}, ctx.Err()
	}
}

// memoryPeak is the keeper's measurement of the program. The kernel's figure for
// the keeper itself starts at the size of this process (getrusage(2), BUGS).
func (c *child) memoryPeak() execution.Bytes {
	var peak execution.Bytes
	_ = c.wires.report.ours.SetReadDeadline(time.Now().Add(drainTime))
	if _, err := fmt.Fscan(io.LimitReader(c.wires.report.ours, 32), &peak); err != nil {
		return 0 // the keeper was killed: nobody knows
	}
	return peak
}

// lastWords is what a child that never said hello wrote to its stderr.
func (c *child) lastWords() string {
	text, _ := io.ReadAll(io.LimitReader(c.Stderr(), maxLastWords))
	return quoteWords(text)
}

func ended(cause sandbox.Cause, state *os.ProcessState) sandbox.Ended {
	e := sandbox.Ended{Cause: cause}
	if state == nil {
		return e
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok {
		if status.Signaled() {
			e.Signal = int(status.Signal())
		} else {
			e.ExitCode = status.ExitStatus()
		}
	}
	e.Usage.CPU = state.UserTime() + state.SystemTime()
	return e
}

// tail reads a stream to its end. A stream that something keeps open beyond the
// tree's death ends when its deadline comes; it is closed as soon as it ends.
type tail struct{ f *os.File }

func (t tail) Read(b []byte) (int, error) {
	n, err := t.f.Read(b)
	if err == nil {
		return n, nil
	}
	_ = t.f.Close()
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}
