package subprocess

import (
	"errors"

	"golang.org/x/sys/unix"
)

// finish waits for the end of the program and kills what is left of its group. It does
// so before the program is waited for: until then its number, and so that of the group,
// is nobody else's.
func (g *Group) finish() error {
	for {
		err := unix.Waitid(unix.P_PID, g.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	g.tree.kill()
	return g.cmd.Wait()
}
