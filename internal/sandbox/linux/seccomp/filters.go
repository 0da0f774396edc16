//go:build linux && (amd64 || arm64)

package seccomp

import (
	"golang.org/x/sys/unix"
)

// newest is the last number that was looked at when the lists were written
// (Linux 6.19). A refused number up to it returns EPERM, a later one ENOSYS.
const newest = unix.SYS_RSEQ_SLICE_YIELD

// namespaceFlags are the CLONE_NEW flags of clone(2). CLONE_NEWTIME is not among
// them: clone reads its bit as part of the exit signal.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// bufferSizes are the options that make the buffers of a socket larger. Sockets here
// are of the Unix domain, which has no options of these numbers on another level.
func bufferSizes() []uint32 {
	return []uint32{unix.SO_SNDBUF, unix.SO_RCVBUF, unix.SO_SNDBUFFORCE, unix.SO_RCVBUFFORCE}
}

const (
	// personalityQuery asks for the personality without changing it. Others
	// switch address randomisation off (personality(2)).
	personalityQuery = 0xffffffff
	personalityLinux = 0
	// deviceBit is set in the file type of device nodes (S_IFCHR, S_IFBLK) and
	// clear in that of regular files, FIFOs and sockets.
	deviceBit = unix.S_IFCHR
)

// Cell is the filter of a child in namespaces of its own.
func Cell() Program { return cell(cellConditions(), nil) }

// CellWithoutQuotas is Cell where a user namespace without quotas leaves instances
// of inotify to be counted against the operator.
func CellWithoutQuotas() Program {
	return cell(cellConditions(), refusing(inotifyCalls, inotifyCallsHere))
}

// cell compiles the allow-list. What other says of a call goes before it.
func cell(conditions []condition, other map[uint32]uint32) Program {
	allowed := set(allowedEverywhere, allowedHere)
	return policy{
		conditions: conditions,
		verdict: func(n uint32) uint32 {
			special, ok := other[n]
			switch {
			case ok:
				return special
			case allowed[n]:
				return verdictAllow
			case n == unix.SYS_CLONE3, n > newest:
				// clone3 takes its flags by pointer, out of reach of a filter;
				// the C library falls back to clone upon ENOSYS.
				return verdict(unix.ENOSYS)
			default:
				return verdict(unix.EPERM)
			}
		},
	}.compile()
}

func cellConditions() []condition {
	out := []condition{
		{number: unix.SYS_CLONE, arg: 0, test: anyBit, values: []uint32{namespaceFlags}, errno: unix.EPERM},
		{number: unix.SYS_SOCKET, arg: 0, test: differs, values: []uint32{unix.AF_UNIX}, errno: unix.EAFNOSUPPORT},
		// A buffer stays as large as it is, so that the number of sockets bounds the
		// kernel's memory in them. The caller is told that all is well: the kernel
		// too only takes the size as a wish (socket(7)).
		{number: unix.SYS_SETSOCKOPT, arg: 2, test: equals, values: bufferSizes(), errno: 0},
		// Both put input into a terminal that the child may have been given
		// (CVE-2017-5226).
		{number: unix.SYS_IOCTL, arg: 1, test: equals, values: []uint32{unix.TIOCSTI, unix.TIOCLINUX}, errno: unix.EPERM},
		// Limits of the process itself alone: limits count per user too.
		{number: unix.SYS_PRLIMIT64, arg: 0, test: differs, values: []uint32{0}, errno: unix.EPERM},
		{number: unix.SYS_PERSONALITY, arg: 0, test: differs, values: []uint32{personalityQuery, personalityLinux}, errno: unix.EPERM},
		{number: unix.SYS_MKNODAT, arg: 2, test: anyBit, values: []uint32{deviceBit}, errno: unix.EPERM},
		// A lease makes others wait who open the file; a file need only be one's own
		// for it, and be open for reading (fcntl(2)).
		{number: unix.SYS_FCNTL, arg: 1, test: equals, values: []uint32{unix.F_SETLEASE, unix.F_NOTIFY}, errno: unix.EPERM},
	}
	return append(out, conditionsHere...)
}

// Reaper is the filter of process 1 of a child, which waits for ever.
func Reaper() Program { return only(set(reaperCalls)) }

// only refuses every call that is not in allowed.
func only(allowed map[uint32]bool) Program {
	return policy{verdict: func(n uint32) uint32 {
		if allowed[n] {
			return verdictAllow
		}
		return verdict(unix.EPERM)
	}}.compile()
}

// NoFork refuses new processes. Threads stay.
func NoFork() Program {
	refused := set(forkCallsHere, nil)
	return policy{
		conditions: []condition{
			{number: unix.SYS_CLONE, arg: 0, test: missing, values: []uint32{unix.CLONE_THREAD}, errno: unix.EPERM},
		},
		verdict: func(n uint32) uint32 {
			switch {
			case n == unix.SYS_CLONE3:
				return verdict(unix.ENOSYS)
			case refused[n]:
				return verdict(unix.EPERM)
			default:
				return verdictAllow
			}
		},
	}.compile()
}

// NoExec refuses new programs. EACCES is what a file without the right to
// execute gives, which callers already explain well.
func NoExec() Program {
	return policy{verdict: func(n uint32) uint32 {
		if n == unix.SYS_EXECVE || n == unix.SYS_EXECVEAT {
			return verdict(unix.EACCES)
		}
		return verdictAllow
	}}.compile()
}

func set(lists ...[]uint32) map[uint32]bool {
	out := map[uint32]bool{}
	for _, l := range lists {
		for _, n := range l {
			out[n] = true
		}
	}
	return out
}
