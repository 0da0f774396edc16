package telemetry

import (
	"context"
	"log/slog"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/logging"
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
	out := make([]slog.Attr, 0, 16)
	out = append(out, slog.String(logging.KeyOperation, string(e.Operation)), slog.String(logging.KeyPrincipal, string(e.Principal)))
	for _, a := range []slog.Attr{
		slog.String(logging.KeyClient, client(e)), slog.String(logging.KeySession, e.Client.Session), slog.String(logging.KeyGear, e.Gear),
		slog.String(logging.KeyPermission, e.Permission), slog.String(logging.KeyDecision, e.Decision), slog.String(logging.KeyRule, e.Rule),
		slog.String(logging.KeyReason, e.Reason), slog.String(logging.KeyStatus, string(e.Status)),
	} {
		if a.Value.String() != "" {
			out = append(out, a)
		}
	}
	if !e.Code.IsZero() {
		out = append(out, slog.String(logging.KeyCode, e.Code.String()))
	}
	if e.Type == audit.Finished {
		out = append(out,
			slog.Int(logging.KeyExitCode, e.ExitCode),
			slog.Float64(logging.KeyDuration, float64(e.Usage.Wall.Microseconds())/1e3),
			slog.Float64(logging.KeyCPU, float64(e.Usage.CPU.Microseconds())/1e3),
			slog.Int64(logging.KeyMemoryPeak, int64(e.Usage.MemoryPeak)))
	}
	return out
}

func client(e audit.Event) string {
	if e.Client.Version == "" {
		return e.Client.Name
	}
	return e.Client.Name + " " + e.Client.Version
}
