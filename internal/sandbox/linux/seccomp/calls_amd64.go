//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// allowedHere are calls that only amd64 has.
var allowedHere = []uint32{
	// Older forms of the calls above.
	unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_POLL,
	unix.SYS_SELECT, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD, unix.SYS_SIGNALFD,
	unix.SYS_INOTIFY_INIT, unix.SYS_PIPE, unix.SYS_DUP2, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_UNLINK,
	unix.SYS_RENAME, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_READLINK, unix.SYS_CHMOD, unix.SYS_CHOWN,
	unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT, unix.SYS_GETDENTS, unix.SYS_GETPGRP,
	unix.SYS_TIME, unix.SYS_ALARM, unix.SYS_PAUSE, unix.SYS_FORK, unix.SYS_VFORK,
	// Thread-local storage.
	unix.SYS_ARCH_PRCTL,
}

var keeperCallsHere = []uint32{unix.SYS_PAUSE}

// forkCallsHere make processes and have no flags.
var forkCallsHere = []uint32{unix.SYS_FORK, unix.SYS_VFORK}

var conditionsHere = []condition{
	{number: unix.SYS_MKNOD, arg: 1, test: anyBit, values: []uint32{deviceBit}, errno: unix.EPERM},
}

// inotifyCallsHere are the older forms of inotifyCalls.
var inotifyCallsHere = []uint32{unix.SYS_INOTIFY_INIT}

// attributeCallsHere are the older forms of attributeCalls.
var attributeCallsHere = []uint32{
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}
