package telemetry

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Engine is an engine as the front doors see it.
type Engine interface {
	Submit(context.Context, execution.Request) (execution.ID, error)
	Wait(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error)
	WaitUnlessAsked(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error)
	Cancel(context.Context, execution.Principal, execution.ID) (execution.Result, error)
	Output(ctx context.Context, p execution.Principal, id execution.ID, stream string, offset int64, max int) (execution.Chunk, error)
}

// Engine counts the executions that are asked for, and the calls that are rejected.
// How executions end is counted by [Metrics.Journal]: there each of them ends once,
// however often and by whomever it is waited for.
func (m *Metrics) Engine(next Engine) Engine { return &countedEngine{next, m} }

type countedEngine struct {
	Engine
	m *Metrics
}

// Submit implements [Engine].
func (e *countedEngine) Submit(ctx context.Context, r execution.Request) (execution.ID, error) {
	language := string(r.Language)
	e.m.requests.at(language, cmp.Or(r.Gear, e.m.gear)).Inc()
	id, err := e.Engine.Submit(ctx, r)
	if err != nil {
		e.m.errors.at(language, string(refusal(err))).Inc()
	}
	return id, err
}

// refusal is how a call ended that made no operation.
func refusal(err error) execution.Status {
	var rejected *execution.RejectedError
	if errors.As(err, &rejected) {
		return execution.StatusRejected
	}
	return execution.StatusInternalError
}
