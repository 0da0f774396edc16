//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// load is something that many can ask for at once.
type load struct {
	key, name string
	open      func(context.Context) (call func(context.Context) error, shut func(), err error)
}

const (
	part  = 1500 * time.Millisecond
	parts = 2
)

// crowds are how many ask at once.
var crowds = []int{1, 2, 4, 8, 16}

// concurrency measures what is done per second. For each size of the crowd the
// loads take turns.
func concurrency(ctx context.Context, b *bench) error {
	s := section{
		Title: "Many at once",
		About: "`print(1)` by so many callers, each again as soon as it is answered, for " + strconv.FormatFloat((parts*part).Seconds(), 'f', -1, 64) + " s in two parts. " +
			"The engine is asked in its own process, without a client on the same cores; over MCP the client is a process of its own on the same cores.",
		Columns: []string{"what", "at once", "runs", "runs/s", "runs/s per core", "p50 ms", "p99 ms"},
	}
	loads := []load{
		{"forkonly", "fork only, no isolation", b.loadForker},
		{"mcp", "over MCP, stdio", b.loadMCP},
	}
	if b.options.gearbox == "" {
		loads = append(loads, load{"engine", "engine", b.loadEngine})
	}
	for i, l := range loads {
		call, shut, err := l.open(ctx)
		if err != nil {
			s.Rows = append(s.Rows, []string{l.name, "absent: " + reason(err)})
			continue
		}
		defer shut()
		loads[i].open = func(context.Context) (func(context.Context) error, func(), error) { return call, nil, nil }
	}
	for _, crowd := range crowds {
		b.crowd(ctx, crowd, loads, &s)
	}
	b.report.add(s)
	return ctx.Err()
}

// crowd adds the rows of one size.
func (b *bench) crowd(ctx context.Context, crowd int, loads []load, s *section) {
	tallies := make([]tally, len(loads))
	for range parts {
		for i, l := range loads {
			call, _, err := l.open(ctx)
			if err != nil {
				tallies[i].err = err
				continue
			}
			rest(ctx, settle)
			tallies[i].add(ctx, crowd, part, call)
		}
	}
	for i, l := range loads {
		t := tallies[i]
		if t.err != nil {
			s.Rows = append(s.Rows, []string{l.name, strconv.Itoa(crowd), "failed: " + reason(t.err)})
			continue
		}
		rate := float64(len(t.ms)) / t.took.Seconds()
		perCore := rate / float64(runtime.NumCPU())
		s.Rows = append(s.Rows, []string{
			l.name, strconv.Itoa(crowd), strconv.Itoa(len(t.ms)), number(rate), number(perCore),
			number(percentile(t.ms, 50)), number(percentile(t.ms, 99)),
		})
		b.report.set(fmt.Sprintf("load.%s.%d", l.key, crowd), perCore)
	}
	b.report.share(crowd)
}

// share notes how much of what forking alone would do the engine does, in per cent.
func (r *report) share(crowd int) {
	ours, all := r.Figures[fmt.Sprintf("load.engine.%d", crowd)], r.Figures[fmt.Sprintf("load.forkonly.%d", crowd)]
	if ours > 0 && all > 0 {
		r.set(fmt.Sprintf("share.%d", crowd), 100*ours/all)
	}
}

// tally is what a crowd got done.
type tally struct {
	ms   []float64
	took time.Duration
	err  error
}

// add lets the crowd call for a while. A call that has begun is waited for.
func (t *tally) add(ctx context.Context, crowd int, d time.Duration, call func(context.Context) error) {
	var mu sync.Mutex // guards t
	var all sync.WaitGroup
	start := time.Now()
	for range crowd {
		all.Go(func() {
			for time.Since(start) < d && ctx.Err() == nil {
				began := time.Now()
				err := call(ctx)
				took := float64(time.Since(began).Nanoseconds()) / 1e6
				mu.Lock()
				t.ms = append(t.ms, took)
				failed := err != nil
				if failed {
					t.err = err
				}
				mu.Unlock()
				if failed {
					return
				}
			}
		})
	}
	all.Wait()
	t.took += time.Since(start)
}

func (b *bench) loadForker(ctx context.Context) (func(context.Context) error, func(), error) {
	f, err := b.startForker(ctx)
	if err != nil {
		return nil, nil, err
	}
	return func(context.Context) error {
		got, err := f.program(printCode)
		return expect(got, printAnswer, err)
	}, f.w.stop, nil
}

func (b *bench) loadMCP(ctx context.Context) (func(context.Context) error, func(), error) {
	s, _, err := b.gearboxSession(ctx, eras[len(eras)-1])
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error {
		_, err := execute(ctx, s, printCode, printAnswer)
		return err
	}, func() { _ = s.Close() }, nil
}

func (b *bench) loadEngine(ctx context.Context) (func(context.Context) error, func(), error) {
	s, err := b.sidecar(ctx)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error {
		r, err := ask(ctx, s, printCode, 0)
		return expect(r.Stdout, printAnswer, err)
	}, func() { _ = s.Close() }, nil
}

// sidecar is a Gearbox in this process.
func (b *bench) sidecar(ctx context.Context) (*sidecar.Sidecar, error) {
	return sidecar.Open(ctx, sidecar.Options{DataDir: b.data}, "bench", slog.New(slog.DiscardHandler), nil)
}

// ask runs a program in the engine to its end.
func ask(ctx context.Context, s *sidecar.Sidecar, code string, timeout time.Duration) (execution.Result, error) {
	id, err := s.Engine().Submit(ctx, execution.Request{Principal: execution.Local, Language: execution.Python, Code: code, Timeout: timeout})
	if err != nil {
		return execution.Result{}, err
	}
	return s.Engine().Wait(ctx, execution.Local, id, execution.MaxWait)
}
