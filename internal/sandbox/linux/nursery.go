//go:build linux && (amd64 || arm64)

package linux

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/seccomp"
)

// nursery is the process that makes reapers, ahead of the children that they are for.
//
// It leaves init before that becomes the fork server, whose memory grows large: a fork
// copies the page tables of all of it, and the copy what it touches. A reaper does
// nothing but wait, so that it needs no interpreter, nor the runtime of Go.
//
// After the fork there is no runtime. The methods from fork on therefore take no memory,
// store no pointer, grow no stack (nosplit), are not instrumented (norace, nocheckptr),
// and call the kernel alone, as package syscall does between fork and exec.
//
// It makes a reaper whenever it is sent a byte, after spareReapers to begin with, and
// hands it over by two descriptors: of the process, and of its pid namespace. It ends
// with the fork server, which is process 1 of their namespace, and the other way round.
type nursery struct {
	channel int // its end of the socket to the fork server
	proc    int // a directory to use as /proc, or -1
	// Everything that it hands to the kernel is laid out here before the fork.
	filter  *unix.SockFprog
	ignore  signalAction
	header  unix.CapUserHeader
	most    [2]unix.CapUserData // what the nursery holds
	none    [2]unix.CapUserData // what a reaper holds
	path    *byte               // of the pid namespace that the next child is in
	message unix.Msghdr
	vector  unix.Iovec
	rights  reaperRights
	byte    byte
	pipe    [2]int32
}

// signalAction is the kernel's struct sigaction.
type signalAction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// reaperRights is a control message with two descriptors (unix(7), SCM_RIGHTS).
type reaperRights struct {
	header             unix.Cmsghdr
	process, namespace int32
}

const (
	// spareReapers are how many wait for a child: a pool makes two children at once.
	spareReapers = 2
	// nurseryFD is where the fork server expects its end of the socket. It lies behind
	// all that a child keeps.
	nurseryFD = 5

	// Descriptors of the nursery and of a reaper.
	nurseryChannel = 0
	nurseryProc    = 1
	reaperReady    = 0
	complaints     = 2 // until a reaper is sealed
	firstUnused    = 3

	ignoreSignal     = 1 // SIG_IGN
	sizeOfSignalMask = 8
	allSignals       = ^uint64(0)
	lastCapability   = 63 // of the two words that the kernel has for them
	// secureBits are NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its
	// lock, and the lock of KEEP_CAPS (capabilities(7)).
	secureBits = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x40 | 0x80
)

// newNursery lays everything out. proc is -1 where /proc is mounted.
func newNursery(filter seccomp.Program, proc int) (n *nursery, channel int, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("make the nursery's socket: %w", err)
	}
	path := "/proc/self/ns/pid_for_children" // absolute, so that the directory means nothing
	if proc >= 0 {
		path = "self/ns/pid_for_children"
	}
	n = &nursery{channel: ends[0], proc: proc, ignore: signalAction{handler: ignoreSignal}}
	code := make([]unix.SockFilter, len(filter))
	for i, in := range filter {
		code[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	n.filter = &unix.SockFprog{Len: uint16(len(code)), Filter: unsafe.SliceData(code)}
	if n.path, err = unix.BytePtrFromString(path); err != nil {
		return nil, -1, err
	}
	n.header.Version = unix.LINUX_CAPABILITY_VERSION_3
	n.most[0].Permitted, n.most[0].Effective = 1<<unix.CAP_SYS_ADMIN, 1<<unix.CAP_SYS_ADMIN
	n.rights.header = unix.Cmsghdr{Level: unix.SOL_SOCKET, Type: unix.SCM_RIGHTS}
	n.rights.header.SetLen(int(unsafe.Sizeof(n.rights)))
	n.vector.Base = &n.byte
	n.vector.SetLen(1)
	n.message.Iov, n.message.Control = &n.vector, (*byte)(unsafe.Pointer(&n.rights))
	n.message.SetIovlen(1)
	n.message.SetControllen(int(unsafe.Sizeof(n.rights)))
	return n, ends[1], nil
}

// start forks the nursery. The calling thread must be locked to its goroutine.
func (n *nursery) start() error {
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	// The handlers of Go must not run in a process without its runtime.
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return fmt.Errorf("block signals: %w", err)
	}
	_, errno := n.fork()
	runtime.KeepAlive(n)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); err != nil {
		return fmt.Errorf("restore signals: %w", err)
	}
	if errno != 0 {
		return fmt.Errorf("fork the nursery: %w", errno)
	}
	return nil
}

//go:nosplit
//go:norace
//go:nocheckptr
func (n *nursery) fork() (pid uintptr, errno unix.Errno) {
	pid, _, errno = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		n.serve()
	}
	return pid, errno
}

// serve makes reapers until the fork server hangs up. What every reaper is held to alike
// is put in force once; they inherit it, as they do the blocked signals.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (n *nursery) serve() {
	n.do("descriptors", unix.SYS_DUP3, uintptr(n.channel), nurseryChannel, 0, 0)
	if n.proc >= 0 {
		n.do("descriptors", unix.SYS_DUP3, uintptr(n.proc), nurseryProc, 0, 0)
	}
	n.do("descriptors", unix.SYS_CLOSE_RANGE, firstUnused, uintptr(^uint32(0)), 0, 0)
	// The kernel itself collects the reapers that have ended, and what these adopted.
	n.do("signals", unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(&n.ignore)), 0, sizeOfSignalMask)
	for c := uintptr(0); c <= lastCapability; c++ {
		// Beyond the last one that this kernel knows it fails; the host looks at the set.
		_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0, 0)
	}
	n.do("capabilities", unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, secureBits, 0, 0)
	n.do("capabilities", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0)
	n.do("capabilities", unix.SYS_CAPSET, uintptr(unsafe.Pointer(&n.header)), uintptr(unsafe.Pointer(&n.most)), 0, 0)
	n.do("capabilities", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0)
	own := n.do("own namespace", unix.SYS_PIDFD_OPEN, n.do("own namespace", unix.SYS_GETPID, 0, 0, 0, 0), 0, 0, 0)
	for range spareReapers {
		n.make(own)
	}
	for {
		// A fork server that ends with reapers unread hangs up with an error.
		got, _, errno := unix.RawSyscall(unix.SYS_READ, nurseryChannel, uintptr(unsafe.Pointer(&n.byte)), 1)
		if errno != 0 || got == 0 {
			n.exit(0)
		}
		n.make(own)
	}
}

// make makes one reaper, waits until it is sealed, and hands it over.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (n *nursery) make(own uintptr) {
	// A second unshare in a row is refused: first back to the own namespace.
	n.do("pid namespace", unix.SYS_SETNS, own, unix.CLONE_NEWPID, 0, 0)
	n.do("pid namespace", unix.SYS_UNSHARE, unix.CLONE_NEWPID, 0, 0, 0)
	n.do("fork", unix.SYS_PIPE2, uintptr(unsafe.Pointer(&n.pipe)), unix.O_CLOEXEC, 0, 0)
	if n.do("fork", unix.SYS_CLONE, uintptr(unix.SIGCHLD)|unix.CLONE_PIDFD, 0, uintptr(unsafe.Pointer(&n.rights.process)), 0) == 0 {
		n.becomeReaper()
	}
	n.do("hand over", unix.SYS_CLOSE, uintptr(n.pipe[1]), 0, 0, 0)
	n.rights.namespace = int32(n.do("hand over", unix.SYS_OPENAT, nurseryProc, uintptr(unsafe.Pointer(n.path)), unix.O_RDONLY|unix.O_CLOEXEC, 0))
	// Blocks until the reaper, with the last copy of the other end, is sealed or dead.
	n.do("hand over", unix.SYS_READ, uintptr(n.pipe[0]), uintptr(unsafe.Pointer(&n.byte)), 1, 0)
	n.do("hand over", unix.SYS_CLOSE, uintptr(n.pipe[0]), 0, 0, 0)
	n.do("hand over", unix.SYS_SENDMSG, nurseryChannel, uintptr(unsafe.Pointer(&n.message)), unix.MSG_NOSIGNAL, 0)
	n.do("hand over", unix.SYS_CLOSE, uintptr(n.rights.process), 0, 0, 0)
	n.do("hand over", unix.SYS_CLOSE, uintptr(n.rights.namespace), 0, 0, 0)
}

// becomeReaper makes this process the trusted process 1 of a child's namespace: it adopts
// orphans, whom the kernel collects for it, and takes everything along when it is killed.
// Signals of the child do not reach it, for all are blocked.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (n *nursery) becomeReaper() {
	// A group or session that is shared can be signalled across pid namespaces.
	n.do("reaper's descriptors", unix.SYS_SETSID, 0, 0, 0, 0)
	n.do("reaper's descriptors", unix.SYS_DUP3, uintptr(n.pipe[1]), reaperReady, 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, nurseryProc, 0, 0)
	n.do("reaper's descriptors", unix.SYS_CLOSE_RANGE, firstUnused, uintptr(^uint32(0)), 0, 0)
	n.do("reaper's capabilities", unix.SYS_CAPSET, uintptr(unsafe.Pointer(&n.header)), uintptr(unsafe.Pointer(&n.none)), 0, 0)
	n.do("reaper's capabilities", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0)
	n.do("reaper's filter", unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(n.filter)), 0)
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, complaints, 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, reaperReady, 0, 0)
	for {
		_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

// do makes a system call, or says which step failed and ends.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (n *nursery) do(step string, number, a, b, c, d uintptr) uintptr {
	result, _, errno := unix.RawSyscall6(number, a, b, c, d, 0, 0)
	if errno != 0 {
		n.say("nursery: cannot make a reaper, step: ")
		n.say(step)
		n.say("\n")
		n.exit(uintptr(errno))
	}
	return result
}

//go:nosplit
//go:norace
//go:nocheckptr
func (n *nursery) say(text string) {
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, complaints, uintptr(unsafe.Pointer(unsafe.StringData(text))), uintptr(len(text)))
}

//go:nosplit
//go:norace
func (n *nursery) exit(code uintptr) {
	for {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, code, 0, 0)
	}
}
