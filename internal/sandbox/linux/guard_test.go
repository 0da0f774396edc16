//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// The speed of a warm run is held by counting what it does, which is the same on every
// machine and on a busy one. The bounds leave room for another kernel and another
// version of CPython, and none for a step of the design that is lost: docs/benchmarks.md
// has the times.

// short and ordinary are the programs that are counted.
const (
	short    = "print(1)"
	ordinary = `
import csv, io, json, re
class Row:
    def __init__(self, name, score):
        self.name, self.score = name, float(score)
    def __repr__(self):
        return f"{self.name}={self.score:.1f}"
text = "name,score\n" + "\n".join(f"n{i},{i * 1.5}" for i in range(20))
rows = [Row(r["name"], r["score"]) for r in csv.DictReader(io.StringIO(text))]
rows.sort(key=lambda r: -r.score)
best = rows[:3]
words = re.findall(r"[a-z]+", text)
with open("out.json", "w") as f:
    json.dump({"best": [r.name for r in best], "words": len(words)}, f)
try:
    {}["missing"]
except KeyError as error:
    print("caught", error)
print(best, sum(r.score for r in rows))
len(rows)
`
)

// effort is what a cell has done, as the kernel counts it.
type effort struct {
	faults   int // pages that had to be made or copied
	switches int // times that it waited
}

func effortOf(t *testing.T, c *child) effort {
	t.Helper()
	pid, err := c.cell.pid()
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	const minflt = 10 - 3 // proc_pid_stat(5), counted behind the name
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return effort{number(t, fields[minflt]), number(t, field(status, "voluntary_ctxt_switches"))}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// runIn runs a program in a child to its result, and leaves the child as it then is.
func runIn(t *testing.T, c *child, code string) {
	t.Helper()
	if _, err := sandboxtest.Analyse(c.Bridge(), code); err != nil {
		t.Fatal(err)
	}
	if err := c.Arm(bounded(t), sandbox.Arm{}); err != nil {
		t.Fatal(err)
	}
	if r, err := sandboxtest.Execute(c.Bridge(), nil); err != nil || r.ExitCode != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

func stop(t *testing.T, c *child) {
	t.Helper()
	if _, err := c.Stop(bounded(t)); err != nil {
		t.Error(err)
	}
	c.Kill(sandbox.CauseAbandoned)
	if _, err := c.Wait(bounded(t)); err != nil {
		t.Error(err)
	}
}

func startWarm(t *testing.T, s *source) *child {
	t.Helper()
	c, err := s.Start(bounded(t), true)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*child)
}

// least is the least work of several runs: what the machine adds, it adds to some.
func least(t *testing.T, s *source, code string) effort {
	t.Helper()
	best := effort{1 << 30, 1 << 30}
	for range 5 {
		c := startWarm(t, s)
		before := effortOf(t, c)
		runIn(t, c, code)
		after := effortOf(t, c)
		stop(t, c)
		best.faults = min(best.faults, after.faults-before.faults)
		best.switches = min(best.switches, after.switches-before.switches)
	}
	return best
}

// TestAWarmRunTouchesFewNewPages fails when children are no longer warmed up, or with
// programs that resemble real ones no more, or when the fork server no longer is.
func TestAWarmRunTouchesFewNewPages(t *testing.T) {
	s := open(t, sandbox.Shape{})
	for code, most := range map[string]int{short: 60, ordinary: 200} {
		got := least(t, s, code)
		t.Logf("%d faults for %d bytes of source", got.faults, len(code))
		if got.faults > most {
			t.Errorf("%d page faults, at most %d are allowed, in\n%s", got.faults, most, code)
		}
	}
}

// TestAWarmRunWaitsForTheHostTwice: once for the source and once to be started. A third
// time would be another journey through the scheduler.
func TestAWarmRunWaitsForTheHostTwice(t *testing.T) {
	got := least(t, open(t, sandbox.Shape{}), short)
	t.Logf("%d waits", got.switches)
	if got.switches > 3 { // the third is its wait to be killed
		t.Errorf("the cell waited %d times", got.switches)
	}
}

// TestAChildWaitsToBeKilled: one that ends by itself keeps a processor busy with taking it
// apart at the very moment at which the host has an answer to send.
func TestAChildWaitsToBeKilled(t *testing.T) {
	s := open(t, sandbox.Shape{})
	first, second := startWarm(t, s), startWarm(t, s)
	runIn(t, first, short)
	// The fork server collects the dead in the order of their deaths, more or less, and
	// all of them before it makes another child.
	runIn(t, second, short)
	stop(t, second)
	stop(t, startWarm(t, s))
	select {
	case <-first.ended:
		t.Error("the child ended by itself after its result")
	default:
	}
	if ended, err := first.Stop(bounded(t)); err != nil || ended.Cause != sandbox.CauseFinished {
		t.Errorf("%+v, %v", ended, err)
	}
	first.Kill(sandbox.CauseAbandoned)
	if ended, err := first.Wait(bounded(t)); err != nil || ended.Signal != int(syscall.SIGKILL) {
		t.Errorf("%+v, %v", ended, err)
	}
}

// TestAWarmRunMakesFewSystemCalls counts them with strace, where it is.
func TestAWarmRunMakesFewSystemCalls(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("skipped: system calls are counted by strace, which is not installed")
	}
	s := open(t, sandbox.Shape{})
	c := startWarm(t, s)
	pid, err := c.cell.pid()
	if err != nil {
		t.Fatal(err)
	}
	calls := traced(t, strace, pid, func() { runIn(t, c, short) })
	stop(t, c)
	t.Logf("%d system calls:\n%s", len(calls), strings.Join(calls, "\n"))
	if len(calls) < 4 || len(calls) > 30 {
		t.Errorf("%d system calls", len(calls))
	}
}

// traced lists the system calls that a process makes meanwhile.
func traced(t *testing.T, strace string, pid int, meanwhile func()) []string {
	t.Helper()
	log := t.TempDir() + "/calls"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, strace, "-p", strconv.Itoa(pid), "-o", log)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 256)
	n, err := said.Read(line) // it says so when it has attached, or why it cannot
	if err != nil || !strings.Contains(string(line[:n]), "attached") {
		_ = cmd.Wait()
		t.Skipf("skipped: strace cannot look at a cell here: %s", line[:n])
	}
	meanwhile()
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait() // it ends by the signal
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// TestAChildCostsTwoForks: the numbers that the fork server's namespace gives out tell how
// many processes were made from the first child to the last.
func TestAChildCostsTwoForks(t *testing.T) {
	s := open(t, sandbox.Shape{})
	if s.level == "no-userns" {
		t.Skip("skipped: at level no-userns the numbers are the machine's")
	}
	const children = 8
	var first, last int
	for i := range children {
		c := startWarm(t, s)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.processes().mustCell(t)))
		if err != nil {
			t.Fatal(err)
		}
		last = number(t, strings.Fields(field(status, "NSpid"))[1])
		if i == 0 {
			first = last
		}
		runIn(t, c, short)
		stop(t, c)
	}
	// The reaper that takes the place of a spare one may be made before the cell or after it.
	if made := last - first; made > 2*(children-1)+1 {
		t.Errorf("%d processes were made for %d children", made, children-1)
	}
}

func (p processes) mustCell(t *testing.T) int {
	t.Helper()
	pid, err := p.cell.pid()
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
