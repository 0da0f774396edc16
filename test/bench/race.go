//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// lap does the thing once and tells how long it took. What has to be cleared up
// afterwards is not part of the time.
type lap func(context.Context) (time.Duration, error)

// entrant is one row of a race.
type entrant struct {
	// key names its figures in the report.
	key  string
	name string
	// every makes a slow one take part in each so many turns only; 0 is each.
	every int
	// inside is true of what runs in this process: it is not what a binary of
	// another commit is made of.
	inside bool
	// open makes it ready. Its error is why the row is absent.
	open func(context.Context) (lap, func(), error)
}

// race is a section in which entrants take turns.
type race struct {
	title, about string
	turns        int
	cold         bool          // no turns before those that count
	block        int           // laps of each entrant in a turn, one right after the other; 0 is one
	pace         time.Duration // the rest before each block
	unrelated    bool          // comparing the rows means nothing
	entrants     []entrant     // the first is what the others are compared with
}

const (
	// warmup is how many turns come before those that count.
	warmup = 3
	// patience is how long a race goes on when the machine is slow; then at least so
	// many turns count, and the others are left out.
	patience = time.Minute
	least    = 3
)

// timed is a lap that is timed as a whole.
func timed(f func(context.Context) error) lap {
	return func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		err := f(ctx)
		return time.Since(start), err
	}
}

// run holds the race and adds its section and its figures to the report.
func (b *bench) run(ctx context.Context, r race) error {
	r.entrants = slices.DeleteFunc(r.entrants, func(e entrant) bool { return e.inside && b.options.gearbox != "" })
	laps := make([]lap, len(r.entrants))
	absent := make([]error, len(r.entrants))
	for i, e := range r.entrants {
		var shut func()
		laps[i], shut, absent[i] = e.open(ctx)
		if shut != nil {
			defer shut()
		}
	}
	result := make([]series, len(r.entrants))
	first := -warmup
	if r.cold {
		first = 0
	}
	start := time.Now()
	for turn := first; turn < r.turns && ctx.Err() == nil && (turn < least || time.Since(start) < patience); turn++ {
		for step := range r.entrants {
			i := (step + turn - first) % len(r.entrants) // nobody always follows the same one
			if absent[i] != nil || turn != first && turn%max(r.entrants[i].every, 1) != 0 {
				continue
			}
			rest(ctx, r.pace)
			var block series
			if block, absent[i] = r.laps(ctx, turn, laps[i]); turn >= 0 {
				result[i] = append(result[i], block...)
			}
		}
	}
	b.report.add(r.section(result, absent))
	for i, e := range r.entrants {
		b.report.series(e.key, result[i])
	}
	return ctx.Err()
}

// laps runs one block.
func (r race) laps(ctx context.Context, turn int, l lap) (series, error) {
	var s series
	n := max(r.block, 1)
	for i := range n {
		d, err := l(ctx)
		if err != nil {
			return s, err
		}
		s = append(s, sample{turn*n + i, float64(d.Nanoseconds()) / 1e6})
	}
	return s, nil
}

var timedColumns = []string{"what", "n", "p50 ms", "p99 ms", "× the first"}

func (r race) section(result []series, absent []error) section {
	s := section{Title: r.title, About: r.about, Columns: timedColumns, Timed: true}
	if r.unrelated {
		s.Columns = s.Columns[:len(s.Columns)-1]
	}
	for i, e := range r.entrants {
		if absent[i] != nil {
			s.Rows = append(s.Rows, []string{e.name, "absent: " + reason(absent[i])})
			continue
		}
		row := []string{e.name, strconv.Itoa(len(result[i])), number(result[i].percentile(50)), number(result[i].percentile(99))}
		if !r.unrelated {
			row = append(row, number(pairs(result[i], result[0], ratio)))
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// rest waits without work, so that what went before can settle.
func rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// expect is the check that a lap did what it should.
func expect(got, want string, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("answered %q instead of %q", got, want)
	}
	return err
}
