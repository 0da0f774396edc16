package pool_test

import (
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/pool"
)

// resting is what a child of the pool can do while its program waits for a human.
type resting interface{ Rest() (func(), bool) }

func (q *queue) rest(i int) (wake func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, can := q.runs[i].given.(resting)
	if !can {
		q.f.Fatal("a child of the pool cannot rest")
	}
	return r.Rest()
}

func TestAChildThatRestsLendsItsPlaceAndTakesItBack(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(1, 1)}, func(f *fixture) {
		q := &queue{f: f}
		q.join("alice")
		q.join("alice")
		if q.served() != 1 {
			t.Fatalf("%d are at work", q.served())
		}
		wake, ok := q.rest(0)
		if !ok || q.served() != 2 {
			t.Fatalf("its place is not lent: %t, %d have a child", ok, q.served())
		}
		wake()
		wake() // says nothing new
		q.join("alice")
		q.end(1)
		if q.served() != 2 {
			t.Error("the place that was taken back was lent all the same")
		}
		q.end(0)
		if q.served() != 3 {
			t.Error("the place of the child that had rested was not given back")
		}
		q.drain(2)
	})
}

func TestNoMoreRestThanMemoryCanBear(t *testing.T) {
	in(t, pool.Config{Turns: pool.NewTurns(1, 0)}, func(f *fixture) {
		q := &queue{f: f}
		var wakes []func()
		for i := range 5 {
			q.join("alice")
			wake, ok := q.rest(i)
			if ok != (i < 4) {
				t.Fatalf("child %d rests: %t", i, ok)
			}
			if ok {
				wakes = append(wakes, wake)
			}
		}
		for _, wake := range wakes {
			wake()
		}
		q.drain(0)
	})
}
