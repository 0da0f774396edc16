package sidecar

import (
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestEachEndOfAQuestionIsToldAsWhatItIs(t *testing.T) {
	asked := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later, now := asked.Add(time.Minute), asked.Add(time.Hour)
	hash, other := execution.DigestOf([]byte("1")), execution.DigestOf([]byte("2"))
	answered := func(v execution.Verdict) *execution.Approval {
		return &execution.Approval{Hash: hash, Created: asked, Answer: &execution.Answer{Verdict: v, At: later, By: "api:me"}}
	}
	for name, row := range map[string]struct {
		record execution.Record
		want   string
		at     time.Time
		by     string
	}{
		"a yes":                    {execution.Record{Approval: answered(execution.Approved)}, "approval.approved", later, "api:me"},
		"a yes that nobody took":   {execution.Record{Approval: answered(execution.Approved), Finished: now, Result: execution.Result{Status: execution.StatusDenied}}, "approval.approved", later, "api:me"},
		"a yes, and another asked": {execution.Record{Approval: &execution.Approval{Hash: other, Created: later}}, "approval.approved", later, ""},
		"a no":                     {execution.Record{Approval: answered(execution.Refused), Finished: later, Result: execution.Result{Status: execution.StatusDenied}}, "approval.denied", later, "api:me"},
		"none in time":             {execution.Record{Approval: &execution.Approval{Hash: hash}, Finished: later, Result: execution.Result{Status: execution.StatusDenied}}, "approval.expired", later, ""},
		"cancelled":                {execution.Record{Approval: &execution.Approval{Hash: hash}, Finished: later, Result: execution.Result{Status: execution.StatusCancelled}}, "approval.withdrawn", later, ""},
		"removed":                  {execution.Record{}, "approval.expired", now, ""},
	} {
		e := ending(row.record, "op_1", hash, now)
		if e.Type != row.want || !e.Timestamp.Equal(row.at) || e.By != row.by || e.Operation != "op_1" || e.Hash != hash {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
