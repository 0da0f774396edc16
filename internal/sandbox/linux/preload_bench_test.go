//go:build linux && (amd64 || arm64)

package linux

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// BenchmarkDataFrame is from the analysis of a program that makes a data frame to its
// framed result, in a parked child: with pandas preloaded and with pandas imported by the
// program, each in a child that was warmed up and in one that was not. Beside the time it
// tells processor time and page faults of the run, and the memory that is the parked
// child's own.
func BenchmarkDataFrame(b *testing.B) {
	const frame = `import pandas as pd
pd.DataFrame({"a": [1, 2, 3], "b": [1.5, 2.5, 3.5]})`
	back := fromEnvironment(b, cpythontest.Libraries(b))
	for _, preload := range []string{"", "numpy,pandas"} {
		src, err := back.Open(b.Context(), sandbox.Template{Language: execution.Python, Preload: preload})
		if err != nil {
			b.Fatal(err)
		}
		for _, warm := range []bool{false, true} {
			b.Run(fmt.Sprintf("preload=%s/warm=%t", preload, warm), func(b *testing.B) { measureFrame(b, src, warm, frame) })
		}
		_ = src.Close()
	}
}

func measureFrame(b *testing.B, src sandbox.Source, warm bool, code string) {
	var cpu time.Duration
	var private, faults int64
	for b.Loop() {
		b.StopTimer()
		c, err := src.Start(b.Context(), warm)
		if err != nil {
			b.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, c.Stdout()) }()
		go func() { _, _ = io.Copy(io.Discard, c.Stderr()) }()
		pid, err := c.(*child).cell.pid()
		if err != nil {
			b.Fatal(err)
		}
		private += privateMemory(b, pid)
		before := counters(b, pid)
		b.StartTimer()
		if _, err := sandboxtest.Analyse(c.Bridge(), code); err != nil {
			b.Fatal(err)
		}
		if err := c.Arm(b.Context(), sandbox.Arm{NoFork: true, NoExec: true}); err != nil {
			b.Fatal(err)
		}
		r, err := sandboxtest.Execute(c.Bridge(), nil)
		b.StopTimer()
		if err != nil || r.Outcome != bridge.OutcomeOK {
			b.Fatalf("%+v, %v", r, err)
		}
		after := counters(b, pid)
		faults += after.faults - before.faults
		cpu += after.cpu - before.cpu
		c.Kill(sandbox.CauseFinished)
		if _, err := c.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(faults)/float64(b.N), "faults/op")
	b.ReportMetric(float64(private)/float64(b.N)/1024, "idle-private-KiB")
}

type counted struct {
	faults int64
	cpu    time.Duration
}

// counters reads minor page faults and processor time of a process.
func counters(b testing.TB, pid int) counted {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	after := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	faults, err := strconv.ParseInt(after[7], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	sched, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		b.Fatal(err)
	}
	ns, err := strconv.ParseInt(strings.Fields(string(sched))[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return counted{faults: faults, cpu: time.Duration(ns)}
}

// privateMemory is what a process shares with no other, in bytes.
func privateMemory(b testing.TB, pid int) int64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	var sum int64
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Private_"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[1], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += n * 1024
		}
	}
	return sum
}
