package pool_test

import (
	"encoding/json"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

func TestEndsAreCountedByTheirCauses(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		for _, cause := range []sandbox.Cause{sandbox.CauseFinished, sandbox.CauseFinished, sandbox.CauseTimeout, sandbox.CauseNone} {
			r := f.take(one, execution.Local)
			r.Kill(cause)
			r.release()
			synctest.Wait()
		}
		want := map[string]uint64{"finished": 2, "timeout": 1, "exited": 1}
		if got := f.Stats().Ended; !maps.Equal(got, want) {
			f.Errorf("%v, want %v", got, want)
		}
	})
}

func TestCountsOfAKindOutliveItsTemplates(t *testing.T) {
	in(t, pool.Config{IdleAfter: time.Second, CloseAfter: time.Second}, func(f *fixture) {
		shell := sandbox.Template{Language: execution.Bash, Shape: sandbox.Shape{Programs: "*"}}
		listed := sandbox.Template{Language: execution.Bash, Shape: sandbox.Shape{Programs: "grep"}}
		for _, t := range []sandbox.Template{one, shell, shell, listed} {
			r := f.take(t, execution.Local)
			r.Kill(sandbox.CauseTimeout)
			r.release()
			synctest.Wait()
		}
		f.pass(time.Hour)
		got := f.Stats()
		if len(got.Templates) != 0 {
			f.Fatalf("templates are left: %+v", got.Templates)
		}
		want := map[pool.Kind]uint64{
			{Language: one.Language, Programs: pool.ListedPrograms}:   1,
			{Language: execution.Bash, Programs: pool.AllPrograms}:    2,
			{Language: execution.Bash, Programs: pool.ListedPrograms}: 1,
		}
		if len(got.Kinds) != len(want) {
			f.Errorf("kinds: %+v", got.Kinds)
		}
		var opened uint64
		for _, k := range got.Kinds {
			if k.Ended["timeout"] != want[k.Kind] || k.FromParked+k.OnDemand != want[k.Kind] || k.Wait.Count != want[k.Kind] {
				f.Errorf("%+v", k)
			}
			opened += k.Opened
		}
		if got.Ended["timeout"] != 4 || got.Wait.Count != 4 || got.Opened != opened {
			f.Errorf("all together: %+v", got.Counts)
		}
	})
}

func TestWaitsAreMeasuredFromTheQuestionToTheChild(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(1, 0)}, func(f *fixture) {
		f.full(one)
		held := f.take(one, "a")
		q := &queue{f: f}
		q.join("a")
		f.pass(3 * time.Second)
		held.end()
		q.drain(0)
		got := f.Stats().Wait
		if got.Count != 3 || got.Sum != 3 || got.Max != 3 {
			f.Errorf("%+v", got)
		}
		for _, b := range got.Buckets {
			if want := map[bool]uint64{true: 3, false: 2}[b.UpTo >= 3]; b.Count != want {
				f.Errorf("up to %g s: %d, want %d", b.UpTo, b.Count, want)
			}
		}
	})
}

func TestReleaseSaidTwiceCountsOnce(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		r := f.take(one, execution.Local)
		other := f.take(one, execution.Local)
		r.end()
		r.release()
		if got := f.Stats(); got.Live != 1 {
			f.Errorf("%+v", got)
		}
		other.end()
	})
}

func TestStatsAreReadBackAsTheyWereWritten(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		want := f.Stats()
		text, err := json.Marshal(want)
		if err != nil {
			f.Fatal(err)
		}
		var got pool.Stats
		if err := json.Unmarshal(text, &got); err != nil {
			f.Fatal(err)
		}
		if again, _ := json.Marshal(got); string(again) != string(text) {
			f.Errorf("%s\n%s", text, again)
		}
	})
}

func TestWhatACallerHadWaitedBeforeCountsOnce(t *testing.T) {
	in(t, pool.Config{}, func(f *fixture) {
		f.full(one)
		before := f.Stats().Wait
		late := f.After(3 * time.Second)
		for range 2 {
			c, release, err := late.Child(f.Context(), one, execution.Local)
			if err != nil {
				f.Fatal(err)
			}
			c.Kill(sandbox.CauseFinished)
			release()
		}
		if got := f.Stats().Wait; got.Count != before.Count+2 || got.Sum != before.Sum+3 || got.Max != 3 {
			f.Errorf("%+v, before %+v", got, before)
		}
	})
}
