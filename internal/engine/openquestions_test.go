//go:build unix

package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// TestWhoAsksAboutARunIsToldWhatItsCallWaitsFor: at once, by whoever does not wait for
// humans. The test would last for minutes if it were not so.
func TestWhoAsksAboutARunIsToldWhatItsCallWaitsFor(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	id := a.call("s.echo(n=1)")
	r, err := a.engine.WaitUnlessAsked(t.Context(), execution.Local, id, 10*time.Minute)
	q := a.question(id)
	if err != nil || !r.AsksWithin() || !strings.Contains(r.Summary, q.Approval.Summary) || !slices.Equal(r.Permissions, []string{"tool(S.echo)"}) ||
		!strings.HasSuffix(r.ApproveHint, "gearbox approvals show "+string(q.ID)) || r.ExpiresAt != q.Approval.Expires.Format(time.RFC3339) {
		t.Errorf("%+v, %v", r, err)
	}
	if again, err := a.engine.Wait(t.Context(), execution.Local, id, 0); err != nil || again.ApproveHint != r.ApproveHint {
		t.Errorf("%+v, %v", again, err)
	}
	// What another process runs is known by its record, which does not tell.
	if r, err := a.another(t).WaitUnlessAsked(t.Context(), execution.Local, id, 0); err != nil || r.Status != execution.StatusRunning {
		t.Errorf("%+v, %v", r, err)
	}
	a.approve(q)
	if r, err := a.engine.WaitUnlessAsked(t.Context(), execution.Local, id, 10*time.Minute); err != nil || r.Status != execution.StatusOK || r.Summary != "" || r.Permissions != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestEveryOpenQuestionOfARunIsNamedUntilItIsAnswered(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	a.server.slow = make(chan struct{})
	id := a.call("r = await asyncio.gather(s.aio.echo(n=1), tools.aio.call('S', 'other'))\nlen(r)")
	both := a.questions(id, 2)
	told := a.until(id, func(r execution.Result) bool { return len(r.Permissions) == 2 })
	for _, q := range both {
		if !strings.Contains(told.ApproveHint, string(q.ID)) || !slices.Contains(told.Permissions, q.Approval.Asked[0].String()) {
			t.Errorf("%s is missing in %+v", q.ID, told)
		}
	}
	for i, q := range both { // the calls are made, and none of them is over
		a.approve(q)
		a.until(id, func(r execution.Result) bool { return len(r.Permissions) == 1-i && r.AsksWithin() == (i == 0) })
	}
	close(a.server.slow)
	if got := value[int](t, a.wait(id)); got != 2 {
		t.Error(got)
	}
}
