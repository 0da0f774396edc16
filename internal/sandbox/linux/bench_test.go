//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// BenchmarkOpen is a cold fork server: from nothing to its first child.
func BenchmarkOpen(b *testing.B) {
	be := backend(b, nil)
	for b.Loop() {
		s := openWith(b, be, sandbox.Shape{})
		c := mustStart(b, s, false)
		b.StopTimer()
		discard(b, c)
		_ = s.Close()
		b.StartTimer()
	}
}

// BenchmarkStartChild is what a child costs that no pool has ready.
func BenchmarkStartChild(b *testing.B) {
	inAndOutOfGroups(b, func(b *testing.B, s *source) {
		for b.Loop() {
			c := mustStart(b, s, false)
			b.StopTimer()
			discard(b, c)
			b.StartTimer()
		}
	})
}

// BenchmarkTearDown is from the kill of a parked child until nothing is left of it.
func BenchmarkTearDown(b *testing.B) {
	inAndOutOfGroups(b, func(b *testing.B, s *source) {
		for b.Loop() {
			b.StopTimer()
			c := mustStart(b, s, false)
			b.StartTimer()
			discard(b, c)
		}
	})
}

// BenchmarkRunOnDemand is a whole run that no pool helps: start, program, answer and
// teardown, with what all processes have used for it.
func BenchmarkRunOnDemand(b *testing.B) {
	inAndOutOfGroups(b, func(b *testing.B, s *source) {
		m := newMeter(b, s)
		for b.Loop() {
			c := mustStart(b, s, false)
			prints(b, c)
			if _, err := c.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			discard(b, c)
		}
		m.report(b)
	})
}

// BenchmarkCheckChild is the look from outside that every child gets.
func BenchmarkCheckChild(b *testing.B) {
	s := open(b, sandbox.Shape{})
	c := mustStart(b, s, false).(*child)
	for b.Loop() {
		if err := s.inspect(c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkControlGroup is a group's life without the processes in it.
func BenchmarkControlGroup(b *testing.B) {
	p := groups(b)
	for b.Loop() {
		g, err := p.New(cgroup.Limits{Memory: 1 << 29, Processes: 64})
		if err != nil {
			b.Fatal(err)
		}
		if err := g.Close(letGo); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParkedChildPrints is from the analysis of a program to its framed
// result, in a warm child.
func BenchmarkParkedChildPrints(b *testing.B) {
	s := open(b, sandbox.Shape{})
	for b.Loop() {
		b.StopTimer()
		c := mustStart(b, s, true)
		b.StartTimer()
		prints(b, c)
		b.StopTimer()
		discard(b, c)
		b.StartTimer()
	}
}

func groups(b *testing.B) *cgroup.Place {
	b.Helper()
	p, err := cgroup.Find()
	if err != nil {
		b.Skipf("skipped: %v", err)
	}
	return p
}

// inAndOutOfGroups runs a benchmark on a source with control groups and on one without. A
// child that is to be warm is made only when the fork server has loaded everything.
func inAndOutOfGroups(b *testing.B, run func(*testing.B, *source)) {
	on := func(b *testing.B, be *Backend) {
		s := openWith(b, be, sandbox.Shape{NoFork: true, NoExec: true})
		discard(b, mustStart(b, s, true))
		run(b, s)
	}
	b.Run("groups=no", func(b *testing.B) { on(b, backend(b, nil)) })
	b.Run("groups=yes", func(b *testing.B) {
		be := backend(b, nil)
		be.config.Groups = groups(b)
		on(b, be)
	})
}

func mustStart(b *testing.B, s *source, warm bool) sandbox.Child {
	b.Helper()
	c, err := s.Start(b.Context(), warm)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// prints runs a program to its result.
func prints(b *testing.B, c sandbox.Child) {
	b.Helper()
	go func() { _, _ = io.Copy(io.Discard, c.Stdout()) }()
	go func() { _, _ = io.Copy(io.Discard, c.Stderr()) }()
	if _, err := sandboxtest.Analyse(c.Bridge(), "print(1)"); err != nil {
		b.Fatal(err)
	}
	if err := c.Arm(b.Context(), sandbox.Arm{NoFork: true, NoExec: true}); err != nil {
		b.Fatal(err)
	}
	if _, err := sandboxtest.Execute(c.Bridge(), nil); err != nil {
		b.Fatal(err)
	}
}

func discard(b *testing.B, c sandbox.Child) {
	b.Helper()
	c.Kill(sandbox.CauseAbandoned)
	if _, err := c.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// meter tells what runs cost in processor time and page faults: this process, which is
// the host, and a fork server with its nursery and its dead cells. Reapers are left out,
// whose accounts the kernel drops.
type meter struct {
	server        int
	host, sandbox time.Duration
	faults        int64
}

func newMeter(b *testing.B, s *source) *meter {
	m := &meter{server: s.server.process.Pid}
	m.host, m.sandbox, m.faults = m.read(b)
	return m
}

func (m *meter) report(b *testing.B) {
	host, inside, faults := m.read(b)
	n := float64(b.N)
	b.ReportMetric(float64((host-m.host).Microseconds())/n, "host-µs/op")
	b.ReportMetric(float64((inside-m.sandbox).Microseconds())/n, "sandbox-µs/op")
	b.ReportMetric(float64(faults-m.faults)/n, "faults/op")
}

func (m *meter) read(b *testing.B) (host, inside time.Duration, faults int64) {
	b.Helper()
	var self unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &self); err != nil {
		b.Fatal(err)
	}
	for _, pid := range append(childrenOf(m.server), m.server) {
		spent, faulted := spentBy(b, pid)
		inside += spent
		faults += faulted
	}
	return time.Duration(self.Utime.Nano() + self.Stime.Nano()), inside, faults
}

// spentBy is what a process and the dead that it has collected have used.
func spentBy(b *testing.B, pid int) (spent time.Duration, faults int64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	const minflt, cminflt, utime, cstime = 10 - 3, 11 - 3, 14 - 3, 17 - 3 // proc_pid_stat(5), counted behind the name
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	numbers := make([]int64, len(fields))
	for i, f := range fields {
		numbers[i], _ = strconv.ParseInt(f, 10, 64) // the first is a letter
	}
	var ticks int64
	for _, n := range numbers[utime : cstime+1] {
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, numbers[minflt] + numbers[cminflt]
}
