package subprocess

import (
	"os/exec"
	"runtime"
	"time"
)

// Group is a program with all that it starts and that stays in its process group (on
// Windows its job). Its methods may be called at once and after its end.
type Group struct {
	cmd    *exec.Cmd
	tree   tree
	exited chan struct{}
	err    error // how the program ended, once exited is closed
}

// Start starts a command as a group of its own. What is left of the group when the
// program itself has ended is killed, so that the caller needs to watch only one
// process. On Linux and Windows the program ends with this process, however that ends;
// what it has started itself does on Windows, and elsewhere if it notices that its
// standard input is at its end.
func Start(c *exec.Cmd) (*Group, error) {
	g := &Group{cmd: c, exited: make(chan struct{})}
	started := make(chan error, 1)
	go g.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return g, nil
}

// run is the life of the program. It keeps its thread: see [Run].
func (g *Group) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	endWithParent(g.cmd)
	prepareTree(g.cmd)
	if err := g.cmd.Start(); err != nil {
		started <- err
		return
	}
	if err := g.tree.adopt(g.cmd.Process); err != nil {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
		started <- err
		return
	}
	started <- nil
	g.err = g.finish()
	g.tree.release()
	close(g.exited)
}

// Exited is closed when the program has ended.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// Err is how the program ended, as [exec.Cmd.Wait] tells it; nil before its end.
func (g *Group) Err() error {
	select {
	case <-g.exited:
		return g.err
	default:
		return nil
	}
}

// Stop asks the group to end, kills it after the grace, and waits for its end. Where
// programs cannot be asked, on Windows, it is killed after the grace.
func (g *Group) Stop(grace time.Duration) {
	select {
	case <-g.exited:
		return
	default:
	}
	g.tree.terminate()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-g.exited:
		return
	case <-t.C:
	}
	g.tree.kill()
	<-g.exited
}
