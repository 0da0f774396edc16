package subprocess

import (
	"os/exec"
	"runtime"
)

// Run runs a command that was not started, as [exec.Cmd.Run] does and with its errors.
// On Linux the kernel kills the program when this process dies, by SIGKILL too;
// elsewhere it ends by itself.
func Run(c *exec.Cmd) error {
	// The kernel sends the signal when the thread that forked ends (prctl(2),
	// PR_SET_PDEATHSIG), so that thread waits for the program.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	endWithParent(c)
	return c.Run()
}
