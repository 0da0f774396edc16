package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// firstRetry and lastRetry bound the time between two attempts to reach the server,
	// before it is made random by half. A person who restarts a server waits for the
	// first, and nobody is told to come back in more than some seconds.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
	// watchEvery is how often a server is asked whether it is alive while it owes answers,
	// and restEvery how many times more seldom otherwise.
	watchEvery = 2 * time.Second
	restEvery  = 5
)

// contact knows whether the server can be reached, and keeps trying while it cannot.
type contact struct {
	log   *slog.Logger
	reach func(context.Context) (*line, error)
	owed  func() int // answers that the server owes
	// recheck looks at a server again that may have been replaced.
	recheck func(context.Context, *line)

	mu      sync.Mutex // guards what follows
	line    *line      // nil while the server is away
	name    string     // of the server that was last tried
	why     error      // it is away
	next    time.Time  // when it is tried again
	settled bool       // whether a first answer was found: it is there, it refuses, or it took too long
	news    chan struct{}
}

func newContact(log *slog.Logger, reach func(context.Context) (*line, error), owed func() int, recheck func(context.Context, *line)) *contact {
	return &contact{log: log, reach: reach, owed: owed, recheck: recheck, news: make(chan struct{}), name: "the configured address"}
}

// change changes the state and wakes who waits for that.
func (c *contact) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.news)
	c.news = make(chan struct{})
}

// await is the server, nil while it is away. At the start it waits for a first answer.
func (c *contact) await(ctx context.Context) *line {
	for {
		c.mu.Lock()
		l, settled, news := c.line, c.settled, c.news
		c.mu.Unlock()
		if l != nil || settled {
			return l
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}

// settle ends the waiting of the start.
func (c *contact) settle() { c.change(func() { c.settled = true }) }

// say tells why nothing can be run, and when it is worth to try again.
func (c *contact) say() (string, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	retry := max(time.Until(c.next), time.Second)
	var status *statusError
	switch {
	case c.why == nil:
		return fmt.Sprintf("code execution is unavailable for now: the Gearbox server at %s is not reached yet; try again in %s", c.name, inSeconds(retry)), retry
	case errors.As(c.why, &status) && status.refused():
		return fmt.Sprintf("code execution is unavailable for now: the Gearbox server at %s does not let this client in (%v). %s", c.name, c.why, mendToken), retry
	}
	return fmt.Sprintf("code execution is unavailable for now: the Gearbox server at %s does not answer; try again in %s (%v)", c.name, inSeconds(retry), c.why), retry
}

func inSeconds(d time.Duration) string {
	if n := wholeSeconds(d); n > 1 {
		return fmt.Sprintf("%.0f seconds", n)
	}
	return "a second"
}

// mendToken tells a person what to do.
const mendToken = "The operator makes a token with: gearbox token create NAME. Give it to gearbox connect in the variable GEARBOX_TOKEN, or in a file with --token-file, which is read again at each attempt"

// keep tries to reach the server whenever it is away, until ctx ends.
func (c *contact) keep(ctx context.Context) {
	b := &backoff.ExponentialBackOff{InitialInterval: firstRetry, RandomizationFactor: 0.5, Multiplier: 1.6, MaxInterval: lastRetry}
	for ctx.Err() == nil {
		l, err := c.reach(ctx)
		if err == nil {
			c.up(l)
			c.watch(ctx, l)
			if time.Since(l.born) > lastRetry {
				b.Reset()
			}
		}
		wait := b.NextBackOff()
		c.down(ctx, err, wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

func (c *contact) up(l *line) {
	c.change(func() { c.line, c.why, c.settled, c.name = l, nil, true, l.target.Name })
	c.log.Info("reached the server", "server", l.target.Name)
	if l.token != "" && l.target.Exposed() {
		c.log.Warn("the token and all code travel unencrypted: use https", "server", l.target.Name)
	}
}

// down notes an attempt that failed, or when the first one after a loss will be.
func (c *contact) down(ctx context.Context, err error, wait time.Duration) {
	if ctx.Err() != nil {
		return
	}
	var status *statusError
	refused := errors.As(err, &status) && status.refused()
	c.mu.Lock()
	news := err != nil && (c.why == nil || c.why.Error() != err.Error())
	name := c.name
	c.mu.Unlock()
	switch {
	case news && refused:
		c.log.Error("the server does not let this client in", "server", name, "error", err, "hint", mendToken)
	case news:
		c.log.Warn("the server cannot be reached", "server", name, "error", err)
	}
	c.change(func() {
		c.next = time.Now().Add(wait)
		if err != nil {
			c.why = err
		}
		c.settled = c.settled || refused
	})
}

// trying notes which server is tried.
func (c *contact) trying(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = name
}

// lose notes that a line is away. Where the server is silent nothing that is under way
// is waited for; else it may still end.
func (c *contact) lose(l *line, why error) {
	c.change(func() {
		if c.line != l {
			return
		}
		c.log.Warn("the server went away", "server", l.target.Name, "error", why)
		c.line, c.why, c.next = nil, why, time.Now().Add(firstRetry)
	})
	if errors.Is(why, errSilent) {
		l.cut(why)
		return
	}
	l.drain(why)
}

// suspect finds out whether a server is away after something with it went wrong.
func (c *contact) suspect(ctx context.Context, l *line) {
	if _, err := l.alive(ctx); err != nil && ctx.Err() == nil {
		c.lose(l, err)
	}
}

// watch returns when a line is lost. It takes the server's pulse: its machine may have
// gone without a word, or another server may be there by now.
func (c *contact) watch(ctx context.Context, l *line) {
	defer l.close()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		c.mu.Lock()
		still, news := c.line == l, c.news
		c.mu.Unlock()
		if !still {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-tick.C:
			if n%restEvery == 0 || c.owed() > 0 {
				c.feel(ctx, l)
			}
		}
	}
}

// feel takes the pulse once.
func (c *contact) feel(ctx context.Context, l *line) {
	switch fresh, err := l.alive(ctx); {
	case err != nil: // once may be chance
		c.suspect(ctx, l)
	case fresh:
		c.recheck(ctx, l)
	}
}

// current is the server, nil while it is away.
func (c *contact) current() *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line
}
