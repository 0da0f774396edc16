package telemetry

import (
	"context"
	"log/slog"

	"github.com/gearbox-mcp/gearbox/internal/audit"
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

// AuditLog writes one line per event.
func AuditLog(l *slog.Logger) func(context.Context, ...audit.Event) error {
	return func(ctx context.Context, events ...audit.Event) error {
		for _, e := range events {
			l.LogAttrs(ctx, slog.LevelInfo, string(e.Type), attributes(e)...)
		}
		return nil
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
