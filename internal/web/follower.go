package web

import "sync"

// backlog bounds the events that wait for one follower, in bytes: all that a rule of the
// operator's withdraws and asks anew at one stroke finds room, many thousands of questions.
// Each event is in memory once for all followers.
const backlog = 32 << 20

// follower is one who follows: a queue, so that a burst waits for whoever takes it.
type follower struct {
	most int // bytes
	// ready holds one when there is something to take, or nothing ever will be.
	ready chan struct{}

	mu      sync.Mutex // guards what follows
	waiting []encoded
	bytes   int
	dropped bool
}

func newFollower(most int) *follower { return &follower{most: most, ready: make(chan struct{}, 1)} }

// add is false when too much waits already: the follower is dropped, and begins anew with
// all that is open.
func (l *follower) add(e encoded) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.signal()
	if l.dropped || l.bytes+len(e.text) > l.most {
		l.waiting, l.bytes, l.dropped = nil, 0, true
		return false
	}
	l.waiting, l.bytes = append(l.waiting, e), l.bytes+len(e.text)
	return true
}

// next is the oldest event that waits, after ready. It is false when the follower was
// dropped.
func (l *follower) next() (encoded, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped || len(l.waiting) == 0 {
		return encoded{}, false
	}
	e := l.waiting[0]
	l.waiting[0] = encoded{} // or it would stay in memory
	l.waiting, l.bytes = l.waiting[1:], l.bytes-len(e.text)
	if len(l.waiting) > 0 {
		l.signal()
	}
	return e, true
}

func (l *follower) signal() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}
