package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Change is one attempt to change the configuration of a running server.
type Change struct {
	// Old and New name all that was and is in force: settings, gear and rules. They are
	// equal when nothing was changed.
	Old, New execution.Digest
	// Taken are the settings that were taken up, Waiting those that need a restart.
	Taken, Waiting []string
	// Rules tells that runs are decided on otherwise than before, be it because a file of
	// gears or rules was changed.
	Rules bool
	// Refused is why nothing was changed, with file and line; empty if it was.
	Refused string
}

// ChangeLog keeps attempts to change the configuration. A change that it cannot keep is
// not made.
type ChangeLog interface {
	Changed(context.Context, Change) error
}

// Reload reads the options anew and takes up what a running server can: gear, rules and
// the numbers of the pool and of principals. read also tells which settings differ, and has put back the
// old values of those that need a restart. Either all of it counts from the next run on,
// or the error says why nothing was changed. Runs that have begun go on as they began.
//
// The attempt is kept in the change log, whatever comes of it.
func (s *Sidecar) Reload(ctx context.Context, read func() (o Options, taken, waiting []string, err error)) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.closed {
		return errors.New("the server is shutting down")
	}
	c := Change{Old: s.options.inForce(s.gears.now.Load())}
	o, taken, waiting, err := read()
	var next *chosen
	if err == nil {
		next, err = s.followable(o)
	}
	if err != nil {
		c.New, c.Refused = c.Old, err.Error()
		logChange(ctx, s.log, c)
		return errors.Join(err, s.keep(ctx, c))
	}
	c.New, c.Taken, c.Waiting = o.inForce(next), taken, waiting
	c.Rules = next.base.Digest() != s.gears.base().Digest()
	if err := s.keep(ctx, c); err != nil {
		return err
	}
	s.take(ctx, o, next, c.Rules)
	logChange(ctx, s.log, c) // when it counts
	return nil
}

func (s *Sidecar) keep(ctx context.Context, c Change) error {
	if err := s.changes.Changed(ctx, c); err != nil {
		return fmt.Errorf("record the change of the configuration: %w", err)
	}
	return nil
}

// followable checks options for a server that runs already.
func (s *Sidecar) followable(o Options) (*chosen, error) {
	next, err := choose(o, s.places.dataDir)
	if err != nil {
		return nil, err
	}
	// The interpreter and what stands ready were prepared for the one or the other.
	if from, to := s.gears.base().Isolation(), next.base.Isolation(); from != to {
		return nil, about("gear", "the gear %s has isolation: %s and the running server has %s: that takes a restart", next.base.Name(), to, from)
	}
	return o.check(s.places.dataDir)
}

// take makes options count that were checked. Questions that they decide otherwise are
// withdrawn before, so that nobody says yes to what is not asked any more, and once more
// after, because some may have been put meanwhile.
func (s *Sidecar) take(ctx context.Context, o Options, next *chosen, renewed bool) {
	s.outdate(ctx, next)
	s.options = o
	s.gears.now.Store(next)
	s.outdate(ctx, next)
	s.look()
	s.engine.SetQueue(o.queue())
	s.places.adjust(o.Pool)
	s.bounds.forAll.Store(o.Principal.bounds())
	if renewed {
		s.places.renew()
	}
}

// outdate withdraws the questions that would be decided otherwise. One that it fails for is
// found to be another one after a yes: new rules do not wait for that.
func (s *Sidecar) outdate(ctx context.Context, next *chosen) {
	asked, err := s.records.Questions(ctx, true, "", -1)
	if err == nil {
		err = s.engine.Outdate(ctx, asked, s.gears.with(next))
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "questions that changed rules have overtaken could not be withdrawn", slog.Any("error", err))
	}
}

// inForce names all that decides and bounds under the options.
func (o Options) inForce(c *chosen) execution.Digest {
	settings, rules := o.Settings, c.base.Digest()
	return execution.DigestOf([]byte("gearbox options 1"), settings[:], rules[:])
}

// adjust gives the pools new numbers.
func (p *places) adjust(o PoolOptions) {
	p.turns.SetMost(or(o.Concurrency))
	c := o.config(p.turns, p.log)
	if p.boxed != nil {
		p.boxed.Adjust(c)
	}
	if p.bare != nil {
		p.bare.Adjust(c)
	}
}

// renew prepares the sandboxes of a new gear beside the caller. Runs do not wait for it:
// rules that were tightened count at once.
func (p *places) renew() { p.working.Go(func() { p.makeReady(p.root) }) }

// logChange says in the log what came of an attempt to change the configuration.
func logChange(ctx context.Context, log *slog.Logger, c Change) {
	attrs := []slog.Attr{slog.String("old", c.Old.String()), slog.String("new", c.New.String())}
	if c.Refused != "" {
		log.LogAttrs(ctx, slog.LevelError, "the configuration stays as it was", append(attrs, slog.String("error", c.Refused))...)
		return
	}
	log.LogAttrs(ctx, slog.LevelInfo, "configuration reloaded", append(attrs, slog.Any("changed", c.Taken), slog.Bool("rules_changed", c.Rules))...)
	if len(c.Waiting) > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "changed settings wait for a restart", slog.Any("settings", c.Waiting))
	}
}
