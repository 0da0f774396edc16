//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// TestMain plays the parts that the program plays for itself.
func TestMain(m *testing.M) {
	sidecar.Reexec()
	if len(os.Args) > 1 && os.Args[1] == noopRole {
		if err := serveNoop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The bounds of ratios are several times those that docs/benchmarks.md promises: they
// have to hold on a busy machine, and still tell a child that is checked out from one
// that is made while the caller waits, and an answer at the result from one after the
// teardown.
const (
	mostOverEcho = 40
	mostOverNoop = 12
	guardTurns   = 60
	guardTries   = 3
)

// TestAWarmRunStaysNearItsFloor compares within one run: with an idle Python process that
// sends a line back, and with a tool that does nothing.
func TestAWarmRunStaysNearItsFloor(t *testing.T) {
	b := openBench(t)
	for _, c := range []struct {
		name  string
		most  float64
		enter func(t *testing.T) (floor, ours entrant)
	}{
		{"a run from the pool over an echo", mostOverEcho, func(t *testing.T) (entrant, entrant) {
			s, err := b.boxes()
			if err != nil {
				t.Fatal(err)
			}
			return entrant{key: "echo", open: b.echo}, entrant{key: "pool", open: s.pooled(printCode, printAnswer)}
		}},
		{"execute over a tool that does nothing", mostOverNoop, func(*testing.T) (entrant, entrant) {
			const era = "2026-07-28"
			return entrant{key: "noop", open: executes(b.noop(era), printCode, "")},
				entrant{key: "execute", open: executes(b.ours(era), printCode, printAnswer)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got float64
			for range guardTries {
				floor, ours := c.enter(t)
				b.report = newReport(machine{}, io.Discard)
				err := b.run(t.Context(), race{turns: guardTurns, pace: pace, entrants: []entrant{floor, ours}})
				if err != nil {
					t.Fatal(err)
				}
				if len(b.report.laps[ours.key]) == 0 {
					t.Skipf("skipped: nothing was measured: %v", b.report.Sections)
				}
				if got = pairs(b.report.laps[ours.key], b.report.laps[floor.key], ratio); got <= c.most {
					t.Logf("%.1f times", got)
					return
				}
			}
			t.Errorf("%.1f times, at most %v is allowed", got, c.most)
		})
	}
}

func openBench(t *testing.T) *bench {
	t.Helper()
	b, err := open(context.WithoutCancel(t.Context()), options{n: guardTurns}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}
