package pool_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

var (
	one = template("one")
	two = template("two")
)

func TestOneSourceServesATemplate(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() { f.take(one, execution.Local).end() })
		}
		wg.Wait()
		f.take(two, execution.Local).end()
		if n := len(f.b.sources()); n != 2 {
			f.Errorf("%d sources for two templates", n)
		}
	})
}

func TestTheChildThatTriedTheSourceServesTheFirstCaller(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		if level, err := f.Level(f.Context(), one); err != nil || level != execution.LevelFull {
			f.Fatal(level, err)
		}
		f.pass(time.Minute)
		if got := f.stand(one); got.Parked != 1 || got.Made != 1 {
			f.Errorf("a template that nobody has used: %+v", got)
		}
		f.take(one, execution.Local).end()
		if got := f.Stats(); got.FromParked != 1 || got.OnDemand != 0 {
			f.Errorf("%+v", got)
		}
	})
}

func TestASourceThatCannotBeOpenedIsTriedAgainByTheNextCaller(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		broken := errors.New("no user namespaces")
		f.b.set(func(b *backend) { b.openErr = broken })
		if _, err := f.Level(f.Context(), one); !errors.Is(err, broken) {
			f.Errorf("%v", err)
		}
		if _, _, err := f.Child(f.Context(), one, execution.Local); !errors.Is(err, broken) {
			f.Errorf("%v", err)
		}
		f.b.set(func(b *backend) { b.openErr = nil })
		if level, err := f.Level(f.Context(), one); err != nil || level != execution.LevelFull {
			f.Errorf("%s, %v", level, err)
		}
	})
}

func TestASourceThatMakesNoChildrenIsClosedAndSaysWhy(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		broken := errors.New("mount: permission denied")
		f.b.set(func(b *backend) { b.startErr = broken })
		if _, err := f.Level(f.Context(), one); !errors.Is(err, broken) {
			f.Errorf("%v", err)
		}
	})
}

func TestNothingIsHandedOutBehindAWallThatIsTooWeak(t *testing.T) {
	in(t, pool.Config{Least: execution.LevelNoProc}, func(f *fixture) {
		f.b.level = execution.LevelNoUserns
		if level, err := f.Level(f.Context(), one); err != nil || level != execution.LevelNoUserns {
			f.Errorf("%s, %v", level, err)
		}
		if _, _, err := f.Child(f.Context(), one, execution.Local); err == nil {
			f.Error("a child was handed out")
		}
	})
}

func TestADeadSourceIsReplacedUnnoticed(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		first := f.b.sources()[0]
		first.end()
		f.take(one, execution.Local).end()
		synctest.Wait()
		got := f.Stats()
		if n := len(f.b.sources()); n != 2 || !first.isClosed() || got.Lost != 1 || got.Sources != 1 {
			f.Errorf("%d sources, the dead one closed: %v, %+v", n, first.isClosed(), got)
		}
	})
}

func TestADeadSourceIsReplacedBeforeAnybodyAsks(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		f.b.sources()[0].end()
		f.pass(time.Second)
		if got := f.stand(one); got.Parked != got.Target || got.Level == "" {
			f.Errorf("%+v", got)
		}
	})
}

func TestSourcesThatEndAsSoonAsTheyAreOpenedFailTheCallPlainly(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.b.set(func(b *backend) { b.stillborn = true })
		if _, _, err := f.Child(f.Context(), one, execution.Local); !errors.Is(err, sandbox.ErrSourceDead) {
			f.Errorf("%v", err)
		}
		// The call asked twice; and what is done about it in the background thins out.
		f.pass(time.Hour)
		if n := len(f.b.sources()); n > 80 {
			f.Errorf("%d sources were opened within an hour", n)
		}
		f.b.set(func(b *backend) { b.stillborn = false })
		f.take(one, execution.Local).end()
	})
}

func TestTheTemplateUnusedForLongestMakesRoom(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		busy := f.take(template("0"), execution.Local)
		for i := 1; i < 8; i++ {
			f.pass(time.Second)
			f.take(template(strconv.Itoa(i)), execution.Local).end()
		}
		f.pass(time.Second)
		f.take(template("1"), execution.Local).end() // used again: the second is now the oldest idle one
		f.take(template("8"), execution.Local).end()
		synctest.Wait()
		for i, s := range f.b.sources() {
			if s.isClosed() != (i == 2) {
				f.Errorf("source %d closed: %v", i, s.isClosed())
			}
		}
		busy.end()
	})
}

func TestCloseEndsEverythingAndTakesNoMore(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(1, 0)}, func(f *fixture) {
		held := f.take(one, execution.Local)
		waits := make(chan error, 1)
		go func() {
			_, _, err := f.Child(f.Context(), one, execution.Local)
			waits <- err
		}()
		synctest.Wait()
		if err := f.Close(); err != nil {
			f.Fatal(err)
		}
		if err := <-waits; !errors.Is(err, pool.ErrClosed) {
			f.Errorf("who waited got %v", err)
		}
		held.release()
		if _, _, err := f.Child(f.Context(), one, execution.Local); !errors.Is(err, pool.ErrClosed) {
			f.Errorf("%v", err)
		}
		if _, err := f.Level(f.Context(), two); !errors.Is(err, pool.ErrClosed) {
			f.Errorf("%v", err)
		}
	})
}

func TestCloseDoesNotWaitForASourceThatIsSlowToOpen(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.b.set(func(b *backend) { b.slow = make(chan struct{}) })
		asked := make(chan error, 1)
		go func() {
			_, _, err := f.Child(f.Context(), one, execution.Local)
			asked <- err
		}()
		synctest.Wait()
		if err := f.Close(); err != nil {
			f.Error(err)
		}
		if err := <-asked; err == nil {
			f.Error("a child of a closed pool")
		}
	})
}

func TestACallerWhoLeavesDoesNotStopTheOpening(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		slow := make(chan struct{})
		f.b.set(func(b *backend) { b.slow = slow })
		ctx, leave := context.WithCancel(f.Context())
		asked := make(chan error, 1)
		go func() {
			_, err := f.Level(ctx, one)
			asked <- err
		}()
		synctest.Wait()
		leave()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			f.Errorf("%v", err)
		}
		close(slow)
		f.take(one, execution.Local).end()
		if n := len(f.b.sources()); n != 1 {
			f.Errorf("%d sources", n)
		}
	})
}

// of is a template of an interpreter.
func of(interpreter execution.Digest) sandbox.Template {
	t := template("one")
	t.Interpreter = interpreter
	return t
}

func TestWhatIsKeptOfAnInterpreterThatWasReplacedIsLetGo(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		old, by := execution.DigestOf([]byte("old")), execution.DigestOf([]byte("new"))
		out := f.take(of(old), execution.Local)
		f.take(of(by), execution.Local).end()
		f.pass(time.Minute)
		f.Replace(old, by)
		f.pass(time.Second)
		if got := f.Stats(); len(got.Templates) != 1 || got.Sources != 2 {
			f.Errorf("with a child at work: %+v", got)
		}
		out.end()
		f.pass(time.Second)
		if got := f.Stats(); got.Sources != 1 || got.Parked != got.Templates[0].Parked {
			f.Errorf("%+v", got)
		}
	})
}

func TestWhoeverStillNamesAnInterpreterThatWasReplacedIsServedByTheOther(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		old, by := execution.DigestOf([]byte("old")), execution.DigestOf([]byte("new"))
		f.take(of(old), execution.Local).end()
		f.Replace(old, by)
		if _, err := f.Level(f.Context(), of(old)); err != nil {
			f.Error(err)
		}
		if got := f.take(of(old), execution.Local); got.source.template != of(by) {
			f.Errorf("a child of %v", got.source.template)
		} else {
			got.end()
		}
		f.pass(time.Second)
		if got := f.Stats(); len(got.Templates) != 1 || got.Templates[0].Interpreter != by.String() || got.Sources != 1 {
			f.Errorf("%+v", got)
		}
	})
}

// TestASourceThatIsOpenedWhileItsInterpreterIsReplacedServesThoseWhoWaitAlone: they are
// answered from it, and nothing of it is kept.
func TestASourceThatIsOpenedWhileItsInterpreterIsReplacedServesThoseWhoWaitAlone(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		old, by := execution.DigestOf([]byte("old")), execution.DigestOf([]byte("new"))
		slow := make(chan struct{})
		f.b.set(func(b *backend) { b.slow = slow })
		asked := make(chan run, 1)
		go func() { asked <- f.take(of(old), execution.Local) }()
		left, leave := context.WithCancel(f.Context())
		leave()
		other := of(old)
		other.Shape.Programs = "two"
		if _, err := f.Level(left, other); !errors.Is(err, context.Canceled) {
			f.Error(err)
		}
		synctest.Wait()
		f.Replace(old, by)
		close(slow)
		(<-asked).end()
		f.pass(time.Second)
		if got := f.Stats(); len(got.Templates) != 0 || got.Sources != 0 || got.Parked != 0 {
			f.Errorf("%+v", got)
		}
	})
}
