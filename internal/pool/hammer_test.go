package pool_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// The hammer's pool is small, so that every bound is met all the time.
const (
	hammerMost     = 3
	hammerEach     = 2
	hammerCallers  = 24
	hammerRounds   = 60
	hammerParked   = 5
	hammerPeople   = 5
	hammerPatterns = 10
)

// hammer is what many callers do to one pool at once.
type hammer struct {
	*fixture
	live     atomic.Int64
	each     [hammerPeople]atomic.Int64
	served   atomic.Int64
	unserved atomic.Int64
}

func TestUnderManyCallersAndFaultsNoBoundIsBrokenAndNobodyIsForgotten(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			var short atomic.Bool
			c := pool.Config{
				Turns: pool.NewTurns(hammerMost, hammerEach), Size: 3, MaxParked: hammerParked, MaxMade: 50, Pressure: short.Load,
			}
			in(t, c, func(f *fixture) {
				h := &hammer{fixture: f}
				f.b.set(func(b *backend) { b.keep = true })
				var callers, rest sync.WaitGroup
				for i := range hammerCallers {
					callers.Go(func() { h.call(rand.New(rand.NewPCG(seed, uint64(i)))) })
				}
				done := make(chan struct{})
				rest.Go(func() { h.disturb(rand.New(rand.NewPCG(seed, 1000)), &short, done) })
				rest.Go(func() { h.look(done) })
				callers.Wait()
				close(done)
				rest.Wait()
				synctest.Wait()
				h.settle()
			})
		})
	}
}

// call asks for children, one after the other.
func (h *hammer) call(r *rand.Rand) {
	for range hammerRounds {
		who, t := r.IntN(hammerPeople), template(strconv.Itoa(r.IntN(hammerPatterns)))
		ctx, cancel := context.WithCancel(h.Context())
		if r.IntN(4) == 0 {
			go cancel() // some leave while they wait
		}
		c, release, err := h.Child(ctx, t, execution.Principal(strconv.Itoa(who)))
		switch {
		case err == nil:
			h.use(who, c, release, r)
		case ctx.Err() != nil, errors.Is(err, sandbox.ErrSourceDead): // a source may die twice under one call
			h.unserved.Add(1)
		default:
			h.Errorf("%v", err)
		}
		cancel()
	}
}

func (h *hammer) use(who int, c sandbox.Child, release func(), r *rand.Rand) {
	h.served.Add(1)
	if n := h.live.Add(1); n > 2*hammerMost {
		h.Errorf("%d children are at work", n)
	}
	if n := h.each[who].Add(1); n > hammerEach {
		h.Errorf("%d children of one principal are at work", n)
	}
	got := c.Bridge().(conn).of
	h.b.set(func(*backend) { got.given++ })
	for range r.IntN(20) {
		runtime.Gosched()
	}
	c.Kill(sandbox.CauseFinished)
	h.each[who].Add(-1)
	h.live.Add(-1)
	release()
}

// disturb lets time pass and things go wrong.
func (h *hammer) disturb(r *rand.Rand, short *atomic.Bool, done <-chan struct{}) {
	for {
		select {
		case <-done:
			short.Store(false)
			return
		default:
		}
		switch r.IntN(12) {
		case 0:
			if all := h.b.sources(); len(all) > 0 {
				all[r.IntN(len(all))].end()
			}
		case 1:
			if all := h.b.children(); len(all) > 0 {
				all[r.IntN(len(all))].Kill(sandbox.CauseNone)
			}
		case 2:
			short.Store(!short.Load())
		case 3:
			h.move(time.Duration(r.IntN(600)) * time.Second)
		default:
			h.move(time.Duration(r.IntN(10)) * time.Millisecond)
		}
		runtime.Gosched()
	}
}

// move is pass without waiting for what it brings about.
func (h *hammer) move(d time.Duration) {
	then := h.clock.Now().Add(d)
	for t := h.clock.next(then); t != nil; t = h.clock.next(then) {
		t.f()
	}
}

// look reads the pool's own account, again and again.
func (h *hammer) look(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		if s := h.Stats(); s.Live > 2*hammerMost || s.Parked > hammerParked || s.Live < 0 || s.Waiting < 0 {
			h.Errorf("%+v", s)
		}
		runtime.Gosched()
	}
}

// settle demands that everything is accounted for once nobody calls any more.
func (h *hammer) settle() {
	s := h.Stats()
	if s.Live != 0 || s.Waiting != 0 || s.FromParked+s.OnDemand != uint64(h.served.Load()) {
		h.Errorf("%d served, %+v", h.served.Load(), s)
	}
	if h.served.Load()+h.unserved.Load() != hammerCallers*hammerRounds || h.served.Load() < hammerCallers*hammerRounds/2 {
		h.Errorf("%d served, %d not", h.served.Load(), h.unserved.Load())
	}
	var ended uint64
	for _, n := range s.Ended {
		ended += n
	}
	if ended != uint64(h.served.Load()) {
		h.Errorf("%d served, %d ended", h.served.Load(), ended)
	}
	h.b.set(func(b *backend) {
		for _, c := range b.all {
			if c.given > 1 {
				h.Error("a child was handed out twice")
			}
		}
	})
	if alive := h.b.alive(); alive != s.Parked {
		h.Errorf("%d children are alive, %d parked", alive, s.Parked)
	}
}
