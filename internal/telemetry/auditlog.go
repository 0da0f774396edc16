package telemetry

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/logging"
)

// Log writes a line for each event that a journal has kept, once the log is to tell all
// of them.
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
		if l := level(e.Type); j.log.Enabled(ctx, l) {
			j.log.LogAttrs(ctx, l, string(e.Type), attributes(e)...)
		}
	}
}

// level: one line for each operation, when it is over. How it got there is in the record.
func level(t audit.Type) slog.Level {
	switch t {
	case audit.Requested, audit.Decided, audit.Started:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
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
	for _, key := range slices.Sorted(maps.Keys(e.Details)) {
		out = append(out, slog.String(key, e.Details[key]))
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
