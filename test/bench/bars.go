//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
)

// bar is what has to hold, on this machine and on others: ratios first, since
// milliseconds are those of one machine.
type bar struct {
	what, figure string
	limit        float64
	atLeast      bool // the figure has to reach the limit; otherwise it may not exceed it
	unit         string
}

// bars are the promises that concern running code.
func bars() []bar {
	var all []bar
	for _, era := range eras {
		call, name := "mcp.print."+era, "`execute` of `print(1)` over MCP stdio, "+era+": "
		all = append(all,
			bar{name + "faster than a bare start, `-c 'print(1)'`", "mcp.bare:" + call, 8, true, "×"},
			bar{name + "faster than a bare start, `-I -S -c pass`", "mcp.bare-IS:" + call, 8, true, "×"},
			bar{name + "against a tool that does nothing", call + ":mcp.noop." + era, 2.5, false, "×"},
			bar{name + "p50", call + ".p50", 2, false, " ms"},
			bar{name + "p99", call + ".p99", 5, false, " ms"},
			bar{name + "slower than the commit beside it (-beside: the one before durable records), by", "more." + era, 0.5, false, " ms"},
		)
	}
	return append(all,
		bar{"pool, checkout to result: against an echo to an idle Python process", "pool:echo", 4, false, "×"},
		bar{"pool, checkout to result: p50", "pool.p50", 0.6, false, " ms"},
		bar{"pool, checkout to result: p99", "pool.p99", 1.5, false, " ms"},
		bar{"a call of a tool from inside the sandbox: median difference to the same session's call", "more.call", 1, false, " ms"},
		bar{"a call of a tool from inside the sandbox: to a call of the SDK's own session", "more.call.sdk", 1, false, " ms"},
		bar{"100 slow calls at once: as long as one, times", "call.gather:call.slow", 1.25, false, "×"},
		bar{"a data frame with pandas preloaded, over MCP: faster than bare `import pandas`", "data.import:data.preload", 50, true, "×"},
		bar{"a data frame with pandas preloaded, over MCP: p50", "data.preload.p50", 4, false, " ms"},
		bar{"over stateless HTTP: against a tool that does nothing", "http.print:http.noop", 2.5, false, "×"},
		bar{"over stateless HTTP: p50", "http.print.p50", 2.5, false, " ms"},
		bar{"over stateless HTTP: p99", "http.print.p99", 6, false, " ms"},
		bar{"pool empty, on demand: p50", "ondemand.p50", 6, false, " ms"},
		bar{"isolation's own cost over a plain fork: median difference", "isolation", 2, false, " ms"},
		bar{"fresh server: connected, the slowest", "fresh.initialize.p99", 100, false, " ms"},
		bar{"first start ever: connected, the slowest", "first.initialize.p99", 100, false, " ms"},
		bar{"fresh server, unpacked: first result", "fresh.result.p50", 500, false, " ms"},
		bar{"first start ever: first result", "first.result.p50", 5000, false, " ms"},
		bar{"sustained, engine, 16 at once: share of fork only", "share.16", 60, true, " %"},
		bar{"sustained, engine, 16 at once: share of fork only, by processor time", "cpushare.16", 60, true, " %"},
		bar{"sustained, engine, 16 at once: processor time of a run", "cpu.engine.16", 10, false, " ms"},
		bar{"sustained, engine, 16 at once: runs/s per core", "load.engine.16", 100, true, ""},
		bar{"sustained, over MCP stdio, 16 at once: runs/s per core", "load.mcp.16", 70, true, ""},
		bar{"idle warm child: private memory", "memory.plain." + kindChild, 4, false, " MB"},
		bar{"idle warm child with pandas: private memory", "memory.data." + kindChild, 6, false, " MB"},
		bar{"time limit: a busy program is late by, at most", "late.busy.p99", 200, false, " ms"},
		bar{"time limit: a sleeping program is late by, at most", "late.asleep.p99", 200, false, " ms"},
		bar{"time limit: busy threads are late by, at most", "late.threads.p99", 200, false, " ms"},
		bar{"analysis of 400 lines: p50", "analysis.p50", 25, false, " ms"},
	)
}

// barsSection compares the bars with this run, and beside it an earlier one.
// A partial run shows only what it has measured.
func barsSection(now, before *report, partial bool) section {
	s := section{
		Title: "The bars",
		About: "Computed from this run; “before” is the run at the end of this document. Those of the audit hook are measured by " +
			"[a program of its own](../internal/guest/tests/bench_hook.py), in processor time.",
		Columns: []string{"what", "bar", "before", "now", "verdict"},
	}
	for _, b := range bars() {
		was, now := before.figure(b), now.figure(b)
		if partial && now == nil {
			continue
		}
		s.Rows = append(s.Rows, []string{b.what, b.text(), b.show(was), b.show(now), b.verdict(now)})
	}
	return s
}

// figure is what the report has for a bar, or nil.
func (r *report) figure(b bar) *float64 {
	if v, ok := r.Figures[b.figure]; ok {
		return &v
	}
	return nil
}

func (b bar) text() string {
	sign := "≤ "
	if b.atLeast {
		sign = "≥ "
	}
	return fmt.Sprintf("%s%v%s", sign, b.limit, b.unit)
}

func (b bar) show(v *float64) string {
	if v == nil {
		return "–"
	}
	return number(*v) + b.unit
}

func (b bar) verdict(v *float64) string {
	switch {
	case v == nil:
		return "not measured"
	case b.atLeast && *v < b.limit:
		return "**missed**, by " + number(b.limit / *v) + "×"
	case !b.atLeast && *v > b.limit:
		return "**missed**, by " + number(*v/b.limit) + "×"
	default:
		return "met"
	}
}
