package pool_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// holdAll takes all that is parked of a template, and keeps it.
func (f *fixture) holdAll(t sandbox.Template) []run {
	f.Helper()
	var runs []run
	for f.stand(t).Parked > 0 {
		runs = append(runs, f.take(t, execution.Principal(strconv.Itoa(len(runs)))))
	}
	return runs
}

// warmths tells of the children made since the n-th whether they were warmed up.
func (s *source) warmths(n int) []bool {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return slices.Clone(s.warm[n:])
}

func TestAfterAQuietRunEverythingIsParkedAndWarm(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.take(one, execution.Local).end()
		synctest.Wait() // no time passes: nothing is at work
		if got := f.stand(one); got.Parked != 4 || got.Warm != 4 || got.Target != 4 {
			f.Errorf("%+v", got)
		}
		if got := f.Stats(); got.Parked != 4 || got.Live != 0 || got.Refills < 4 || got.Warmed != 4 {
			f.Errorf("%+v", got)
		}
	})
}

func TestNothingIsMadeInAdvanceJustAfterACheckout(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		r := f.take(one, execution.Local)
		f.pass(6*time.Millisecond - 1)
		if got := f.stand(one); got.Parked != 3 {
			f.Errorf("refilled while a program had just begun: %+v", got)
		}
		f.pass(1)
		if got := f.stand(one); got.Parked != 4 {
			f.Errorf("not refilled under a program that goes on: %+v", got)
		}
		r.end()
	})
}

func TestFurtherCheckoutsPutTheRefillOffButNotForEver(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(16, 0), MaxParked: 16}, func(f *fixture) {
		f.full(one)
		var runs []run
		for range 6 { // at 0, 4, … 20 ms
			runs = append(runs, f.take(one, execution.Local))
			f.pass(4*time.Millisecond - 1)
			if got := f.stand(one); got.Parked != 16-len(runs) {
				f.Errorf("after %d checkouts: %+v", len(runs), got)
			}
			f.pass(1)
		}
		if got := f.stand(one); got.Parked != 16 {
			f.Errorf("after 24 ms: %+v", got)
		}
		for _, r := range runs {
			r.end()
		}
	})
}

func TestARefillIsNotPutOffWhenLittleIsLeft(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		var runs []run
		for range 3 { // at 0, 4 and 8 ms; the second leaves half
			runs = append(runs, f.take(one, execution.Local))
			f.pass(4 * time.Millisecond)
		}
		if got := f.stand(one); got.Parked != 4 {
			f.Errorf("after 12 ms: %+v", got)
		}
		for _, r := range runs {
			r.end()
		}
	})
}

func TestTheLastParkedChildrenAreForThoseWhoHaveFew(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		var runs []run
		for _, c := range []struct {
			who    execution.Principal
			parked int
		}{
			{"hog", 3}, {"other", 2}, {"hog", 1}, // has no more than half of the places
			{"hog", 1}, // has more than half, and nobody had to wait for a child to be made but it
			{"other", 0},
		} {
			runs = append(runs, f.take(one, c.who))
			if got := f.stand(one); got.Parked != c.parked {
				f.Errorf("%s: %d are parked, want %d", c.who, got.Parked, c.parked)
			}
		}
		for _, r := range runs {
			r.end()
		}
	})
}

func TestAPrincipalAloneMayHaveAllThatIsParked(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.take(one, "another").end()
		f.full(one)
		f.pass(5 * time.Minute)
		f.full(one)
		var runs []run
		for range 4 {
			runs = append(runs, f.take(one, execution.Local))
		}
		if got := f.stand(one); got.Parked != 0 {
			f.Errorf("%+v", got)
		}
		for _, r := range runs {
			r.end()
		}
	})
}

func TestBelowHalfChildrenAreMadeQuicklyAndWarmedUpLater(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		runs := f.holdAll(one)
		made := f.stand(one).Made
		f.pass(time.Second)
		if got, want := f.b.sources()[0].warmths(made), []bool{false, false, true, true}; !slices.Equal(got, want) {
			f.Errorf("warmed up: %v, want %v", got, want)
		}
		for _, r := range runs {
			r.end()
		}
		synctest.Wait()
		if got := f.stand(one); got.Parked != 4 || got.Warm != 4 {
			f.Errorf("at rest: %+v", got)
		}
	})
}

func TestAWarmChildIsHandedOutFirst(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		runs := f.holdAll(one)
		f.pass(time.Second) // two cold ones, then two warm ones
		for i, want := range []bool{true, true, false, false} {
			r := f.take(one, execution.Principal("another "+strconv.Itoa(i)))
			if r.warm != want {
				f.Errorf("child %d is warm: %v", i, r.warm)
			}
			runs = append(runs, r)
		}
		for _, r := range runs {
			r.end()
		}
	})
}

func TestAChildMadeForACallerIsNotWarmedUp(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		runs := f.holdAll(one)
		before := f.Stats().OnDemand
		r := f.take(one, "another")
		if r.warm || f.Stats().OnDemand != before+1 {
			f.Errorf("warm: %v, %+v", r.warm, f.Stats())
		}
		for _, r := range append(runs, r) {
			r.end()
		}
	})
}

func TestOneChildAtATimeIsMadeInAdvance(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		runs := f.holdAll(one)
		step := make(chan struct{})
		f.b.set(func(b *backend) { b.step = step })
		f.pass(time.Second)
		for i := range 4 {
			synctest.Wait()
			if n, got := f.b.startingNow(), f.stand(one); n != 1 || got.Parked != i {
				f.Errorf("%d are being made, %+v", n, got)
			}
			step <- struct{}{}
		}
		f.b.set(func(b *backend) { b.step = nil })
		for _, r := range runs {
			r.end()
		}
	})
}

func TestParkedChildrenAreBoundedOverAllTemplatesAndSharedEvenly(t *testing.T) {
	in(t, pool.Config{MaxParked: 8}, func(f *fixture) {
		for i := range 5 {
			f.full(template(strconv.Itoa(i)))
			if n := f.Stats().Parked; n > 8 {
				f.Errorf("%d parked", n)
			}
		}
		got := f.Stats()
		for i, s := range got.Templates {
			if want := []int{2, 2, 2, 1, 1}[i]; s.Parked != want {
				f.Errorf("template %d: %d parked, want %d", i, s.Parked, want)
			}
		}
		if got.Parked != 8 || f.b.alive() != 8 {
			f.Errorf("%d parked, %d alive", got.Parked, f.b.alive())
		}
	})
}

func TestASparingPoolMakesNothingInAdvance(t *testing.T) {
	in(t, pool.Config{Sparing: true}, func(f *fixture) {
		if _, err := f.Level(f.Context(), one); err != nil {
			f.Fatal(err)
		}
		f.full(one)
		f.full(one)
		if got := f.Stats(); got.Refills != 0 || got.FromParked != 1 || got.OnDemand != 1 {
			f.Errorf("%+v", got)
		}
	})
}

func TestAParkedChildThatDiesIsNotHandedOut(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		for _, c := range f.b.children() {
			c.Kill(sandbox.CauseNone)
		}
		synctest.Wait()
		if got := f.Stats(); got.Died != 4 || got.Parked+f.b.alive() != 2*got.Parked {
			f.Errorf("%+v", got)
		}
		f.pass(time.Minute)
		if got := f.stand(one); got.Parked != 4 {
			f.Errorf("not replaced: %+v", got)
		}
	})
}

func TestChildrenThatKeepDyingAreMadeMoreAndMoreRarely(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		f.b.set(func(b *backend) { b.sickly = true })
		for _, c := range f.b.children() {
			c.Kill(sandbox.CauseNone)
		}
		made := f.stand(one).Made
		f.pass(time.Hour / 4)
		if n := f.stand(one).Made - made; n == 0 || n > 100 {
			f.Errorf("%d were made in a quarter of an hour", n)
		}
		f.b.set(func(b *backend) { b.sickly = false })
		f.take(one, execution.Local).end()
		f.pass(2 * time.Minute)
		if got := f.stand(one); got.Parked != 4 {
			f.Errorf("%+v", got)
		}
	})
}

func TestChildrenThatCannotBeMadeInAdvanceAreTriedMoreAndMoreRarely(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		runs := f.holdAll(one)
		broken := errors.New("no more processes")
		f.b.set(func(b *backend) { b.startErr = broken })
		f.pass(time.Hour / 4)
		f.b.mu.Lock()
		n := f.b.refused
		f.b.mu.Unlock()
		if n == 0 || n > 60 {
			f.Errorf("%d attempts in a quarter of an hour", n)
		}
		if _, _, err := f.Child(f.Context(), one, "another"); !errors.Is(err, broken) {
			f.Errorf("a caller is told %v", err)
		}
		f.b.set(func(b *backend) { b.startErr = nil })
		f.take(one, "another").end() // a caller is not made to wait for the background
		f.pass(2 * time.Minute)
		if got := f.stand(one); got.Parked != 4 {
			f.Errorf("%+v", got)
		}
		for _, r := range runs {
			r.end()
		}
	})
}
