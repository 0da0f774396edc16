package sidecar

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

// refusalBurst are the refusals that are recorded at once, and then one each second:
// calls that are turned away cost a caller nothing, and the record is not theirs to fill.
const refusalBurst = 60

// refusals counts the calls of tools, and records those that were turned away before
// there was an operation. Nothing runs in such a call, so that it is answered even if it
// cannot be recorded.
type refusals struct {
	*telemetry.Metrics

	journal telemetry.Journal
	log     *slog.Logger

	mu         sync.Mutex // guards what follows
	pace       *rate.Limiter
	unrecorded int
}

var _ mcpserver.Observer = (*refusals)(nil)

func newRefusals(j telemetry.Journal, m *telemetry.Metrics, l *slog.Logger) *refusals {
	return &refusals{Metrics: m, journal: j, log: l, pace: rate.NewLimiter(1, refusalBurst)}
}

// Rejected implements [mcpserver.Observer].
func (r *refusals) Rejected(ctx context.Context, p execution.Principal, c execution.Client, e *execution.RejectedError) {
	r.Metrics.Rejected(e.Code)
	before, ok := r.turn()
	if !ok {
		return
	}
	event := audit.Event{Time: time.Now(), Type: audit.Refused, Principal: p, Client: c, Decision: string(e.Code), Reason: e.Error()}
	if before > 0 {
		event.Details = map[string]string{"unrecorded": strconv.Itoa(before)}
	}
	if err := r.journal.Record(context.WithoutCancel(ctx), event); err != nil {
		r.log.Error("a refusal could not be recorded", "error", err)
	}
}

// turn reports whether the next refusal is recorded, and how many before it were not.
func (r *refusals) turn() (before int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.pace.Allow() {
		r.unrecorded++
		return 0, false
	}
	before, r.unrecorded = r.unrecorded, 0
	return before, true
}
