package telemetry

import (
	"context"
	"errors"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

type doorMetrics struct{ decisions counters }

// undecided is the effect of an action on which no decision could be made or recorded:
// the door stays shut.
const undecided = "error"

func (m *Metrics) doorMetrics() doorMetrics {
	return doorMetrics{m.counter("gearbox_decisions_total", "Actions that came to the door, by what was decided on each as a whole.",
		label("moment", "when the door was passed", names(authz.BeforeRun, authz.ToolCall)...),
		Label{
			Name: "effect", Values: append(names(policy.Allow, policy.Ask, policy.Deny), undecided),
			Meaning: "what was decided; error: nothing could be decided or recorded, so nothing was permitted",
		})}
}

// Door counts what is decided.
func (m *Metrics) Door(next engine.Door) engine.Door { return &countedDoor{next, m} }

type countedDoor struct {
	engine.Door
	m *Metrics
}

// Authorize implements [engine.Door].
func (d *countedDoor) Authorize(ctx context.Context, a authz.Action) (authz.Permit, error) {
	p, err := d.Door.Authorize(ctx, a)
	d.m.door.decisions.at(string(a.Moment), effect(err)).Inc()
	return p, err
}

func effect(err error) string {
	var denied *authz.DeniedError
	var pending *authz.PendingError
	switch {
	case err == nil:
		return string(policy.Allow)
	case errors.As(err, &denied):
		return string(policy.Deny)
	case errors.As(err, &pending):
		return string(policy.Ask)
	default:
		return undecided
	}
}
