package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

func TestTheStandingOfAnOperationIsThatOfItsLastChange(t *testing.T) {
	s := open(t, store.Options{})
	r := storetest.Full()
	stands := func(state execution.State, changed time.Time) {
		t.Helper()
		got, err := s.Standing(t.Context(), r.Request.Principal, r.ID)
		if err != nil || got.State != state || !got.Created.Equal(r.Created) || !got.Changed.Equal(changed) {
			t.Errorf("%+v, %v: not %s since %v", got, err, state, changed)
		}
	}
	begin(t, s, r)
	stands(execution.StateSubmitted, r.Created)
	question := *r.Approval
	question.Answer = nil
	must(t, s.Commit(t.Context(), r.ID, execution.StateSubmitted, execution.StatePending, execution.Change{Question: &question}))
	stands(execution.StatePending, question.Created)
	must(t, s.Commit(t.Context(), r.ID, execution.StatePending, execution.StateApproved, execution.Change{Answer: r.Approval.Answer, Of: question.Hash}))
	stands(execution.StateApproved, r.Approval.Answer.At)
	ended := r.Approval.Answer.At.Add(time.Second)
	must(t, s.Commit(t.Context(), r.ID, execution.StateApproved, execution.StateFinished, execution.Change{Finished: ended, Result: &r.Result}))
	stands(execution.StateFinished, ended)
	for _, p := range []execution.Principal{"another", ""} {
		if _, err := s.Standing(t.Context(), p, r.ID); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%q: %v", p, err)
		}
	}
}
