//go:build unix

package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// TestWhoDoesNotWaitForHumansIsToldAtOnceThatOneIsAsked: here, and in a process that does
// not run the operation. The test would last for minutes if it were not so.
func TestWhoDoesNotWaitForHumansIsToldAtOnceThatOneIsAsked(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	other := b.another(t)
	id := b.submit(execution.Request{Code: asking})
	for range 2 { // while it is looked at, and when it waits
		for _, e := range []*engine.Engine{b.engine, other} {
			r, err := e.WaitUnlessAsked(t.Context(), execution.Local, id, 10*time.Minute)
			if err != nil || r.Status != execution.StatusPendingApproval || len(r.Permissions) != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
	if _, err := other.WaitUnlessAsked(t.Context(), "another", id, 0); err == nil {
		t.Error("another principal is told")
	}
	if err := b.desk().Decide(t.Context(), yes(id, b.question(id))); err != nil {
		t.Fatal(err)
	}
	b.resume()
	for _, e := range []*engine.Engine{b.engine, other} {
		if r, err := e.WaitUnlessAsked(t.Context(), execution.Local, id, 10*time.Minute); err != nil || r.Status != execution.StatusOK || r.Stdout != "ran\n" {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestWhatWasNotApprovedIsNamedInTheAnswer(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, q := b.pending(asking)
	no := yes(id, q)
	no.Verdict = execution.Refused
	if err := b.desk().Decide(t.Context(), no); err != nil {
		t.Fatal(err)
	}
	if r := b.wait(id); !slices.Equal(r.Permissions, []string{"run(mount) in line 2"}) {
		t.Errorf("%+v", r)
	}
	withdrawn, _ := b.pending(asking)
	if r, err := b.engine.Cancel(t.Context(), execution.Local, withdrawn); err != nil || r.Permissions != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
