//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
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
	open      func(context.Context) (server, error)
}

// server is a load that is ready.
type server struct {
	call func(context.Context) error
	shut func()
	pid  int // its processor time is that of this process and all below it
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
			"The engine is asked in its own process, without a client on the same cores; over MCP the client is a process of its own on the same cores. " +
			"Processor time is that of all processes of a server, children and refill included, the client's left out.",
		Columns: []string{"what", "at once", "runs", "runs/s", "runs/s per core", "p50 ms", "p99 ms", "CPU ms/run"},
	}
	loads := []load{
		{"forkonly", "fork only, no isolation", b.loadForker},
		{"mcp", "over MCP, stdio", b.loadMCP},
	}
	if b.options.gearbox == "" {
		loads = append(loads, load{"engine", "engine", b.loadEngine})
	}
	var ready []load
	servers := map[string]server{}
	for _, l := range loads {
		srv, err := l.open(ctx)
		if err != nil {
			s.Rows = append(s.Rows, []string{l.name, "absent: " + reason(err)})
			continue
		}
		defer srv.shut()
		servers[l.key] = srv
		ready = append(ready, l)
	}
	for _, crowd := range crowds {
		b.crowd(ctx, crowd, ready, servers, &s)
	}
	b.report.add(s)
	return ctx.Err()
}

// crowd adds the rows of one size.
func (b *bench) crowd(ctx context.Context, crowd int, loads []load, servers map[string]server, s *section) {
	tallies := make([]tally, len(loads))
	for range parts {
		for i, l := range loads {
			if tallies[i].err == nil {
				tallies[i].add(ctx, crowd, part, servers[l.key])
			}
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
			number(percentile(t.ms, 50)), number(percentile(t.ms, 99)), number(t.cpu / float64(len(t.ms))),
		})
		b.report.set(fmt.Sprintf("load.%s.%d", l.key, crowd), perCore)
		b.report.set(fmt.Sprintf("cpu.%s.%d", l.key, crowd), t.cpu/float64(len(t.ms)))
	}
	b.report.share(crowd)
}

// share notes how much of what forking alone would do the engine does, in per cent:
// of the runs in a second, and of the runs for the same processor time.
func (r *report) share(crowd int) {
	of := func(what, key string) float64 {
		if v, ok := r.Figures[fmt.Sprintf("%s.%s.%d", what, key, crowd)]; ok {
			return v
		}
		return math.NaN()
	}
	r.set(fmt.Sprintf("share.%d", crowd), 100*of("load", "engine")/of("load", "forkonly"))
	r.set(fmt.Sprintf("cpushare.%d", crowd), 100*of("cpu", "forkonly")/of("cpu", "engine"))
}

// tally is what a crowd got done.
type tally struct {
	ms   []float64
	took time.Duration
	cpu  float64 // ms
	err  error
}

// add lets the crowd call for a while. A call that has begun is waited for. The
// rests before and after are for the pool to be full, so that each run's
// processor time has the making of one child in it.
func (t *tally) add(ctx context.Context, crowd int, d time.Duration, s server) {
	rest(ctx, settle)
	before, err := processorTime(s.pid)
	if err != nil {
		t.err = err
		return
	}
	start := time.Now()
	t.call(ctx, crowd, func() bool { return time.Since(start) < d }, s)
	t.took += time.Since(start)
	rest(ctx, settle)
	after, err := processorTime(s.pid)
	t.cpu += after - before
	t.err = errors.Join(t.err, err)
}

// call has everyone of the crowd call until it is enough.
func (t *tally) call(ctx context.Context, crowd int, more func() bool, s server) {
	var mu sync.Mutex // guards t
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() {
			var err error
			for err == nil && more() && ctx.Err() == nil {
				began := time.Now()
				err = s.call(ctx)
				took := float64(time.Since(began).Nanoseconds()) / 1e6
				mu.Lock()
				t.ms = append(t.ms, took)
				mu.Unlock()
			}
			if err != nil {
				mu.Lock()
				t.err = err
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

func (b *bench) loadForker(ctx context.Context) (server, error) {
	f, err := b.startForker(ctx)
	if err != nil {
		return server{}, err
	}
	return server{func(context.Context) error {
		got, err := f.program(printCode)
		return expect(got, printAnswer, err)
	}, f.w.stop, f.w.cmd.Process.Pid}, nil
}

func (b *bench) loadMCP(ctx context.Context) (server, error) {
	s, pid, err := b.gearboxSession(ctx, eras[len(eras)-1])
	if err != nil {
		return server{}, err
	}
	return server{func(ctx context.Context) error {
		_, err := execute(ctx, s, printCode, printAnswer)
		return err
	}, func() { _ = s.Close() }, pid}, nil
}

// loadEngine is this process: everybody else rests while it works.
func (b *bench) loadEngine(ctx context.Context) (server, error) {
	s, err := b.sidecar(ctx)
	if err != nil {
		return server{}, err
	}
	return server{func(ctx context.Context) error {
		r, err := ask(ctx, s, printCode, 0)
		return expect(r.Stdout, printAnswer, err)
	}, func() { _ = s.Close() }, os.Getpid()}, nil
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
