package telemetry

import (
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

type toolMetrics struct {
	calls      counters
	duration   histograms
	rejections counters
}

func (m *Metrics) toolMetrics() toolMetrics {
	tools := label("tool", "the tool that was called", toolNames()...)
	return toolMetrics{
		calls: m.counter("gearbox_tool_calls_total", "Calls of tools by MCP clients.", tools,
			either("outcome", "what the answer says of itself: error is isError", "ok", "error")),
		duration: m.histogram("gearbox_tool_call_duration_seconds",
			"Time from the call of a tool to its answer. A call may answer before the execution that it began has ended.", durationBuckets(), tools),
		rejections: m.counter("gearbox_rejections_total",
			"Calls that were answered as rejected: malformed, about something that is not there, or more than there is room for.",
			label("code", "why", names(execution.CodeInvalidArgument, execution.CodeNotFound, execution.CodeUnavailable)...)),
	}
}

// toolNames are those of all tools of the product, with every profile.
func toolNames() []string {
	return []string{
		"execute", "get_operation", "cancel_operation", "list_packages", "search_tools", "describe_tools", "call_tool", "run_agent",
		"run_script", "run_python_code", "execute_code",
	}
}

// ToolCall counts one call of a tool that was answered.
func (m *Metrics) ToolCall(tool string, isError bool, took time.Duration) {
	outcome := "ok"
	if isError {
		outcome = "error"
	}
	m.tools.calls.at(tool, outcome).Inc()
	m.tools.duration.at(tool).Observe(took.Seconds())
}

// Rejected counts one call, of whatever protocol, that was answered as rejected.
func (m *Metrics) Rejected(code execution.Code) { m.tools.rejections.at(string(code)).Inc() }
