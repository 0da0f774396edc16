//go:build unix

package upstream

import "syscall"

// runs reports whether a process is there.
func runs(pid int) bool { return syscall.Kill(pid, 0) == nil }
