//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// Arm has the guest narrow itself and then looks from outside whether it did.
//
// What the template holds every child to is in force already and was checked then, so
// that an ordinary run has nothing to add and the guest is not asked.
func (c *child) Arm(ctx context.Context, a sandbox.Arm) error {
	if head := c.narrower(a); !isEmpty(head) || len(a.Files) > 0 {
		if err := c.narrow(ctx, head, a.Files); err != nil {
			return err
		}
	}
	if err := c.tighten(a.Limits); err != nil {
		return err
	}
	c.watchMemory(a.Limits)
	return nil
}

// narrow asks the guest and believes what can be seen.
func (c *child) narrow(ctx context.Context, head bridge.ArmHead, files []execution.File) error {
	ctx, cancel := context.WithTimeout(ctx, armTimeout)
	defer cancel()
	if err := c.sendArm(ctx, head, files); err != nil {
		return fmt.Errorf("arm child: %w", err)
	}
	all := filters(c.source.shape) + trueOf(head.NoFork, head.NoExec)
	if err := c.source.outside.check(c.processes(), requirement{filters: all, limits: head.Limits}, &reader{}); err != nil {
		c.source.distrust(c, err)
		return fmt.Errorf("child is not narrowed: %w", err)
	}
	return nil
}

// filters is how many system call filters every cell of the shape has.
func filters(s sandbox.Shape) int { return 1 + trueOf(s.NoFork, s.NoExec) }

func trueOf(of ...bool) int {
	n := 0
	for _, b := range of {
		if b {
			n++
		}
	}
	return n
}

func isEmpty(h bridge.ArmHead) bool {
	return h.Limits == bridge.ArmLimits{} && len(h.Environment) == 0 && !h.NoFork && !h.NoExec
}

func (c *child) sendArm(ctx context.Context, head bridge.ArmHead, files []execution.File) error {
	var body []byte
	for _, f := range files {
		head.Files = append(head.Files, bridge.ArmFile{Path: f.Path, Size: int64(len(f.Data))})
		body = append(body, f.Data...)
	}
	f, err := bridge.NewFrame(bridge.Arm, 1, head, body)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.streams.bridge.SetWriteDeadline(time.Unix(1, 0)) })
	err = c.bridge.WriteFrame(f)
	if !stop() {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	var armed bridge.ArmedHead
	if err := c.readFrame(ctx, bridge.Arm, &armed); err != nil {
		return err
	}
	if armed.Error != "" {
		return fmt.Errorf("guest: %s", armed.Error)
	}
	return nil
}

// narrower is what the run adds to what its template has put in force.
func (c *child) narrower(a sandbox.Arm) bridge.ArmHead {
	shape := c.source.shape
	below := func(run, sealed int64) int64 {
		if run >= sealed {
			return 0
		}
		return run
	}
	head := bridge.ArmHead{
		Environment: a.Environment, NoFork: a.NoFork && !shape.NoFork, NoExec: a.NoExec && !shape.NoExec,
		Limits: bridge.ArmLimits{
			AddressSpace: below(int64(a.Limits.Memory), int64(shape.Memory)),
			Processes:    below(int64(a.Limits.Processes), int64(shape.Processes)),
			OpenFiles:    below(int64(a.Limits.OpenFiles), int64(shape.OpenFiles)),
			FileSize:     below(int64(a.Limits.Scratch), int64(shape.Scratch)),
		},
	}
	switch {
	case c.confined():
		head.Limits.Processes = 0 // the group counts them, and what it refuses can be seen
	case c.source.outside.bare:
		head.Limits.Processes = c.source.amongOthers(a.Limits)
	}
	return head
}

// cpuSlack is what the processor limit leaves above the wall clock: the guest's own
// work before the program, and a whole second because the limit counts in seconds.
const cpuSlack = 5 * time.Second

// cpuSeconds is the net below the wall clock, which is what ends a run: more
// processor time than one process can use within it.
func cpuSeconds(timeout time.Duration) int64 {
	return int64(math.Ceil((timeout + cpuSlack).Seconds())) * int64(runtime.NumCPU())
}

// watchMemory begins to measure the tree.
func (c *child) watchMemory(l execution.Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
		return
	default:
	}
	c.armedAt = time.Now()
	reaper, errReaper := c.reaper.pid()
	cell, errCell := c.cell.pid()
	if errReaper != nil || errCell != nil {
		return // it ended meanwhile
	}
	c.watch = &watch{
		socketRoom: c.source.socketRoom, ownNetwork: c.source.level != execution.LevelNoUserns,
		reaper: reaper, cell: cell, memory: l.Memory, processes: l.Processes,
		over: func() { c.Kill(sandbox.CauseMemory) },
	}
	if c.group != nil {
		c.watch.ranOut = c.ranOut
	}
	if c.place != "" {
		c.watch.place, c.watch.bytes, c.watch.files = c.place, c.source.shape.Scratch, c.source.shape.ScratchFiles
		if l.Scratch > 0 {
			c.watch.bytes = min(l.Scratch, c.watch.bytes)
		}
		c.watch.full = func() { c.Kill(sandbox.CauseScratch) }
	}
	c.source.watcher.add(c.watch)
}
