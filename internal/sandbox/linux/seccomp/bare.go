//go:build linux && (amd64 || arm64)

package seccomp

import "golang.org/x/sys/unix"

// bareRefused are calls of [Cell] that reach others where no namespace is in
// between, and that Landlock does not look at.
var bareRefused = []uint32{
	// One process group holds the whole tree, so that one kill reaches it.
	unix.SYS_SETSID, unix.SYS_SETPGID,
	// The priorities of all processes of a user, or of any one of them.
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
	// Sockets with names: a connected pair is all that is left.
	unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_CONNECT,
}

// attributeCalls change what a file is said to be. Landlock does not look at them,
// and the user of the sandbox may own files outside of it.
var attributeCalls = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
}

// extendedCalls change extended attributes, which not every file system has.
var extendedCalls = []uint32{
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
}

// bareRequests are what may be asked of a descriptor. The others reach the files
// that the user of the sandbox owns, through a descriptor that only reads.
var bareRequests = []uint32{
	unix.TCGETS, unix.TCGETS2, unix.TIOCGWINSZ, unix.TIOCGPGRP, fionread, fionbio, fioclex, fionclex, unix.FICLONE,
}

// noFamily is a family that the kernel refuses by itself.
const noFamily = 0xffffffff

// Requests that x/sys does not name (asm-generic/ioctls.h).
const (
	fionread = 0x541b
	fionbio  = 0x5421
	fionclex = 0x5450
	fioclex  = 0x5451
)

// Bare is the filter of a child without namespaces.
//
// Mode, owner and times of files cannot be changed, and asking for it succeeds: so
// does a file system that cannot keep them (mount(8), vfat, option quiet). Refused
// instead, it would fail every program that copies a file.
func Bare() Program {
	other := refusing(bareRefused, inotifyCalls, inotifyCallsHere)
	for n := range set(attributeCalls, attributeCallsHere) {
		other[n] = verdict(0)
	}
	for n := range set(extendedCalls) {
		other[n] = verdict(unix.ENOTSUP)
	}
	return cell(bareConditions(), other)
}

// bareConditions are those of a cell, and those on calls that name another process.
func bareConditions() []condition {
	own := []uint32{0}
	out := []condition{
		{number: unix.SYS_SOCKET, arg: 0, test: differs, values: []uint32{noFamily}, errno: unix.EAFNOSUPPORT},
		// Datagram sockets can be turned to another address although they are a pair
		// (connect(2)). Among the types only theirs and the obsolete ones have this bit.
		{
			number: unix.SYS_SOCKETPAIR, arg: 0, test: differs, values: []uint32{unix.AF_UNIX}, errno: unix.EAFNOSUPPORT,
			also: &condition{number: unix.SYS_SOCKETPAIR, arg: 1, test: anyBit, values: []uint32{unix.SOCK_DGRAM}, errno: unix.EPROTONOSUPPORT},
		},
		{number: unix.SYS_IOCTL, arg: 1, test: differs, values: bareRequests, errno: unix.ENOTTY},
		// A program that signals its group believes that it made one for itself.
		{number: unix.SYS_KILL, arg: 0, test: equals, values: own, errno: unix.EPERM},
	}
	for _, n := range []uint32{
		unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY,
	} {
		out = append(out, condition{number: n, arg: 0, test: differs, values: own, errno: unix.EPERM})
	}
	replaced := map[uint32]bool{unix.SYS_SOCKET: true, unix.SYS_IOCTL: true}
	for _, c := range cellConditions() {
		if !replaced[c.number] {
			out = append(out, c)
		}
	}
	return out
}

// keeperCalls are what a process asks for that waits for its group and ends it. The C
// library may wait in more ways than one, and a lock of the interpreter is a futex.
var keeperCalls = []uint32{
	unix.SYS_CLOSE, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_PPOLL, unix.SYS_FUTEX, unix.SYS_RESTART_SYSCALL,
	unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPROCMASK, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_KILL, unix.SYS_WRITE, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_BRK, unix.SYS_MADVISE,
}

// Keeper is the filter of the process that stands in for [Reaper] where there is no
// pid namespace.
func Keeper() Program { return only(set(keeperCalls, keeperCallsHere)) }

// refusing maps every number of the lists to EPERM.
func refusing(lists ...[]uint32) map[uint32]uint32 {
	out := map[uint32]uint32{}
	for n := range set(lists...) {
		out[n] = verdict(unix.EPERM)
	}
	return out
}
