package telemetry

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

type upstreamMetrics struct {
	calls    counters
	duration histograms
}

// The outcomes of a call beside the classes of [tool.Error].
const (
	callOK        = "ok"
	callCancelled = "cancelled"
)

// outcomes are how calls that were made end, by class. The others are refused before.
func outcomes() map[tool.Class]string {
	return map[tool.Class]string{tool.Failed: "failed", tool.Timeout: "timeout", tool.Unavailable: "unavailable", tool.Denied: "not_allowed"}
}

func (m *Metrics) upstreamMetrics(servers []string) upstreamMetrics {
	for i, s := range servers {
		servers[i] = strings.ToValidUTF8(s, "?")
	}
	server := label("server", "the server, by the name under which it is configured", servers...)
	return upstreamMetrics{
		calls: m.counter("gearbox_upstream_calls_total", "Calls of tools of other MCP servers that were permitted, by programs and by clients.", server,
			label("outcome", "how it ended. failed: the tool or its server said so; timeout; unavailable: the server could not be reached, or went away; "+
				"not_allowed: the server's own lists exclude the tool; cancelled: nobody waited any more; other: a failure of ours",
				callOK, outcomes()[tool.Failed], outcomes()[tool.Timeout], outcomes()[tool.Unavailable], outcomes()[tool.Denied], callCancelled)),
		duration: m.histogram("gearbox_upstream_call_duration_seconds",
			"Time from the permit of such a call to its answer: the wait for the server and for a turn among its calls included, that for a human not.", durationBuckets(), server),
	}
}

// Tools counts the calls that are made.
func (m *Metrics) Tools(next engine.Tools) engine.Tools { return &countedTools{next, m} }

type countedTools struct {
	engine.Tools
	m *Metrics
}

// Perform implements [engine.Tools].
func (t *countedTools) Perform(ctx context.Context, p engine.Prepared, permit authz.Permit) (engine.Answered, error) {
	began := t.m.now()
	a, err := t.Tools.Perform(ctx, p, permit)
	t.m.upstreamCall(p.Entry.Definition.Server, outcomeOf(err), t.m.now().Sub(began))
	return a, err
}

func (m *Metrics) upstreamCall(server, outcome string, took time.Duration) {
	m.upstream.calls.at(server, outcome).Inc()
	m.upstream.duration.at(server).Observe(took.Seconds())
}

func outcomeOf(err error) string {
	var failed *tool.Error
	switch {
	case err == nil:
		return callOK
	case errors.Is(err, context.Canceled):
		return callCancelled
	case errors.As(err, &failed) && outcomes()[failed.Class] != "":
		return outcomes()[failed.Class]
	}
	return other
}
