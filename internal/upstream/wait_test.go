package upstream

import (
	"testing"
	"time"
)

// eventually waits for what another process does.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx := bounded(t); !done(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it has not come to pass")
		}
	}
}
