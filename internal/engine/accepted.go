package engine

import (
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// accepted is the event, if there is one to tell of, that a human's yes to a call has the
// tool be accepted as its server describes it now. It is recorded before that is done.
func (op *operation) accepted(now time.Time, p Prepared) []audit.Event {
	if p.Changed == "" {
		return nil
	}
	e := op.event(now, audit.Config)
	e.Permission, e.Decision = policy.Permission{Kind: policy.Tool, Target: p.ID()}.String(), "taken"
	e.Reason = "a human accepted a changed definition with the call"
	e.Details = map[string]string{"definition": p.Entry.Pin.String(), "definition_before": p.Before.String()}
	return []audit.Event{e}
}
