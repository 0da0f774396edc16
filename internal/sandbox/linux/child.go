//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
)

const (
	// startTimeout bounds the making of one child, which takes milliseconds: a
	// machine that needs longer cannot serve.
	startTimeout = 20 * time.Second
	// armTimeout bounds the answer to an arm frame.
	armTimeout = 10 * time.Second
	// collectTimeout bounds the time from a kill to the fork server's account of it.
	collectTimeout = 10 * time.Second
	// sealPrefix is how the guest begins the line about a step that failed.
	sealPrefix = "gearbox seal: "
	// maxReport bounds what is read of such a line.
	maxReport = 4 << 10
)

// errGone says that a child ended while the host looked at it.
var errGone = sandbox.ErrChildGone

// child is one reaper with one cell. At level no-userns the reaper is a keeper, which
// kills the tree in place of the kernel.
type child struct {
	source  *source
	id      int
	streams streams
	bridge  bridge.Conn
	stdout  *output
	stderr  *output

	started chan struct{} // closed when the processes are known
	ended   chan struct{} // closed when nothing is left; the result is set before

	mu      sync.Mutex // guards what follows
	cause   sandbox.Cause
	reaper  *pidfd
	cell    *pidfd
	scratch *os.File
	place   string // the child's own directory, where it has no mounts
	handed  bool   // somebody besides Start has the child
	armedAt time.Time
	watch   *watch
	overdue *time.Timer // runs from the kill to the end
	group   *cgroup.Group
	result  sandbox.Ended
	err     error
}

var _ sandbox.Child = (*child)(nil)

func newChild(s *source, id int, ours streams) *child {
	return &child{
		source: s, id: id, streams: ours,
		bridge:  bridge.NewLimited(duplex{closingReader{ours.bridge}}, bridge.MaxGuestFrame),
		stdout:  &output{closingReader: closingReader{ours.stdout}},
		stderr:  &output{closingReader: closingReader{ours.stderr}},
		started: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Bridge is the host's end of the conversation.
func (c *child) Bridge() bridge.Conn { return c.bridge }

// Stdin is the program's standard input.
func (c *child) Stdin() io.WriteCloser { return c.streams.stdin }

// Stdout is the program's standard output. It is closed by reading it to its end.
func (c *child) Stdout() io.Reader { return c.stdout }

// Stderr is the program's standard error. It is closed by reading it to its end.
func (c *child) Stderr() io.Reader { return c.stderr }

// born takes the process descriptors. A child that was killed before anyone could
// reach it dies now.
func (c *child) born(reaper, cell int) {
	c.mu.Lock()
	c.reaper, c.cell = newPidfd(reaper), newPidfd(cell)
	doomed := c.cause != sandbox.CauseNone
	c.mu.Unlock()
	close(c.started)
	if doomed {
		c.signal()
	}
}

func (c *child) processes() processes { return processes{reaper: c.reaper, cell: c.cell} }

// setCause keeps the first cause.
func (c *child) setCause(cause sandbox.Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
		return
	default:
	}
	if c.cause == sandbox.CauseNone {
		c.cause = cause
	}
}

// Kill ends the tree. The reaper's death takes its namespace along; a keeper is asked,
// since its death would leave its group behind.
//
// It is the fork server that collects the dead. One that does not is stuck, or stopped by
// somebody: it is ended, so that nobody waits in vain.
func (c *child) Kill(cause sandbox.Cause) {
	c.setCause(cause)
	c.signal()
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
	default:
		if c.overdue == nil {
			c.overdue = time.AfterFunc(collectTimeout, c.giveUp)
		}
	}
}

func (c *child) giveUp() {
	c.source.backend.config.Logger.Error("a fork server does not collect a dead child and is ended", "child", c.id)
	c.source.server.stop()
}

func (c *child) signal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaper == nil {
		return
	}
	if c.source.outside.bare {
		c.reaper.send(unix.SIGTERM)
	} else {
		c.reaper.kill()
	}
	c.cell.kill()
}

// Wait blocks until the fork server has collected both processes.
func (c *child) Wait(ctx context.Context) (sandbox.Ended, error) {
	select {
	case <-c.ended:
		return c.result, c.err
	case <-ctx.Done():
		return sandbox.Ended{}, ctx.Err()
	}
}

// finish takes the fork server's account of the dead cell.
func (c *child) finish(m message) {
	status := syscall.WaitStatus(m.Status)
	c.end(func(e *sandbox.Ended) {
		e.ExitCode = status.ExitStatus()
		if status.Signaled() {
			e.ExitCode, e.Signal = 0, int(status.Signal())
		}
		e.Usage.CPU = time.Duration(m.CPU * float64(time.Second))
		e.Usage.MemoryPeak = max(e.Usage.MemoryPeak, execution.Bytes(m.Peak))
	}, nil)
}

// orphan ends a child of which the fork server gave no account. When it had been
// killed its end is as wanted; otherwise waiters get err.
func (c *child) orphan(err error) {
	c.end(func(e *sandbox.Ended) { e.Signal = int(unix.SIGKILL) }, err)
}

func (c *child) end(account func(*sandbox.Ended), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = sandbox.Ended{Cause: c.cause}
	if c.cause == sandbox.CauseNone {
		c.err = err
	}
	c.unwatch(&c.result)
	if c.place != "" {
		c.result.ScratchFull = c.cause == sandbox.CauseScratch
		c.source.clear(c.place)
	}
	if !c.armedAt.IsZero() {
		c.result.Usage.Wall = time.Since(c.armedAt)
	}
	account(&c.result)
	c.count(&c.result)
	if c.scratch != nil {
		c.result.ScratchFull = isFull(c.scratch)
		_ = c.scratch.Close()
	}
	for _, p := range []*pidfd{c.reaper, c.cell} {
		if p != nil {
			p.close()
		}
	}
	c.closeUnread()
	if c.overdue != nil {
		c.overdue.Stop()
	}
	close(c.ended)
}

// closeUnread closes what nobody will read to its end, which would close it. The
// mutex is held.
func (c *child) closeUnread() {
	switch {
	case !c.handed:
		return // Start reads why it failed
	case c.armedAt.IsZero():
		c.streams.close() // no program ran: nothing is in them
	case c.cause != sandbox.CauseNone:
		// Whoever killed the child has read the frames that it wanted. Of one that
		// ended by itself the last frame may still lie here.
		_ = c.bridge.Close()
	}
	_ = c.streams.stdin.Close()
}

// hand marks the child as given away.
func (c *child) hand() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handed = true
	select {
	case <-c.ended:
		c.closeUnread()
	default:
	}
}

// explain turns the failure to park into the reason: the fork server's account, or
// what the guest wrote about a step that failed. No user code has run, so that the
// text is the guest's.
func (c *child) explain(ctx context.Context, err error) error {
	c.signal()
	select {
	case <-c.ended:
	case <-ctx.Done():
		return err
	}
	if c.err != nil {
		return c.err
	}
	_ = c.streams.stderr.SetReadDeadline(time.Now().Add(reapTimeout))
	text, _ := io.ReadAll(io.LimitReader(c.stderr, maxReport))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, sealPrefix); ok {
			return parseSealReport(strings.TrimSpace(rest))
		}
	}
	if len(text) > 0 {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// parseSealReport reads "step: [Errno N] what: why", where the number may be missing.
func parseSealReport(text string) *StepError {
	step, detail, _ := strings.Cut(text, ": ")
	e := &StepError{Step: step, Detail: detail}
	if rest, ok := strings.CutPrefix(detail, "[Errno "); ok {
		number, _, _ := strings.Cut(rest, "]")
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			e.Errno = syscall.Errno(n)
		}
	}
	return e
}

// readFrame reads one frame of an expected kind within ctx.
func (c *child) readFrame(ctx context.Context, kind bridge.Kind, head any) error {
	stop := context.AfterFunc(ctx, func() { _ = c.streams.bridge.SetReadDeadline(time.Unix(1, 0)) })
	f, err := c.bridge.ReadFrame()
	if !stop() {
		return fmt.Errorf("read frame: %w", ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	if f.Kind != kind {
		return fmt.Errorf("guest sent frame kind %d instead of %d", f.Kind, kind)
	}
	if err := json.Unmarshal(f.Head, head); err != nil {
		return fmt.Errorf("decode frame: %w", err)
	}
	return nil
}

func (c *child) readHello(ctx context.Context) error {
	var hello bridge.HelloHead
	if err := c.readFrame(ctx, bridge.Hello, &hello); err != nil {
		return err
	}
	if hello.Protocol != bridge.Protocol {
		return fmt.Errorf("guest speaks protocol %d, not %d", hello.Protocol, bridge.Protocol)
	}
	return nil
}
