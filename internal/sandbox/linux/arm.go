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
func (c *child) Arm(ctx context.Context, a sandbox.Arm) error {
	ctx, cancel := context.WithTimeout(ctx, armTimeout)
	defer cancel()
	head := armHead(a)
	switch {
	case c.confined():
		head.Limits.Processes = 0 // the group counts them, and what it refuses can be seen
	case c.source.outside.bare:
		head.Limits.Processes = c.source.amongOthers(a.Limits)
	}
	if err := c.sendArm(ctx, head, a.Files); err != nil {
		return fmt.Errorf("arm child: %w", err)
	}
	filters := 1
	for _, more := range []bool{a.NoFork, a.NoExec} {
		if more {
			filters++
		}
	}
	err := c.source.outside.check(c.processes(), filters)
	if err == nil {
		err = c.processes().unlessGone(checkLimits(c.cell, head.Limits))
	}
	if err != nil {
		c.source.distrust(c, err)
		return fmt.Errorf("child is not narrowed: %w", err)
	}
	if err := c.tighten(a.Limits); err != nil {
		return err
	}
	c.watchMemory(a.Limits)
	return nil
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

func armHead(a sandbox.Arm) bridge.ArmHead {
	return bridge.ArmHead{
		Environment: a.Environment, NoFork: a.NoFork, NoExec: a.NoExec,
		Limits: bridge.ArmLimits{
			AddressSpace: int64(a.Limits.Memory),
			CPUSeconds:   cpuSeconds(a.Limits),
			Processes:    int64(a.Limits.Processes),
			OpenFiles:    int64(a.Limits.OpenFiles),
			FileSize:     int64(a.Limits.Scratch),
		},
	}
}

// cpuSlack is what the processor limit leaves above the wall clock: the guest's own
// work before the program, and a whole second because the limit counts in seconds.
const cpuSlack = 5 * time.Second

// cpuSeconds is the net below the wall clock, which is what ends a run: more
// processor time than one process can use within it.
func cpuSeconds(l execution.Limits) int64 {
	if l.Timeout <= 0 {
		return 0
	}
	return int64(math.Ceil((l.Timeout + cpuSlack).Seconds())) * int64(runtime.NumCPU())
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
		socketRoom: socketRoom(), ownNetwork: c.source.level != execution.LevelNoUserns,
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
