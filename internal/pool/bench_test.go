package pool_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// batch is how many children a benchmark finds parked before it has to be refilled,
// which is not measured.
const batch = 512

// BenchmarkParked is a checkout of a parked child and its release, with a backend that
// costs nothing.
func BenchmarkParked(b *testing.B) {
	c := newClock()
	p := pool.New(&backend{}, pool.Config{Turns: pool.NewTurns(8, 0), Size: batch, MaxParked: batch, MaxMade: 1 << 30, Clock: c})
	b.Cleanup(func() { _ = p.Close() })
	hold(b, p) // so that no release begins a refill
	full(p, c)
	children := make([]sandbox.Child, 0, batch)
	b.ReportAllocs()
	for b.Loop() {
		if len(children) == cap(children) {
			b.StopTimer()
			for _, c := range children {
				c.Kill(sandbox.CauseFinished)
			}
			children = children[:0]
			full(p, c)
			b.StartTimer()
		}
		child, release, err := p.Child(b.Context(), one, "another")
		if err != nil {
			b.Fatal(err)
		}
		release()
		children = append(children, child)
	}
	if s := p.Stats(); s.OnDemand > 1 { // the first
		b.Errorf("%d of %d children were made while the benchmark waited", s.OnDemand, s.OnDemand+s.FromParked)
	}
}

func hold(b *testing.B, p *pool.Pool) {
	b.Helper()
	child, release, err := p.Child(b.Context(), one, execution.Local)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { child.Kill(sandbox.CauseFinished); release() })
}

// full lets time pass until all are parked.
func full(p *pool.Pool, c *clock) {
	for p.Stats().Parked < batch {
		then := c.Now().Add(time.Second)
		for t := c.next(then); t != nil; t = c.next(then) {
			t.f()
		}
		runtime.Gosched()
	}
}

// BenchmarkTurns is the waiting for one's turn, by as many principals as there are
// goroutines, in a pool that makes each child while they wait.
func BenchmarkTurns(b *testing.B) {
	for _, people := range []int{1, 8} {
		b.Run(strconv.Itoa(people), func(b *testing.B) {
			p := pool.New(&backend{}, pool.Config{Turns: pool.NewTurns(2, 0), Sparing: true, MaxMade: 1 << 30})
			b.Cleanup(func() { _ = p.Close() })
			b.ReportAllocs()
			b.SetParallelism(people)
			b.RunParallel(func(pb *testing.PB) {
				who := execution.Principal(strconv.Itoa(int(time.Now().UnixNano()) % people))
				for pb.Next() {
					child, release, err := p.Child(b.Context(), one, who)
					if err != nil {
						b.Error(err)
						return
					}
					child.Kill(sandbox.CauseFinished)
					release()
				}
			})
		})
	}
}
