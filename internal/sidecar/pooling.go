package sidecar

import (
	"cmp"
	"log/slog"
	"runtime"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/pool/pressure"
)

// PoolOptions say how many programs run at once and how many sandboxes stand ready for
// the next ones. A nil field is its documented default; the zero value is all defaults.
type PoolOptions struct {
	// Concurrency is how many programs run at once; by default two for each core.
	Concurrency *int
	// Size is how many sandboxes of one kind are parked ahead of time; by default as
	// many as Concurrency, 0 for none: then each is made when it is asked for.
	Size *int
	// Max bounds the parked ones of all kinds; by default four for each core, and at
	// least Size.
	Max *int
	// Idle is how long a kind may be unused before one parked sandbox is left of it;
	// by default 5 minutes. Its fork server ends after half an hour, or after Idle if
	// that is longer.
	Idle *time.Duration
	// RecycleRuns and RecycleAge are the number of sandboxes and the age at which a
	// fork server is replaced; by default 10,000 and an hour.
	RecycleRuns *int
	RecycleAge  *time.Duration
}

// OnDemand are the options of a command that runs one program: what were made ahead
// would serve nobody.
func OnDemand() PoolOptions { return PoolOptions{Size: new(int)} }

// The accepted ranges of [PoolOptions], ends included. Least is 1 where none is given, and 0
// for Size.
const (
	MostConcurrency = 1024
	MostParked      = 4096
	MostRuns        = 1_000_000
	LeastIdle       = time.Second
	LeastAge        = time.Minute
	Longest         = 30 * 24 * time.Hour
)

// check names the flag that is out of its range.
func (o PoolOptions) check() error {
	for _, n := range []struct {
		flag        string
		value       *int
		least, most int
	}{
		{"concurrency", o.Concurrency, 1, MostConcurrency},
		{"pool-size", o.Size, 0, MostParked},
		{"pool-max", o.Max, 1, MostParked},
		{"recycle-runs", o.RecycleRuns, 1, MostRuns},
	} {
		if n.value != nil && (*n.value < n.least || *n.value > n.most) {
			return about(n.flag, "--%s %d: accepted are %d to %d", n.flag, *n.value, n.least, n.most)
		}
	}
	for _, d := range []struct {
		flag  string
		value *time.Duration
		least time.Duration
	}{
		{"pool-idle", o.Idle, LeastIdle}, {"recycle-age", o.RecycleAge, LeastAge},
	} {
		if d.value != nil && (*d.value < d.least || *d.value > Longest) {
			return about(d.flag, "--%s %v: accepted are %v to %v", d.flag, *d.value, d.least, Longest)
		}
	}
	if o.Size != nil && o.Max != nil && *o.Size > *o.Max {
		return about("pool-size", "--pool-size %d is more than --pool-max %d, which bounds all kinds together: lower the one or raise the other", *o.Size, *o.Max)
	}
	return nil
}

// waiting is how many operations may wait beyond those at work, at least.
const waiting = 1000

// queue is how many operations are taken on: as many as may be at work, and as many more as
// a principal may have waiting for humans, so that it can ask about all of them at once.
func (o Options) queue() int {
	return cmp.Or(or(o.Pool.Concurrency), 2*runtime.NumCPU()) + max(waiting, o.Approvals.maxPending())
}

// config is what the pools of all backends are told. They share their turns, because
// the cores are shared too.
func (o PoolOptions) config(turns *pool.Turns, l *slog.Logger) pool.Config {
	return pool.Config{
		Turns: turns, Size: or(o.Size), MaxParked: or(o.Max),
		Sparing: o.Size != nil && *o.Size == 0, IdleAfter: or(o.Idle),
		MaxMade: or(o.RecycleRuns), MaxAge: or(o.RecycleAge), Pressure: pressure.Memory(), Logger: l,
	}
}

// or is the value, or zero, which stands for the default.
func or[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
