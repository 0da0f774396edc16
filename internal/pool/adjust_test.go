package pool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
)

func TestAdjustedNumbersMakeWhatIsMissingAndLetGoWhatIsTooMuch(t *testing.T) {
	turns := pool.NewTurns(4, 0)
	in(t, pool.Config{Turns: turns, Size: 2}, func(f *fixture) {
		f.full(one)
		f.Adjust(pool.Config{Size: 5, MaxParked: 6})
		synctest.Wait()
		if got := f.stand(one); got.Parked != 5 || got.Target != 5 || f.Stats().MaxParked != 6 {
			f.Errorf("more: %+v", got)
		}
		f.Adjust(pool.Config{Size: 1})
		synctest.Wait()
		if got := f.stand(one); got.Parked != 1 || f.b.alive() != 1 {
			f.Errorf("fewer: %+v, %d alive", got, f.b.alive())
		}
		turns.SetMost(3)
		f.Adjust(pool.Config{})
		synctest.Wait()
		if got := f.stand(one); got.Parked != 3 {
			f.Errorf("by default as many as may be at work: %+v", got)
		}
	})
}

func TestAdjustedTimesCountForWhatStandsReadyAlready(t *testing.T) {
	in(t, pool.Config{IdleAfter: time.Hour}, func(f *fixture) {
		f.full(one)
		f.pass(10 * time.Minute)
		if got := f.stand(one); got.Parked != 4 {
			f.Fatalf("%+v", got)
		}
		f.Adjust(pool.Config{IdleAfter: time.Minute})
		f.pass(10 * time.Second)
		if got := f.stand(one); got.Parked != 1 {
			f.Errorf("%+v", got)
		}
	})
}

func TestMorePlacesServeThoseWhoWaitAndFewerTakeNobodysAway(t *testing.T) {
	turns := pool.NewTurns(2, 0)
	in(t, pool.Config{Turns: turns}, func(f *fixture) {
		q := &queue{f: f}
		for range 6 {
			q.join(execution.Local)
		}
		if q.served() != 2 {
			f.Fatalf("%d served", q.served())
		}
		turns.SetMost(4)
		if got := f.Stats(); q.served() != 4 || got.Most != 4 || got.Waiting != 2 {
			f.Errorf("%d served, %+v", q.served(), got)
		}
		turns.SetMost(1)
		q.end(0)
		q.end(1)
		if got := f.Stats(); q.served() != 4 || got.Live != 2 {
			f.Errorf("%d served, %+v", q.served(), got)
		}
		q.drain(2)
		if q.served() != 6 {
			f.Errorf("%d served in the end", q.served())
		}
	})
}
