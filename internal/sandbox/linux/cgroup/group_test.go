//go:build linux

package cgroup_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
)

// The test binary plays the program in a group: it waits until it is in, then
// does as the environment says.
func TestMain(m *testing.M) {
	if what := os.Getenv("CGROUP_TEST_PROGRAM"); what != "" {
		program(what)
	}
	os.Exit(m.Run())
}

func program(what string) {
	_, _ = io.ReadAll(os.Stdin)
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

// start runs a program in a group and returns its first line and how it ended.
func start(t *testing.T, g *cgroup.Group, what string) (string, *os.ProcessState) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), "CGROUP_TEST_PROGRAM="+what)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	line, _ := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Wait()
	return line, cmd.ProcessState
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
