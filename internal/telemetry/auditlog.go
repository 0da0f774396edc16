package telemetry

import (
	"context"
	"log/slog"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The keys of log lines. One name per idea, so that a query written once goes on
// working.
const (
	KeyOperation  = "operation_id"
	KeyPrincipal  = "principal"
	KeyClient     = "client"
	KeySession    = "session"
	KeyGear       = "gear"
	KeyCode       = "code_sha256"
	KeyPermission = "permission"
	KeyDecision   = "decision"
	KeyRule       = "rule"
	KeyReason     = "reason"
	KeyStatus     = "status"
	KeyExitCode   = "exit_code"
	KeyDuration   = "duration_ms"
	KeyCPU        = "cpu_ms"
	KeyMemoryPeak = "memory_peak_bytes"
	KeyError      = "error"
)

// Log writes a line for each event that a journal has kept.
func Log(next Journal, l *slog.Logger) Journal { return logged{next, l} }

type logged struct {
	Journal
	log *slog.Logger
}

func (j logged) Commit(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events ...audit.Event) error {
	err := j.Journal.Commit(ctx, id, from, to, c, events...)
	if err == nil {
		j.tell(ctx, events)
	}
	return err
}

func (j logged) Record(ctx context.Context, events ...audit.Event) error {
	err := j.Journal.Record(ctx, events...)
	if err == nil {
		j.tell(ctx, events)
	}
	return err
}

func (j logged) tell(ctx context.Context, events []audit.Event) {
	for _, e := range events {
		j.log.LogAttrs(ctx, slog.LevelInfo, string(e.Type), attributes(e)...)
	}
}

func attributes(e audit.Event) []slog.Attr {
	out := []slog.Attr{slog.String(KeyOperation, string(e.Operation)), slog.String(KeyPrincipal, string(e.Principal))}
	for _, a := range []slog.Attr{
		slog.String(KeyClient, client(e)), slog.String(KeySession, e.Client.Session), slog.String(KeyGear, e.Gear),
		slog.String(KeyPermission, e.Permission), slog.String(KeyDecision, e.Decision), slog.String(KeyRule, e.Rule),
		slog.String(KeyReason, e.Reason), slog.String(KeyStatus, string(e.Status)),
	} {
		if a.Value.String() != "" {
			out = append(out, a)
		}
	}
	if !e.Code.IsZero() {
		out = append(out, slog.String(KeyCode, e.Code.String()))
	}
	if e.Type == audit.Finished {
		out = append(out,
			slog.Int(KeyExitCode, e.ExitCode),
			slog.Float64(KeyDuration, float64(e.Usage.Wall.Microseconds())/1e3),
			slog.Float64(KeyCPU, float64(e.Usage.CPU.Microseconds())/1e3),
			slog.Int64(KeyMemoryPeak, int64(e.Usage.MemoryPeak)))
	}
	return out
}

func client(e audit.Event) string {
	if e.Client.Version == "" {
		return e.Client.Name
	}
	return e.Client.Name + " " + e.Client.Version
}
