// Package pool hands out parked children by template. It opens a source the
// first time a template is asked for, opens another one when a source has died,
// and closes the ones that nobody has used for longest when there are too many.
//
// How a child is made is the backend's business; who may have one is the engine's.
package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// maxSources bounds the fork servers that are kept. Each holds an interpreter
// of some 25 MB; a server rarely has more than one or two gears in use.
const maxSources = 8

// attempts is how often a child is asked for when sources die under it: once
// more than can be bad luck is a fault that will not go away by itself.
const attempts = 2

// Pool is safe for concurrent use.
type Pool struct {
	backend sandbox.Backend

	mu      sync.Mutex // guards what follows, and the entries' uses and used
	entries map[sandbox.Template]*entry
	tick    uint64
	closed  bool
}

// entry is one source, possibly still being opened.
type entry struct {
	ready  chan struct{} // closed once source or err is set
	source sandbox.Source
	err    error

	uses int    // children out, and callers waiting
	used uint64 // the tick of the last use
}

// New makes a pool over a backend.
func New(b sandbox.Backend) *Pool {
	return &Pool{backend: b, entries: map[sandbox.Template]*entry{}}
}

// Child returns a parked child of the template. The caller kills it, waits for
// its end, and calls release once.
func (p *Pool) Child(ctx context.Context, t sandbox.Template, _ execution.Principal) (sandbox.Child, func(), error) {
	var err error
	for range attempts {
		var e *entry
		if e, err = p.take(ctx, t); err != nil {
			return nil, nil, err
		}
		var c sandbox.Child
		if c, err = p.start(ctx, e); err == nil {
			return c, sync.OnceFunc(func() { p.release(e) }), nil
		}
		p.release(e)
		if !errors.Is(err, sandbox.ErrSourceDead) {
			break
		}
		p.drop(t, e)
		_ = e.source.Close() // it is dead: this only lets go of what it held
	}
	return nil, nil, err
}

// Level opens the template's source, if it is not open yet, and tells how strong
// the wall around its children is. An error means that none can be made.
func (p *Pool) Level(ctx context.Context, t sandbox.Template) (execution.Level, error) {
	e, err := p.take(ctx, t)
	if err != nil {
		return "", err
	}
	defer p.release(e)
	if err := p.wait(ctx, e); err != nil {
		return "", err
	}
	return e.source.Level(), nil
}

func (p *Pool) start(ctx context.Context, e *entry) (sandbox.Child, error) {
	if err := p.wait(ctx, e); err != nil {
		return nil, err
	}
	return e.source.Start(ctx, false)
}

func (p *Pool) wait(ctx context.Context, e *entry) error {
	select {
	case <-e.ready:
		return e.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take finds or begins the entry for a template and counts a use.
func (p *Pool) take(ctx context.Context, t sandbox.Template) (*entry, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fmt.Errorf("pool is closed: %w", sandbox.ErrSourceDead)
	}
	e := p.entries[t]
	var idle *entry
	if e == nil {
		idle = p.shrink()
		e = &entry{ready: make(chan struct{})}
		p.entries[t] = e
		// Opening outlives the caller who asked first: others wait for it too.
		go p.open(context.WithoutCancel(ctx), t, e)
	}
	p.tick++
	e.uses, e.used = e.uses+1, p.tick
	p.mu.Unlock()
	if idle != nil {
		<-idle.ready
		_ = idle.close()
	}
	return e, nil
}

func (p *Pool) open(ctx context.Context, t sandbox.Template, e *entry) {
	e.source, e.err = p.backend.Open(ctx, t)
	if e.err == nil {
		if e.err = try(ctx, e.source); e.err != nil {
			_ = e.source.Close()
		}
	}
	if e.err != nil {
		p.drop(t, e)
	}
	close(e.ready)
}

// try makes one child and ends it: several systems let a fork server start and
// then refuse what its children need.
func try(ctx context.Context, s sandbox.Source) error {
	c, err := s.Start(ctx, false)
	if err != nil {
		return err
	}
	c.Kill(sandbox.CauseAbandoned)
	_, err = c.Wait(ctx)
	return err
}

// shrink takes the least recently used idle entry out when there are too many.
func (p *Pool) shrink() *entry {
	if len(p.entries) < maxSources {
		return nil
	}
	var oldest *entry
	var key sandbox.Template
	for t, e := range p.entries {
		if e.uses == 0 && (oldest == nil || e.used < oldest.used) {
			oldest, key = e, t
		}
	}
	if oldest != nil {
		delete(p.entries, key)
	}
	return oldest
}

func (p *Pool) release(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.uses--
}

// drop forgets an entry that is of no more use, so that the next caller opens
// another. Its source, if there is one, is dead.
func (p *Pool) drop(t sandbox.Template, e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[t] == e {
		delete(p.entries, t)
	}
}

func (e *entry) close() error {
	if e.source == nil {
		return nil
	}
	return e.source.Close()
}

// Close closes every source and kills what runs in it.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	entries := p.entries
	p.entries = map[sandbox.Template]*entry{}
	p.mu.Unlock()
	var errs []error
	for _, e := range entries {
		<-e.ready
		errs = append(errs, e.close())
	}
	return errors.Join(errs...)
}
