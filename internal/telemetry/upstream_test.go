package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// ending is tools of which each call ends as it says.
type ending struct {
	engine.Tools
	err error
}

func (e ending) Perform(context.Context, engine.Prepared, authz.Permit) (engine.Answered, error) {
	return engine.Answered{}, e.err
}

func TestCallsOfToolsAreCountedByConfiguredServersAndOutcome(t *testing.T) {
	m := telemetry.New(telemetry.Config{Version: "1", Servers: []string{"shop", "bad\xff"}, Logger: slog.New(slog.DiscardHandler)})
	call := func(server string, err error) {
		p := engine.Prepared{Entry: catalog.Entry{Definition: tool.Definition{Server: server, Name: "price"}}}
		if _, got := m.Tools(ending{err: err}).Perform(t.Context(), p, authz.Permit{}); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	wants := map[string]error{
		"ok": nil, "failed": &tool.Error{Class: tool.Failed}, "timeout": fmt.Errorf("late: %w", &tool.Error{Class: tool.Timeout}),
		"unavailable": &tool.Error{Class: tool.Unavailable}, "not_allowed": &tool.Error{Class: tool.Denied},
		"cancelled": context.Canceled, "other": errors.New("a disk is full"),
	}
	for _, err := range wants {
		call("shop", err)
	}
	call("a server that is not configured", nil)
	got := scrape(t, m)
	for outcome := range wants {
		if n := value(t, got, "gearbox_upstream_calls_total", "server=shop", "outcome="+outcome); n != 1 {
			t.Errorf("%s: %v", outcome, n)
		}
	}
	for server, want := range map[string]float64{"shop": float64(len(wants)), "other": 1, "bad?": 0} {
		if n := value(t, got, "gearbox_upstream_call_duration_seconds", "server="+server); n != want {
			t.Errorf("%s: %v calls, want %v", server, n, want)
		}
	}
}
