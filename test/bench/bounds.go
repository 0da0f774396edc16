//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// timeLimit is that of the programs that never end.
const timeLimit = 300 * time.Millisecond

// bounds measures how late a time limit is and what an analysis costs.
func bounds(ctx context.Context, b *bench) error {
	s, err := b.sidecar(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return b.run(ctx, race{
		title: "Time limits and analysis",
		about: "How long after its time limit of " + timeLimit.String() + " a program's answer is there, asked of the engine; the call after such a one; and the analysis of 400 lines in a warm child.",
		turns: b.laps(10), pace: pace, unrelated: true,
		entrants: []entrant{
			{key: "late.busy", name: "late: `while True: pass`", inside: true, open: late(s, "while True:\n    pass")},
			{key: "late.asleep", name: "late: `time.sleep(60)`", inside: true, open: late(s, "import time\ntime.sleep(60)")},
			{key: "late.threads", name: "late: four busy threads that swallow every exception", inside: true, open: late(s, stubborn)},
			{key: "late.next", name: "`print(1)` right after", inside: true, open: follows(s)},
			{key: "analysis", name: "analysis of 400 lines", inside: true, open: b.analysis},
		},
	})
}

const stubborn = `import threading
def spin():
    while True:
        try:
            while True: pass
        except BaseException: pass
for _ in range(3):
    threading.Thread(target=spin).start()
spin()`

// late is an entrant's open function: the lap is what the answer takes beyond the limit.
func late(s *sidecar.Sidecar, code string) func(context.Context) (lap, func(), error) {
	return func(context.Context) (lap, func(), error) {
		return func(ctx context.Context) (time.Duration, error) {
			start := time.Now()
			r, err := ask(ctx, s, code, timeLimit)
			d := time.Since(start) - timeLimit
			if err == nil && r.Status != execution.StatusTimeout {
				err = fmt.Errorf("status %s instead of timeout: %s", r.Status, r.Stderr)
			}
			return d, err
		}, nil, nil
	}
}

// follows times the call after a timeout.
func follows(s *sidecar.Sidecar) func(context.Context) (lap, func(), error) {
	return func(context.Context) (lap, func(), error) {
		return func(ctx context.Context) (time.Duration, error) {
			if _, err := ask(ctx, s, stubborn, timeLimit); err != nil {
				return 0, err
			}
			return timed(func(ctx context.Context) error {
				r, err := ask(ctx, s, printCode, 0)
				return expect(r.Stdout, printAnswer, err)
			})(ctx)
		}, nil, nil
	}
}

// analysis times the facts of a long source in a child that is warm.
func (b *bench) analysis(ctx context.Context) (lap, func(), error) {
	script, err := b.program("script.py")
	if err != nil {
		return nil, nil, err
	}
	s, err := b.boxes()
	if err != nil {
		return nil, nil, err
	}
	source, err := s.backend.Open(ctx, s.template)
	if err != nil {
		return nil, nil, err
	}
	code := strings.Repeat(script, 400/strings.Count(script, "\n"))
	return func(ctx context.Context) (time.Duration, error) {
		child, err := source.Start(ctx, true)
		if err != nil {
			return 0, err
		}
		defer bury(ctx, child)
		return timed(func(context.Context) error {
			_, err := sandboxtest.Analyse(child.Bridge(), code)
			return err
		})(ctx)
	}, func() { _ = source.Close() }, nil
}
