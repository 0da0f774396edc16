//go:build linux && (amd64 || arm64)

package leveltest

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusal is a system call that fails: whatever its arguments, or with a first one.
type refusal struct {
	call  uint32
	errno syscall.Errno
	first uint32 // 0 for any
}

func refusals() map[string][]refusal {
	return map[string][]refusal{
		// As a kernel before 5.13, or one that was booted without it.
		"landlock": {
			{unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, 0},
			{unix.SYS_LANDLOCK_ADD_RULE, unix.ENOSYS, 0},
			{unix.SYS_LANDLOCK_RESTRICT_SELF, unix.ENOSYS, 0},
		},
		// As one that was built without CONFIG_SECCOMP_FILTER (seccomp(2)).
		"seccomp": {{unix.SYS_SECCOMP, unix.EINVAL, 0}, {unix.SYS_PRCTL, unix.EINVAL, unix.PR_SET_SECCOMP}},
		// As a container whose profile forbids it.
		"mount":      {{unix.SYS_MOUNT, unix.EPERM, 0}},
		"pivot_root": {{unix.SYS_PIVOT_ROOT, unix.EPERM, 0}},
		// As a kernel before 3.5.
		"no_new_privs": {{unix.SYS_PRCTL, unix.EINVAL, unix.PR_SET_NO_NEW_PRIVS}},
	}
}

// Mechanisms are those that a command can be made to do without.
func Mechanisms() []string {
	var names []string
	for name := range refusals() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// refuse lets the calls of mechanisms fail in this thread and whatever it becomes.
func refuse(without string) error {
	if without == "" {
		return nil
	}
	const number, firstArgument = 0, 16 // in struct seccomp_data, on machines that are little-endian
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unlike := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: k}
	}
	verdict := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	var program []unix.SockFilter
	for name := range strings.SplitSeq(without, ",") {
		calls, ok := refusals()[name]
		if !ok {
			return fmt.Errorf("there is no mechanism %q", name)
		}
		for _, c := range calls {
			fails := verdict(unix.SECCOMP_RET_ERRNO | uint32(c.errno))
			if c.first == 0 {
				program = append(program, load(number), unlike(c.call, 1), fails)
				continue
			}
			program = append(program, load(number), unlike(c.call, 3), load(firstArgument), unlike(c.first, 1), fails)
		}
	}
	program = append(program, verdict(unix.SECCOMP_RET_ALLOW))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p))); errno != 0 {
		return errno
	}
	return nil
}
