package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// A program may say how long it waits for one call: for the server to be there and to
// answer. As with the time of the run, what passes while a human is asked does not count.

// errLate is the cause with which the context of a call ends whose time is over.
var errLate = errors.New("the time that the program gave the call is over")

// mostCallTime is that of a program that names more, so that no number of seconds overflows.
const mostCallTime = 24 * time.Hour

// callTime is what the program gives a call; 0 for as long as the server's own limit is.
func callTime(head bridge.CallHead) time.Duration {
	switch most := mostCallTime.Seconds(); {
	case head.Timeout > most:
		return mostCallTime
	case head.Timeout > 0:
		return max(time.Nanosecond, time.Duration(head.Timeout*float64(time.Second)))
	}
	return 0
}

// begin gives the call a context that ends with ctx, and when its time is over.
func (c *call) begin(ctx context.Context, clock Clock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.ctx, c.cancel = ctx, func() { cancel(context.Canceled) }
	if d := callTime(c.head); d > 0 {
		c.watch = newStopwatch(clock, d, func() { cancel(errLate) })
	}
}

// end lets go of what begin made.
func (c *call) end() {
	if c.watch != nil {
		c.watch.end()
	}
	c.cancel()
}

// pause has the time of the call stand still until the returned function is called.
func (c *call) pause() (resume func()) {
	if c.watch == nil {
		return func() {}
	}
	return c.watch.pause()
}

// late reports whether the call ended because its time was over.
func (c *call) late() bool { return errors.Is(context.Cause(c.ctx), errLate) }

// inTime is the error of a call, which says so when its time was over.
func (c *call) inTime(err error, server, name string) error {
	if err == nil || !c.late() {
		return err
	}
	return &tool.Error{
		Class: tool.Timeout, Server: server, Tool: name,
		Message: fmt.Sprintf("%s.%s was not answered within the %v that the program gave it (timeout). It may have had an effect", server, name, callTime(c.head)),
	}
}
