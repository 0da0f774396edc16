//go:build linux

package cgroup_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
)

// The test binary plays the program in a group and does as the environment says.
func TestMain(m *testing.M) {
	if what := os.Getenv("CGROUP_TEST_PROGRAM"); what != "" {
		program(what)
	}
	os.Exit(m.Run())
}

func program(what string) {
	switch what {
	case "memory":
		var all [][]byte
		for range 256 {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
		}
		runtime.KeepAlive(all)
		say("kept")
	case "membership":
		text, _ := os.ReadFile("/proc/self/cgroup")
		say(string(text))
	case "processes":
		for range 64 {
			if err := exec.CommandContext(context.Background(), "/proc/self/exe").Start(); err != nil {
				say("refused")
				os.Exit(0)
			}
		}
		say("never refused")
	}
	os.Exit(0)
}

func say(line string) { _, _ = os.Stdout.WriteString(line + "\n") }

func place(t *testing.T) *cgroup.Place {
	t.Helper()
	p, err := cgroup.Find()
	if err != nil {
		t.Skipf("skipped: control groups: %v", err)
	}
	t.Logf("control groups of version %d", p.Version())
	return p
}

// start runs a program in a group and returns its first line and how it ended. A shell
// goes in, since it has one thread as a cell has, and becomes the program.
func start(t *testing.T, g *cgroup.Group, what string) (string, *os.ProcessState) {
	t.Helper()
	doors, err := g.Doors()
	if err != nil {
		t.Fatal(err)
	}
	script := `exec "$0"`
	for i, d := range doors {
		defer d.Close()
		script = fmt.Sprintf("printf %s >&%d && ", cgroup.Enter, 3+i) + script
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script, self)
	cmd.Env = append(os.Environ(), "CGROUP_TEST_PROGRAM="+what)
	cmd.ExtraFiles = doors
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState
}

func TestAGroupsMemoryIsBounded(t *testing.T) {
	g, err := place(t).New(cgroup.Limits{Memory: 64 << 20, Processes: 32})
	if err != nil {
		t.Fatal(err)
	}
	line, end := start(t, g, "memory")
	u, err := g.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if signal := end.Sys().(syscall.WaitStatus).Signal(); line != "" || signal != syscall.SIGKILL || u.OOMKills == 0 {
		t.Errorf("said %q, signal %v, %+v", line, signal, u)
	}
	if u.MemoryPeak > 65<<20 || u.MemoryPeak < 32<<20 {
		t.Errorf("peak %v", u.MemoryPeak)
	}
	if err := g.Close(time.Minute); err != nil {
		t.Error(err)
	}
}

func TestAGroupsProcessesAreBounded(t *testing.T) {
	g, err := place(t).New(cgroup.Limits{Memory: 1 << 30, Processes: 16})
	if err != nil {
		t.Fatal(err)
	}
	line, _ := start(t, g, "processes")
	u, err := g.Usage()
	if err != nil || line != "refused\n" || u.Refused == 0 {
		t.Errorf("said %q, %+v, %v", line, u, err)
	}
	if err := g.Close(time.Minute); err != nil {
		t.Error(err)
	}
}

func TestAGroupHoldsWhoWentIn(t *testing.T) {
	p := place(t)
	var groups []*cgroup.Group
	for range 2 {
		g, err := p.New(cgroup.Limits{Memory: 1 << 30, Processes: 16})
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	inside, _ := start(t, groups[0], "membership")
	if !groups[0].Holds(inside) || groups[1].Holds(inside) {
		t.Errorf("the groups of a process in the first: %s", inside)
	}
	outside, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || groups[0].Holds(string(outside)) {
		t.Errorf("the groups of this process: %s, %v", outside, err)
	}
	for _, g := range groups {
		if err := g.Close(time.Minute); err != nil {
			t.Error(err)
		}
	}
}

func TestAGroupThatIsClosedTwiceIsGone(t *testing.T) {
	g, err := place(t).New(cgroup.Limits{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := g.Close(time.Minute); err != nil {
			t.Error(err)
		}
	}
	if _, err := g.Usage(); err == nil {
		t.Error("it can still be read")
	}
}

func TestPlacesOfOneProcessDoNotTakeEachOthersNames(t *testing.T) {
	for range 2 {
		g, err := place(t).New(cgroup.Limits{Memory: 64 << 20, Processes: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(time.Second) }()
	}
}
