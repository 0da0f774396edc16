package pool

import "time"

const (
	firstDelay = time.Second
	mostDelay  = time.Minute
)

// backoff is the time until which something that failed is not tried again in the
// background. The first failure may be bad luck and costs no time; from the second
// on the delay doubles. The zero value has seen none.
type backoff struct {
	failures int
	until    time.Time
}

// fail counts a failure. Several that come of one cause, before the next attempt,
// count as one.
func (b *backoff) fail(now time.Time) {
	if now.Before(b.until) {
		return
	}
	b.until = now
	if b.failures > 0 {
		b.until = now.Add(min(firstDelay<<min(b.failures-1, 16), mostDelay))
	}
	b.failures++
}

func (b *backoff) over(now time.Time) bool { return !now.Before(b.until) }

func (b *backoff) clear() { *b = backoff{} }
