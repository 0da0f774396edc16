//go:build unix

package host

import "time"

// SetKeeperTime shortens what a keeper has before it is killed.
func (b *Backend) SetKeeperTime(d time.Duration) { b.keeperTime = d }
