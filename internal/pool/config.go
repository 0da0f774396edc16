package pool

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The defaults of [Config], and what cannot be configured.
const (
	// parkedPerCore bounds the parked children of all templates. Each holds some 4 MB.
	parkedPerCore = 4
	// maxSources bounds the sources that are kept. Each holds an interpreter of some
	// 25 MB; a server rarely has more than one or two gears in use.
	maxSources = 8

	defaultIdleAfter  = 5 * time.Minute
	defaultCloseAfter = 30 * time.Minute
	defaultMaxAge     = time.Hour
	defaultMaxMade    = 10_000

	// quiet is how long after a checkout nothing is made in the background: most
	// programs are done by then, and making a child would slow them down.
	quiet = 6 * time.Millisecond
	// maxQuiet is how long that may be put off by further checkouts.
	maxQuiet = 4 * quiet
	// tickEvery is how often idle and old sources and the memory are looked at.
	tickEvery = 5 * time.Second
	// steady is how long a source lives that did not die of being opened.
	steady = 30 * time.Second
	// maxFailures is how many children in a row a source may fail to make before it is
	// replaced: it may be stuck.
	maxFailures = 3
	// maxLinger is how long a source that was replaced waits for its last child. No
	// program may run that long, pauses for a human included, so that a child that is left is stuck with its source.
	maxLinger = 20 * time.Minute
)

// Clock is the time of the host.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, after d, unless it is stopped before.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// Config is what a pool may be told. The zero value of a field is its default.
type Config struct {
	// Turns bound the children at work. Pools that share them share the bounds.
	// Nil makes turns of the pool's own, with their defaults.
	Turns *Turns
	// Least is the weakest wall that a child is handed out behind; by default any.
	// The level of a template may change when its source is opened anew.
	Least execution.Level
	// Size is how many children of a template in use are parked; 0 means as many as
	// may be at work.
	Size int
	// MaxParked bounds them over all templates; 0 means four per core, or Size if that
	// is more.
	MaxParked int
	// Sparing says that no children are made in advance, as for a process that runs one
	// program. The child that a source was tried with is parked all the same.
	Sparing bool
	// IdleAfter is how long a template may be unused before it is down to one parked
	// child, by default 5 minutes, and CloseAfter before its source is closed, by
	// default 30 minutes.
	IdleAfter, CloseAfter time.Duration
	// MaxAge and MaxMade are the age and the number of children at which a source is
	// replaced, by default an hour and 10,000.
	MaxAge  time.Duration
	MaxMade int
	// Pressure reports that memory is short. It is asked every few seconds and before
	// children are parked, never while a caller waits. Nil means never.
	Pressure func() bool
	// Clock is by default the machine's.
	Clock Clock
	// Logger is told of sources that end and of children that cannot be made in the
	// background. Nil means nobody is.
	Logger *slog.Logger
}

// filled is c with its defaults.
func (c Config) filled() Config {
	if c.Turns == nil {
		c.Turns = NewTurns(0, 0)
	}
	if c.MaxParked <= 0 {
		c.MaxParked = max(parkedPerCore*runtime.NumCPU(), c.Size)
	}
	if c.Size <= 0 {
		c.Size = c.Turns.Most()
	}
	if c.IdleAfter <= 0 {
		c.IdleAfter = defaultIdleAfter
	}
	if c.CloseAfter <= 0 {
		c.CloseAfter = max(defaultCloseAfter, c.IdleAfter)
	}
	if c.MaxAge <= 0 {
		c.MaxAge = defaultMaxAge
	}
	if c.MaxMade <= 0 {
		c.MaxMade = defaultMaxMade
	}
	if c.Pressure == nil {
		c.Pressure = func() bool { return false }
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
