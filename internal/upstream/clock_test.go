package upstream

import (
	"sync"
	"time"
)

// testClock stands still until it is advanced.
type testClock struct {
	mu    sync.Mutex // guards what follows
	now   time.Time
	waits []wait
}

type wait struct {
	at time.Time
	to chan time.Time
}

func newClock() *testClock { return &testClock{now: time.Unix(1_800_000_000, 0)} }

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := wait{c.now.Add(d), make(chan time.Time, 1)}
	c.waits = append(c.waits, w)
	return w.to
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	kept := c.waits[:0]
	for _, w := range c.waits {
		if w.at.After(c.now) {
			kept = append(kept, w)
		} else {
			w.to <- c.now
		}
	}
	c.waits = kept
}
