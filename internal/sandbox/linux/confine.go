//go:build linux && (amd64 || arm64)

package linux

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
)

// letGo bounds the wait for the kernel to let go of a group whose processes are dead.
const letGo = 5 * time.Second

// newGroup makes the control group of a child, if there are any, with the limits of its
// shape; those of a run are set later. The child itself goes in through the doors, before
// anything else, and the host looks whether it has.
func (s *source) newGroup() (g *cgroup.Group, doors []*os.File, err error) {
	p := s.backend.config.Groups
	if p == nil {
		return nil, nil, nil
	}
	g, err = p.New(s.groupLimits())
	if err != nil {
		return nil, nil, err
	}
	if doors, err = g.Doors(); err != nil {
		return nil, nil, errors.Join(err, g.Close(letGo))
	}
	return g, doors, nil
}

// groupLimits are those that every group begins with.
func (s *source) groupLimits() cgroup.Limits {
	return cgroup.Limits{Memory: s.shape.Memory, Processes: s.shape.Processes}
}

// processesCeiling is what the kernel's own limit per user namespace is set to where
// a control group counts: high enough that the group is what refuses.
func processesCeiling(s sandbox.Shape, groups *cgroup.Place) int {
	if groups == nil {
		return s.Processes
	}
	return 2 * s.Processes
}

func (c *child) confined() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.group != nil
}

// ranOut reports whether the kernel had to kill for the group's memory. Version 1
// kills one process and lets the others go on, so that somebody has to look.
func (c *child) ranOut() bool {
	c.mu.Lock()
	g := c.group
	c.mu.Unlock()
	if g == nil {
		return false
	}
	usage, err := g.Usage()
	return err == nil && usage.OOMKills > 0
}

// tighten sets the limits of the run. One that the run leaves open stays as it was, and
// those of the shape are in force already: a limit on memory that is written again costs
// the kernel a round over all processors.
//
// A child whose fork server has ended is about to follow it: no program begins in one.
func (c *child) tighten(l execution.Limits) error {
	if c.source.server.isStopped() {
		return sandbox.ErrSourceDead
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	limits := cgroup.Limits{Memory: l.Memory, Processes: l.Processes}
	if c.group == nil || limits == c.source.groupLimits() {
		return nil
	}
	if err := c.group.Limit(limits); err != nil {
		return fmt.Errorf("limit the child's control group: %w", err)
	}
	return nil
}

// count takes the kernel's account of the group. A program that died because the
// group was out of memory met its limit, whoever sent the signal. The mutex is
// held and the processes are dead.
func (c *child) count(e *sandbox.Ended) {
	if c.group == nil {
		return
	}
	killed := c.readGroup(e)
	if e.Cause == sandbox.CauseNone && e.Signal == int(unix.SIGKILL) && killed {
		e.Cause = sandbox.CauseMemory
	}
	c.source.disband(c.group)
	c.group = nil
}

// readGroup takes what the group has counted, and tells whether the kernel had to kill
// for its memory. The mutex is held.
func (c *child) readGroup(e *sandbox.Ended) (killed bool) {
	if c.group == nil {
		return false
	}
	usage, err := c.group.Usage()
	if err != nil {
		c.source.backend.config.Logger.Warn("a control group could not be read", "error", err)
	}
	e.Usage.MemoryPeak = max(e.Usage.MemoryPeak, usage.MemoryPeak)
	e.ProcessesFull = e.ProcessesFull || usage.Refused > 0
	return usage.OOMKills > 0
}

// disband removes a group beside the path of the answer. Close waits for it.
func (s *source) disband(g *cgroup.Group) {
	s.disbanding.Go(func() {
		if err := g.Close(letGo); err != nil {
			s.backend.config.Logger.Warn("a control group is left behind", "error", err)
		}
	})
}
