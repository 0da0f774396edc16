//go:build linux && (amd64 || arm64)

package leveltest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// shimName marks the re-executed test binary.
const shimName = "gearbox-test-level"

// users is how many users and groups the outer namespace of a test run by root maps,
// each to itself.
const users = 1 << 16

// Force makes cmd run as user uid where the kernel gives no more than level, and does as
// if it was without some mechanisms, see [Mechanisms]. Without root it runs as the only
// user of the outer namespace, which is this one, called 0.
func Force(cmd *exec.Cmd, level execution.Level, uid int, without ...string) {
	cmd.Args = append([]string{shimName, string(level), strconv.Itoa(uid), strings.Join(without, ","), cmd.Path}, cmd.Args...)
	cmd.Path = "/proc/self/exe"
	a := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	if os.Geteuid() == 0 {
		a.UidMappings[0].Size, a.GidMappings[0].Size = users, users
		a.GidMappingsEnableSetgroups = true
	}
	cmd.SysProcAttr = a
}

// MaybeShim takes over when this process was started by a command of [Force], and then
// never returns. It belongs first in TestMain.
func MaybeShim() {
	if len(os.Args) < 6 || os.Args[0] != shimName {
		return
	}
	err := shim(execution.Level(os.Args[1]), os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
	fmt.Fprintln(os.Stderr, "leveltest:", err)
	os.Exit(125) //nolint:forbidigo // the process was only the shim: there is no main to return to
}

// shim spoils this process's namespaces and becomes the command.
func shim(level execution.Level, uid, without, path string, args []string) error {
	// Capabilities and their bounding sets belong to threads, and exec keeps those of its own.
	runtime.LockOSThread()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	var err error
	switch level {
	case execution.LevelNoUserns:
		// The next attempt to make one gives ENOSPC (namespaces(7)).
		err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	case execution.LevelNoProc:
		// A covered part, as in Docker, keeps a less privileged namespace from a /proc
		// that would show it (fs/namespace.c, mount_too_revealing).
		err = unix.Mount("mask", "/proc/sys", "tmpfs", unix.MS_RDONLY, "")
	case execution.LevelFull:
	default:
		err = errors.New("nothing forces this level")
	}
	if err != nil {
		return fmt.Errorf("level %s: %w", level, err)
	}
	// Root in a container may not trace other users' processes.
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_PTRACE, 0, 0, 0); err != nil {
		return fmt.Errorf("drop a capability: %w", err)
	}
	if err := become(uid); err != nil {
		return fmt.Errorf("become user %s: %w", uid, err)
	}
	if err := refuse(without); err != nil {
		return fmt.Errorf("do without %s: %w", without, err)
	}
	return syscall.Exec(path, args, os.Environ())
}

// become leaves the capabilities of the outer namespace to its user 0 alone.
func become(uid string) error {
	id, err := strconv.Atoi(uid)
	if err != nil || id == 0 {
		return err
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(id); err != nil {
		return err
	}
	return syscall.Setuid(id)
}
