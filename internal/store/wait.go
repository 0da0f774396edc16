package store

import (
	"context"
	"time"
)

const (
	// busyWait is the default of Options.Wait.
	busyWait = 10 * time.Second
	// readWait bounds how long a reader waits. It does so only while the log is being
	// recovered after a crash.
	readWait = 5 * time.Second
	// The time between two tries begins with less than a transaction takes and is never
	// so long that one who writes all the time is always met writing.
	firstPause = 50 * time.Microsecond
	mostPause  = time.Millisecond
)

// waitFor tries until another connection is no longer in the way, at most for so long.
func waitFor(ctx context.Context, most time.Duration, try func() error) error {
	err := try()
	if !busy(err) {
		return err
	}
	limit := time.NewTimer(most)
	defer limit.Stop()
	pause := time.NewTimer(firstPause)
	defer pause.Stop()
	for next := firstPause; ; next = min(2*next, mostPause) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return err
		case <-pause.C:
		}
		if err = try(); !busy(err) {
			return err
		}
		pause.Reset(next)
	}
}
