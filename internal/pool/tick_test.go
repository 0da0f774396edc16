package pool_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
)

func TestATemplateThatIsNotUsedShrinksAndIsGivenUp(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		f.pass(5 * time.Minute)
		if got := f.stand(one); got.Parked != 1 || got.Target != 1 {
			f.Errorf("after five minutes: %+v", got)
		}
		f.pass(25 * time.Minute)
		if got := f.Stats(); got.Parked != 0 || got.Sources != 0 || len(got.Templates) != 0 || !f.b.sources()[0].isClosed() {
			f.Errorf("after half an hour: %+v", got)
		}
		if n := f.clock.pending(); n != 0 {
			f.Errorf("%d timers are set for nothing", n)
		}
		f.full(one)
		if got := f.stand(one); got.Parked != 4 {
			f.Errorf("used again: %+v", got)
		}
	})
}

func TestAnIdleTemplateThatIsUsedAgainGrowsAgain(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		f.pass(6 * time.Minute)
		f.full(one)
		if got := f.stand(one); got.Parked != 4 || f.Stats().Opened != 1 {
			f.Errorf("%+v", got)
		}
	})
}

func TestATemplateWithAProgramAtWorkIsNotGivenUp(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		r := f.take(one, execution.Local)
		f.pass(time.Hour / 2)
		if f.b.sources()[0].isClosed() {
			f.Error("its source was closed under it")
		}
		r.end()
	})
}

// busy uses the template every minute for some time.
func (f *fixture) busy(d time.Duration) {
	for range d / time.Minute {
		f.take(one, execution.Local).end()
		f.pass(time.Minute)
	}
}

func TestAnOldSourceIsReplacedBehindTheScenes(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		r := f.take(one, "slow")
		f.busy(59 * time.Minute)
		if got := f.Stats(); got.Opened != 1 || got.Recycled != 0 {
			f.Fatalf("before its time: %+v", got)
		}
		onDemand := f.Stats().OnDemand
		slow := make(chan struct{})
		f.b.set(func(b *backend) { b.slow = slow })
		f.busy(2 * time.Minute)
		if got := f.Stats(); got.Opened != 1 || got.OnDemand != onDemand {
			f.Errorf("while the new one is being opened the old one serves: %+v", got)
		}
		close(slow)
		f.pass(time.Second)
		got, stand := f.Stats(), f.stand(one)
		if got.Opened != 2 || got.Recycled != 1 || got.Sources != 2 || stand.Parked != 4 || stand.Made > 8 {
			f.Errorf("%+v", got)
		}
		old := f.b.sources()[0]
		if n := old.living(); n != 1 || old.isClosed() {
			f.Errorf("the old one has %d children and is closed: %v", n, old.isClosed())
		}
		r.end()
		synctest.Wait()
		if !old.isClosed() || f.Stats().Sources != 1 {
			f.Error("the old one stays open without children")
		}
	})
}

func TestASourceThatHasMadeManyChildrenIsReplaced(t *testing.T) {
	in(t, pool.Config{MaxMade: 20}, func(f *fixture) {
		for range 40 {
			f.full(one)
		}
		got := f.Stats()
		if got.Recycled < 1 || got.Sources != 1 || got.OnDemand > 1 {
			f.Errorf("%+v", got)
		}
		for i, s := range f.b.sources() {
			if n := len(s.warmths(0)); n > 20+8 {
				f.Errorf("source %d made %d children", i, n)
			}
		}
	})
}

func TestASourceThatCannotBeReplacedGoesOn(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		f.b.set(func(b *backend) { b.openErr = errors.New("no memory") })
		f.busy(70 * time.Minute)
		if got := f.Stats(); got.Recycled != 0 || got.OnDemand != 1 || got.Parked != 4 {
			f.Errorf("%+v", got)
		}
		f.b.set(func(b *backend) { b.openErr = nil })
		f.busy(2 * time.Minute)
		if got := f.Stats(); got.Recycled != 1 {
			f.Errorf("%+v", got)
		}
	})
}

func TestASourceThatMakesNoChildrenAnyMoreIsReplaced(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		stuck := f.b.sources()[0]
		f.b.set(func(b *backend) { b.stuck = stuck })
		held := f.holdAll(one)
		for range 3 {
			if _, _, err := f.Child(f.Context(), one, "another"); err == nil {
				f.Error("a child of a source that is stuck")
			}
		}
		f.pass(time.Minute)
		f.take(one, "another").end()
		for _, r := range held {
			r.end()
		}
		synctest.Wait()
		if got := f.Stats(); !stuck.isClosed() || got.Recycled != 1 || got.Sources != 1 {
			f.Errorf("%+v", got)
		}
	})
}

func TestASourceWithAChildThatNeverEndsIsClosedInTheEnd(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		r := f.take(one, "slow")
		f.busy(61 * time.Minute)
		f.busy(18 * time.Minute)
		old := f.b.sources()[0]
		if old.isClosed() {
			f.Error("closed too early")
		}
		f.busy(3 * time.Minute)
		if !old.isClosed() {
			f.Error("not closed")
		}
		r.release()
	})
}

func TestWhileMemoryIsShortNothingIsParkedAndCallersAreServed(t *testing.T) {
	var short atomic.Bool
	in(t, pool.Config{Pressure: short.Load}, func(f *fixture) {
		f.full(one)
		letGo := f.Stats().LetGo
		short.Store(true)
		f.pass(5 * time.Second)
		if got := f.Stats(); got.Parked != 0 || !got.Pressed || got.LetGo != letGo+4 || f.b.alive() != 0 {
			f.Errorf("%+v, %d alive", got, f.b.alive())
		}
		f.full(one)
		f.full(two)
		if got := f.Stats(); got.OnDemand != 3 || got.Parked != 0 || f.b.alive() != 0 {
			f.Errorf("%+v", got)
		}
		short.Store(false)
		f.pass(5 * time.Second)
		if got := f.Stats(); got.Parked != 8 || got.Pressed {
			f.Errorf("%+v", got)
		}
	})
}

func TestMemoryIsAskedForBeforeChildrenAreParked(t *testing.T) {
	in(t, pool.Config{Pressure: func() bool { return true }}, func(f *fixture) {
		f.take(one, execution.Local).end()
		synctest.Wait()
		if got := f.Stats(); got.Parked != 0 || got.Refills != 0 {
			f.Errorf("%+v", got)
		}
	})
}
