package sidecar

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// boxed is a server in its sandbox, until both are gone.
type boxed struct {
	child  sandbox.Child
	limits execution.Limits
	exited chan struct{}
	err    error // once exited is closed
}

var _ upstream.Process = (*boxed)(nil)

// follow waits for the end of a child that runs a server, and then ends its source.
func follow(ctx context.Context, source sandbox.Source, c sandbox.Child, l execution.Limits) upstream.Launched {
	b := &boxed{child: c, limits: l, exited: make(chan struct{})}
	go func() {
		defer close(b.exited)
		if _, err := c.Bridge().ReadFrame(); err == nil {
			c.Kill(sandbox.CauseFinished) // the shell did not begin, which standard error tells
		}
		ended, err := c.Wait(ctx)
		if err == nil {
			err = b.told(ended)
		}
		b.err = err
		_ = source.Close() // its child is gone, and it holds nothing else
	}()
	return upstream.Launched{Process: b, Stdin: c.Stdin(), Stdout: io.NopCloser(c.Stdout()), Stderr: io.NopCloser(c.Stderr())}
}

// told puts the end of a server into words.
func (b *boxed) told(e sandbox.Ended) error {
	switch {
	case e.Cause == sandbox.CauseMemory:
		return fmt.Errorf("it held more memory than the %s of its gear (limits: memory)", b.limits.Memory)
	case e.Cause == sandbox.CauseScratch:
		return fmt.Errorf("it wrote more than the %s of its gear (limits: scratch)", b.limits.Scratch)
	case e.Signal != 0:
		return fmt.Errorf("signal %d", e.Signal)
	case e.ExitCode != 0:
		return fmt.Errorf("exit status %d", e.ExitCode)
	}
	return nil
}

// Exited implements [upstream.Process].
func (b *boxed) Exited() <-chan struct{} { return b.exited }

// Err implements [upstream.Process].
func (b *boxed) Err() error {
	select {
	case <-b.exited:
		return b.err
	default:
		return nil
	}
}

// Stop implements [upstream.Process]. Nobody outside can ask a program in a sandbox to end
// but by the end of its input, which it has had.
func (b *boxed) Stop(time.Duration) {
	b.child.Kill(sandbox.CauseShutdown)
	<-b.exited
}

// runScript has the guest of a child run a script, which takes its place.
func runScript(conn bridge.Conn, text string) error {
	f, err := bridge.NewFrame(bridge.Analyse, 1, bridge.AnalyseHead{Language: string(execution.Bash)}, []byte(text))
	if err == nil {
		err = conn.WriteFrame(f)
	}
	if err != nil {
		return fmt.Errorf("send the script: %w", err)
	}
	if f, err = conn.ReadFrame(); err == nil && f.Kind != bridge.Facts {
		err = fmt.Errorf("%w: a frame of kind %d", bridge.ErrProtocol, f.Kind)
	}
	if err != nil {
		return fmt.Errorf("send the script: %w", err)
	}
	if f, err = bridge.NewFrame(bridge.Run, 2, bridge.RunHead{Isolated: true}, nil); err == nil {
		err = conn.WriteFrame(f)
	}
	if err != nil {
		return fmt.Errorf("run the script: %w", err)
	}
	return nil
}
