//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// Stop implements [sandbox.Child]. The account is taken before the kill, which frees
// what is counted; taking the tree apart costs the kernel more than running a short
// program did. Without namespaces it is a keeper that kills, and has to be waited for.
func (c *child) Stop(ctx context.Context) (sandbox.Ended, error) {
	if c.source.outside.bare {
		c.Kill(sandbox.CauseFinished)
		return c.Wait(ctx)
	}
	account, ok := c.account()
	c.Kill(sandbox.CauseFinished)
	if !ok {
		return c.Wait(ctx)
	}
	c.stdout.cut()
	c.stderr.cut()
	_ = c.streams.stdin.Close() // whoever still writes to it stops
	return account, nil
}

// account is what is known of a child that has sent its result and waits. It is not ok
// when the child has ended or was killed meanwhile: then there is a better one to come.
func (c *child) account() (sandbox.Ended, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
		return sandbox.Ended{}, false
	default:
	}
	if c.cause != sandbox.CauseNone || c.watch == nil {
		return sandbox.Ended{}, false
	}
	e := sandbox.Ended{Cause: sandbox.CauseFinished}
	var ok bool
	if e.Usage, ok = usageOf(c.watch.cell); !ok {
		return sandbox.Ended{}, false
	}
	e.Usage.Wall = time.Since(c.armedAt)
	c.unwatch(&e)
	c.readGroup(&e)
	e.ScratchFull = c.scratch != nil && isFull(c.scratch)
	return e, true
}

// unwatch takes what the watcher has seen, as often as it is asked. The mutex is held.
func (c *child) unwatch(e *sandbox.Ended) {
	if c.watch == nil {
		return
	}
	peak, crowded := c.source.watcher.remove(c.watch)
	e.Usage.MemoryPeak = max(e.Usage.MemoryPeak, peak)
	e.ProcessesFull = e.ProcessesFull || crowded
}

// usageOf is what the kernel has counted for a process and the descendants that it has
// waited for. The process has not been reaped: its number is its own.
func usageOf(pid int) (execution.Usage, bool) {
	// The clock of a process by its number: the complement above three bits, of which
	// 2 is the clock of the scheduler (clock_getcpuclockid(3)).
	var own unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &own); err != nil {
		return execution.Usage{}, false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return execution.Usage{}, false
	}
	return execution.Usage{
		CPU:        time.Duration(own.Nano()) + childrenTime(pid),
		MemoryPeak: kilobytes(status, "VmHWM"),
	}, true
}

// childrenTime is the time of the children that a process has waited for, in hundredths
// of a second (proc_pid_stat(5), cutime and cstime; USER_HZ is 100 on both machines).
func childrenTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the program, in parentheses, may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const cutime, cstime = 16 - 3, 17 - 3
	if len(fields) <= cstime {
		return 0
	}
	var ticks int64
	for _, f := range []string{fields[cutime], fields[cstime]} {
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
