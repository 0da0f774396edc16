//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// Stop implements [sandbox.Child]. The account is taken before anything is killed, which
// frees what is counted. Taking a tree apart costs the kernel more than running a short
// program did, and a processor that the answer needs: a cell that has no other process
// and no other thread is only stopped, which takes it from the scheduler at once and cannot
// be undone from inside. Everything else is killed here. Without namespaces it is a keeper
// that kills, and has to be waited for.
func (c *child) Stop(ctx context.Context) (sandbox.Ended, error) {
	if c.source.outside.bare {
		c.Kill(sandbox.CauseFinished)
		return c.Wait(ctx)
	}
	account, alone, ok := c.account()
	switch {
	case !ok:
		c.Kill(sandbox.CauseFinished)
		return c.Wait(ctx)
	case alone:
		c.setCause(sandbox.CauseFinished)
		c.cell.send(unix.SIGSTOP)
	default:
		c.Kill(sandbox.CauseFinished)
	}
	c.stdout.cut()
	c.stderr.cut()
	_ = c.streams.stdin.Close() // whoever still writes to it stops
	return account, nil
}

// account is what is known of a child that has sent its result and waits. It is not ok
// when the child has ended or was killed meanwhile: then there is a better one to come.
// A child that is alone is one process of one thread, apart from the reaper.
func (c *child) account() (e sandbox.Ended, alone, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
		return e, false, false
	default:
	}
	if c.cause != sandbox.CauseNone || c.watch == nil {
		return e, false, false
	}
	e.Cause = sandbox.CauseFinished
	var r reader
	var threads int
	if e.Usage, threads, ok = r.usageOf(c.watch.cell); !ok {
		return e, false, false
	}
	// Its children, and those that the reaper has adopted.
	alone = threads == 1 && r.isChildless(c.watch.cell) && r.isChildless(c.watch.reaper)
	e.Usage.Wall = time.Since(c.armedAt)
	c.unwatch(&e)
	c.readGroup(&e)
	e.ScratchFull = c.scratch != nil && isFull(c.scratch)
	return e, alone, true
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
// waited for, and how many threads it has. It has not been reaped: its number is its own.
func (r *reader) usageOf(pid int) (usage execution.Usage, threads int, ok bool) {
	// The clock of a process by its number: the complement above three bits, of which
	// 2 is the clock of the scheduler (clock_getcpuclockid(3)).
	var own unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &own); err != nil {
		return usage, 0, false
	}
	usage.CPU = time.Duration(own.Nano()) + r.childrenTime(pid)
	status, err := r.ofProcess(pid, "status")
	if err != nil {
		return usage, 0, false
	}
	usage.MemoryPeak = kilobytes(status, "VmHWM")
	threads, err = strconv.Atoi(field(status, "Threads"))
	return usage, threads, err == nil
}

// childrenTime is the time of the children that a process has waited for, in hundredths
// of a second (proc_pid_stat(5), cutime and cstime; USER_HZ is 100 on both machines).
func (r *reader) childrenTime(pid int) time.Duration {
	text, err := r.ofProcess(pid, "stat")
	if err != nil {
		return 0
	}
	// The name of the program, in parentheses, may hold anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const cutime, cstime = 16 - 3, 17 - 3
	if len(fields) <= cstime {
		return 0
	}
	var ticks int64
	for _, f := range [][]byte{fields[cutime], fields[cstime]} {
		n, _ := strconv.ParseInt(string(f), 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// isChildless reports whether a process of one thread has no children. One that cannot
// be looked at may have some.
func (r *reader) isChildless(pid int) bool {
	children, err := r.ofProcess(pid, "task/"+strconv.Itoa(pid)+"/children")
	return err == nil && len(children) == 0
}
