package engine

import (
	"sync"
	"time"
)

// stopwatch is the wall time of one run: what passes while a human is asked does not
// count. Pauses may overlap, as when two threads of a program ask.
type stopwatch struct {
	clock Clock
	over  func() // called once, when the time is up

	mu     sync.Mutex
	left   time.Duration // as of since, when it runs
	since  time.Time
	pauses int
	paused time.Duration // how long it stood still
	stop   func() bool
	ended  bool
}

// newStopwatch starts one that calls over after d.
func newStopwatch(c Clock, d time.Duration, over func()) *stopwatch {
	s := &stopwatch{clock: c, over: over, left: d}
	s.run(c.Now())
	return s
}

// run lets the time pass. The mutex is held, or nobody else knows of s.
func (s *stopwatch) run(now time.Time) {
	s.since, s.stop = now, s.clock.AfterFunc(s.left, s.over)
}

// pause has the time stand still until the returned function is called, once.
func (s *stopwatch) pause() (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pauses++; s.pauses == 1 && !s.ended {
		now := s.clock.Now()
		s.stop()
		s.left, s.since = max(0, s.left-now.Sub(s.since)), now
	}
	return sync.OnceFunc(s.resume)
}

func (s *stopwatch) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pauses--; s.pauses == 0 && !s.ended {
		now := s.clock.Now()
		s.paused += now.Sub(s.since)
		s.run(now)
	}
}

// pausedFor is how long it has stood still so far.
func (s *stopwatch) pausedFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pauses > 0 && !s.ended {
		return s.paused + s.clock.Now().Sub(s.since)
	}
	return s.paused
}

// end stops it for good.
func (s *stopwatch) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	s.stop()
	if s.pauses > 0 {
		s.paused += s.clock.Now().Sub(s.since)
	}
}
