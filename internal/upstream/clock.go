package upstream

import (
	"context"
	"time"
)

// Clock tells and waits for time.
type Clock interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// within is a context that ends after a while, for the cause given.
func within(ctx context.Context, c Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	end := c.After(d)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-end:
			cancel(cause)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-stopped
	}
}
