//go:build unix

package subprocess

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// tree is the process group that a program leads.
type tree struct {
	mu  sync.Mutex // guards pid, so that no signal goes to a number that was given away
	pid int        // 0 before the start, and when the leader was waited for
}

func prepareTree(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Setpgid = true
}

func (t *tree) adopt(p *os.Process) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pid = p.Pid
	return nil
}

func (t *tree) terminate() { t.signal(syscall.SIGTERM) }

func (t *tree) kill() { t.signal(syscall.SIGKILL) }

func (t *tree) signal(s syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pid > 0 {
		_ = syscall.Kill(-t.pid, s) // nobody is left, or they end otherwise
	}
}

func (t *tree) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pid = 0
}
