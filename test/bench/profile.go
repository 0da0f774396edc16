//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// profile says what each part of a warm run costs: seen by the host, and counted by the
// kernel for the child.
func profile(ctx context.Context, b *bench) error {
	if err := b.stages(ctx); err != nil {
		return err
	}
	return b.insideChild(ctx)
}

// stage is one step of a run from the pool, in order.
type stage struct {
	name string
	do   func(context.Context, *staged) error
}

// staged is a run under way.
type staged struct {
	boxes
	pool    *pool.Pool
	code    string
	child   sandbox.Child
	release func()
	streams sync.WaitGroup
}

func stages() []stage {
	return []stage{
		{"check a parked child out", func(ctx context.Context, r *staged) (err error) {
			r.child, r.release, err = r.pool.Child(ctx, r.template, execution.Local)
			return err
		}},
		{"analyse: source to facts, one round trip", func(_ context.Context, r *staged) error {
			_, err := sandboxtest.Analyse(r.child.Bridge(), r.code)
			return err
		}},
		{"arm: limits that the template has already", func(ctx context.Context, r *staged) error {
			return r.child.Arm(ctx, r.arm)
		}},
		{"run: to the result, one round trip", func(_ context.Context, r *staged) error {
			for _, stream := range []io.Reader{r.child.Stdout(), r.child.Stderr()} {
				r.streams.Go(func() { _, _ = io.Copy(io.Discard, stream) }) // what it prints has a row elsewhere
			}
			_, err := sandboxtest.Execute(r.child.Bridge(), nil)
			return err
		}},
		{"stop: account, kill, rest of the output", func(ctx context.Context, r *staged) error {
			_, err := r.child.Stop(ctx)
			r.streams.Wait()
			return err
		}},
		{"beside the answer: until nothing of it is left", func(ctx context.Context, r *staged) error {
			r.child.Kill(sandbox.CauseAbandoned)
			_, err := r.child.Wait(ctx)
			r.release()
			return err
		}},
	}
}

func (b *bench) stages(ctx context.Context) error {
	boxes, err := b.boxes()
	if err != nil {
		return err
	}
	script, err := b.program("script.py")
	if err != nil {
		return err
	}
	r := &staged{boxes: boxes, pool: pool.New(boxes.backend, pool.Config{})}
	defer func() { _ = r.pool.Close() }()
	s := section{
		Title:   "What a warm run is made of",
		About:   "Wall time of each step, as the host sees it, with a rest of 25 ms before each run. The last row is paid after the answer.",
		Columns: []string{"step", "`print(1)` p50 ms", "p99 ms", "20 lines p50 ms", "p99 ms"},
	}
	for _, st := range stages() {
		s.Rows = append(s.Rows, []string{st.name})
	}
	for _, code := range []string{printCode, script} {
		times, err := r.measure(ctx, code, b.n)
		if err != nil {
			return err
		}
		for i, t := range times {
			s.Rows[i] = append(s.Rows[i], fmt.Sprintf("%.2f", t.percentile(50)), fmt.Sprintf("%.2f", t.percentile(99)))
		}
	}
	b.report.add(s)
	return nil
}

func (r *staged) measure(ctx context.Context, code string, turns int) ([]series, error) {
	all := make([]series, len(stages()))
	r.code = code
	for turn := -warmup; turn < turns; turn++ {
		untilParked(ctx, r.pool)
		rest(ctx, pace)
		for i, st := range stages() {
			began := time.Now()
			if err := st.do(ctx, r); err != nil {
				return nil, fmt.Errorf("%s: %w", st.name, err)
			}
			if turn >= 0 {
				all[i] = append(all[i], sample{turn, float64(time.Since(began).Nanoseconds()) / 1e6})
			}
		}
	}
	return all, nil
}

// insideChild runs the program that counts what the guest does between two frames.
func (b *bench) insideChild(ctx context.Context) error {
	script := filepath.Join(b.root, "internal", "guest", "tests", "bench_run.py")
	out, err := exec.CommandContext(ctx, b.python.Executable, "-B", script, fmt.Sprint(b.laps(5))).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	s := section{
		Title: "What the child does in it",
		About: "From one frame to the next, in children as the fork server makes them but for the sealing: processor time and page faults as the kernel counts them, medians. " +
			"“Warm” is a child that has rehearsed before it was parked, in a fork server that has; the fault of a page that is shared with the fork server copies it. Written by [bench_run.py](../internal/guest/tests/bench_run.py).",
		Columns: []string{"program", "child", "frame", "wall µs", "processor µs", "page faults"},
	}
	for line := range strings.Lines(string(out)) {
		// The columns are as wide as their widest value and two programs have names of two words.
		const program, child, frame, wall = 10, 20, 29, 38
		if len(line) <= wall || strings.HasPrefix(line, "program ") || strings.HasPrefix(line, "private ") {
			continue
		}
		row := []string{line[:program], line[program+1 : child], line[child+1 : frame]}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		s.Rows = append(s.Rows, append(row, strings.Fields(line[frame:])...))
	}
	if len(s.Rows) == 0 {
		return fmt.Errorf("%s printed no table:\n%s", script, out)
	}
	b.report.add(s)
	return nil
}
