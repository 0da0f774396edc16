//go:build linux && (amd64 || arm64)

package seccomp

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestBareDecidesEachCall(t *testing.T) {
	eperm, pretended := verdict(unix.EPERM), verdict(0)
	pair := func(family, kind uint64) call {
		return call{number: unix.SYS_SOCKETPAIR, args: [6]uint64{family, kind}}
	}
	for name, c := range map[string]struct {
		call
		want uint32
	}{
		"read":                       {call{number: unix.SYS_READ}, allow},
		"openat":                     {call{number: unix.SYS_OPENAT}, allow},
		"mount":                      {call{number: unix.SYS_MOUNT}, eperm},
		"clone3":                     {call{number: unix.SYS_CLONE3}, verdict(unix.ENOSYS)},
		"clone of a namespace":       {call{number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWUSER}}, eperm},
		"setsid":                     {call{number: unix.SYS_SETSID}, eperm},
		"setpgid":                    {call{number: unix.SYS_SETPGID}, eperm},
		"setpriority":                {call{number: unix.SYS_SETPRIORITY}, eperm},
		"ioprio_set":                 {call{number: unix.SYS_IOPRIO_SET}, eperm},
		"inotify":                    {call{number: unix.SYS_INOTIFY_INIT1}, eperm},
		"local socket":               {call{number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX}}, verdict(unix.EAFNOSUPPORT)},
		"internet socket":            {call{number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET}}, verdict(unix.EAFNOSUPPORT)},
		"connect":                    {call{number: unix.SYS_CONNECT}, eperm},
		"bind":                       {call{number: unix.SYS_BIND}, eperm},
		"pair of streams":            {pair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK), allow},
		"pair of sequenced packets":  {pair(unix.AF_UNIX, unix.SOCK_SEQPACKET), allow},
		"pair of datagrams":          {pair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), verdict(unix.EPROTONOSUPPORT)},
		"pair of raw sockets":        {pair(unix.AF_UNIX, unix.SOCK_RAW), verdict(unix.EPROTONOSUPPORT)},
		"pair of a foreign family":   {pair(unix.AF_TIPC, unix.SOCK_STREAM), verdict(unix.EAFNOSUPPORT)},
		"terminal's settings":        {call{number: unix.SYS_IOCTL, args: [6]uint64{0, unix.TCGETS}}, allow},
		"bytes that wait":            {call{number: unix.SYS_IOCTL, args: [6]uint64{0, fionread}}, allow},
		"input for a terminal":       {call{number: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCSTI}}, verdict(unix.ENOTTY)},
		"flags of a file":            {call{number: unix.SYS_IOCTL, args: [6]uint64{0, unix.FS_IOC_SETFLAGS}}, verdict(unix.ENOTTY)},
		"signal to a process":        {call{number: unix.SYS_KILL, args: [6]uint64{77, 15}}, allow},
		"signal to the group":        {call{number: unix.SYS_KILL, args: [6]uint64{0, 15}}, eperm},
		"own affinity":               {call{number: unix.SYS_SCHED_SETAFFINITY}, allow},
		"another's affinity":         {call{number: unix.SYS_SCHED_SETAFFINITY, args: [6]uint64{77}}, eperm},
		"another's scheduler":        {call{number: unix.SYS_SCHED_SETSCHEDULER, args: [6]uint64{77}}, eperm},
		"another's limits":           {call{number: unix.SYS_PRLIMIT64, args: [6]uint64{77}}, eperm},
		"mode of a file":             {call{number: unix.SYS_FCHMODAT}, pretended},
		"mode by descriptor":         {call{number: unix.SYS_FCHMOD}, pretended},
		"owner of a file":            {call{number: unix.SYS_FCHOWNAT}, pretended},
		"times of a file":            {call{number: unix.SYS_UTIMENSAT}, pretended},
		"extended attribute":         {call{number: unix.SYS_SETXATTR}, verdict(unix.ENOTSUP)},
		"removed attribute":          {call{number: unix.SYS_LREMOVEXATTR}, verdict(unix.ENOTSUP)},
		"reading an attribute":       {call{number: unix.SYS_GETXATTR}, allow},
		"memory without a file":      {call{number: unix.SYS_MEMFD_CREATE}, eperm},
		"shared memory":              {call{number: unix.SYS_SHMGET}, eperm},
		"queue":                      {call{number: unix.SYS_MSGGET}, eperm},
		"semaphores":                 {call{number: unix.SYS_SEMGET}, eperm},
		"tracing":                    {call{number: unix.SYS_PTRACE}, eperm},
		"lease":                      {call{number: unix.SYS_FCNTL, args: [6]uint64{3, unix.F_SETLEASE}}, eperm},
		"flags of a descriptor":      {call{number: unix.SYS_FCNTL, args: [6]uint64{3, unix.F_SETFL}}, allow},
		"x32 read":                   {call{number: foreignNumbers | unix.SYS_READ}, verdict(unix.ENOSYS)},
		"read of a foreign machine":  {call{number: unix.SYS_READ, arch: unix.AUDIT_ARCH_I386}, verdictKill},
		"chmod's number on x32":      {call{number: foreignNumbers | 90}, verdict(unix.ENOSYS)},
		"a number newer than known":  {call{number: newest + 1}, verdict(unix.ENOSYS)},
		"device node":                {call{number: unix.SYS_MKNODAT, args: [6]uint64{0, 0, unix.S_IFCHR}}, eperm},
		"personality without random": {call{number: unix.SYS_PERSONALITY, args: [6]uint64{0x0040000}}, eperm},
	} {
		if got := run(t, Bare(), c.call); got != c.want {
			t.Errorf("%s: verdict %#x, want %#x", name, got, c.want)
		}
	}
}

// TestBareAllowsNothingThatCellRefuses walks through every number without arguments.
func TestBareAllowsNothingThatCellRefuses(t *testing.T) {
	cell, bare := Cell(), Bare()
	for n := uint32(0); n <= newest+8; n++ {
		if run(t, bare, call{number: n}) == allow && run(t, cell, call{number: n}) != allow && n != unix.SYS_SOCKETPAIR {
			t.Errorf("call %d", n)
		}
	}
}

func TestCellWithoutQuotasLacksOnlyInotify(t *testing.T) {
	refused := set(inotifyCalls, inotifyCallsHere)
	cell, without := Cell(), CellWithoutQuotas()
	for n := uint32(0); n <= newest+8; n++ {
		want := run(t, cell, call{number: n})
		if refused[n] {
			want = verdict(unix.EPERM)
		}
		if got := run(t, without, call{number: n}); got != want {
			t.Errorf("call %d: verdict %#x, want %#x", n, got, want)
		}
	}
}

func TestKeeperMayOnlyWaitAndKill(t *testing.T) {
	allowed := set(keeperCalls, keeperCallsHere)
	p := Keeper()
	for n := uint32(0); n <= newest+8; n++ {
		if got := run(t, p, call{number: n}); (got == allow) != allowed[n] {
			t.Errorf("call %d: verdict %#x", n, got)
		}
	}
	for _, n := range []uint32{unix.SYS_OPENAT, unix.SYS_EXECVE, unix.SYS_CLONE, unix.SYS_PRCTL, unix.SYS_SOCKET} {
		if allowed[n] {
			t.Errorf("the keeper may call %d", n)
		}
	}
}
