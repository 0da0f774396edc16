package pool_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
)

// queue has callers wait for a child each. What they get is kept until it is ended.
type queue struct {
	f    *fixture
	mu   sync.Mutex
	runs []run // in the order in which they were served
	who  []execution.Principal
}

// join adds a caller, who has asked when join returns.
func (q *queue) join(who execution.Principal) {
	go func() {
		r := q.f.take(one, who)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.runs, q.who = append(q.runs, r), append(q.who, who)
	}()
	synctest.Wait()
}

// served is how many have a child.
func (q *queue) served() int {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.runs)
}

// end ends the run that was served i-th.
func (q *queue) end(i int) {
	q.mu.Lock()
	r := q.runs[i]
	q.mu.Unlock()
	r.end()
	synctest.Wait()
}

// drain ends every run from the i-th on, those that are served meanwhile included.
func (q *queue) drain(i int) {
	for ; i < q.served(); i++ {
		q.end(i)
	}
}

func TestAPrincipalAloneMayHaveAllPlacesAndNoMore(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(4, 0)}, func(f *fixture) {
		q := &queue{f: f}
		for range 10 {
			q.join(execution.Local)
		}
		if got := f.Stats(); q.served() != 4 || got.Live != 4 || got.Waiting != 6 {
			f.Errorf("%d served, %+v", q.served(), got)
		}
		q.end(0)
		if got := f.Stats(); q.served() != 5 || got.Live != 4 || got.Waiting != 5 {
			f.Errorf("%d served, %+v", q.served(), got)
		}
		q.drain(1)
		if q.served() != 10 {
			f.Errorf("%d served in the end", q.served())
		}
	})
}

func TestWhoTakesAllPlacesMakesNobodyElseWait(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(4, 0)}, func(f *fixture) {
		q := &queue{f: f}
		for range 100 {
			q.join("hog")
		}
		for _, c := range []struct {
			who    execution.Principal
			served int
		}{
			{"a", 5},           // has nothing at work
			{"a", 6},           // the last child may still be being taken apart
			{"a", 6},           // enough
			{"b", 7}, {"b", 7}, // half of the extra places are for second children
			{"c", 8}, {"d", 8}, // and there are not more than twice the places
			{"hog", 8}, {"e", 8}, // whoever asks
		} {
			if q.join(c.who); q.served() != c.served {
				f.Errorf("%s asked: %d served, want %d", c.who, q.served(), c.served)
			}
		}
		q.drain(0)
		if q.served() != 100+9 {
			f.Errorf("%d served in the end", q.served())
		}
	})
}

func TestPrincipalsAreServedInTurnAndEachInOrder(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(1, 0)}, func(f *fixture) {
		q := &queue{f: f}
		for _, who := range []execution.Principal{"x", "y", "a", "a", "a", "b", "b", "c"} {
			q.join(who) // x and y are served at once
		}
		if q.served() != 2 {
			f.Fatalf("%d served", q.served())
		}
		q.end(0)
		for i := 2; i < 8; i++ {
			if q.served() != i+1 {
				f.Fatalf("%d served, want %d", q.served(), i+1)
			}
			q.end(i)
		}
		q.end(1)
		if want := []execution.Principal{"x", "y", "a", "b", "c", "a", "b", "a"}; !slices.Equal(q.who, want) {
			f.Errorf("%v, want %v", q.who, want)
		}
	})
}

func TestABoundForEachPrincipalHolds(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(4, 1)}, func(f *fixture) {
		q := &queue{f: f}
		for _, who := range []execution.Principal{"a", "a", "a", "b", "b"} {
			q.join(who)
		}
		if q.served() != 2 {
			f.Errorf("%d served", q.served())
		}
		q.drain(0)
		if q.served() != 5 {
			f.Errorf("%d served in the end", q.served())
		}
	})
}

func TestWhoStopsWaitingHoldsNothing(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(1, 0)}, func(f *fixture) {
		held := f.take(one, "a")
		ctx, leave := context.WithCancel(f.Context())
		left := make(chan error)
		go func() {
			_, _, err := f.Child(ctx, one, "a")
			left <- err
		}()
		q := &queue{f: f}
		q.join("a")
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			f.Errorf("%v", err)
		}
		held.end()
		if q.served() != 1 || f.Stats().Waiting != 0 {
			f.Errorf("%d served, %+v", q.served(), f.Stats())
		}
		q.drain(0)
	})
}

func TestAPlaceGrantedToSomebodyWhoLeavesGoesToTheNext(t *testing.T) {
	for i := range 200 { // the two meet differently each time
		in(t, pool.Config{Turns: pool.NewTurns(1, 0)}, func(f *fixture) {
			held := f.take(one, "a")
			ctx, leave := context.WithCancel(f.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if c, release, err := f.Child(ctx, one, "a"); err == nil {
					(run{c.Bridge().(conn).of, c, release}).end()
				}
			})
			synctest.Wait()
			wg.Go(leave)
			wg.Go(held.end)
			wg.Wait()
			f.take(one, "a").end()
			if got := f.Stats(); got.Live != 0 || got.Waiting != 0 {
				f.Errorf("round %d: %+v", i, got)
			}
		})
	}
}

func TestPoolsThatShareTurnsShareTheirBounds(t *testing.T) {
	turns := pool.NewTurns(1, 0)
	in(t, pool.Config{Turns: turns}, func(f *fixture) {
		other := pool.New(f.b, pool.Config{Turns: turns, Clock: f.clock})
		held := f.take(one, "a")
		q := &queue{f: &fixture{T: f.T, Pool: other, b: f.b, clock: f.clock}}
		q.join("a")
		if q.served() != 0 {
			f.Error("both pools have a child at work")
		}
		held.end()
		q.drain(0)
		if q.served() != 1 {
			f.Error("the turn did not pass to the other pool")
		}
		if err := other.Close(); err != nil {
			f.Error(err)
		}
	})
}
