//go:build linux && (amd64 || arm64)

package linux

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// facts are what a hint depends on apart from the failure itself.
type facts struct {
	// appArmorRestricts: an unprivileged process may make a user namespace but
	// gets no capability in it (Ubuntu 23.10 and later).
	appArmorRestricts bool
	// clonePatch: the Debian patch that forbids user namespaces is switched on.
	clonePatch bool
	container  bool
	kubernetes bool
	root       bool
}

func readFacts() facts {
	value := func(name string) string {
		text, _ := os.ReadFile("/proc/sys/kernel/" + name)
		return strings.TrimSpace(string(text))
	}
	return facts{
		appArmorRestricts: value("apparmor_restrict_unprivileged_userns") == "1",
		clonePatch:        value("unprivileged_userns_clone") == "0",
		container:         InContainer(),
		kubernetes:        os.Getenv(kubernetesVariable) != "",
		root:              os.Geteuid() == 0,
	}
}

// hint names the one change that mends a failed check, or nothing when none is known.
func hint(check string, errno syscall.Errno, f facts) string {
	refused := errno == unix.EPERM || errno == unix.EACCES
	switch {
	case errno == unix.ENOSPC && (check == checkUserns || check == checkIDMaps):
		return "user namespaces are switched off: run `sysctl -w user.max_user_namespaces=15000` on the host"
	case errno == unix.EINVAL && check == checkUserns:
		return "this kernel was built without user namespaces (CONFIG_USER_NS): use one that has them"
	case check == checkUserns && refused && f.clonePatch:
		return "user namespaces are for root alone here: run `sysctl -w kernel.unprivileged_userns_clone=1` on the host"
	case f.kubernetes && refused:
		return "in Kubernetes: set `hostUsers: false` for the pod, and `procMount: Unmasked` and a seccomp profile that allows unshare, mount and pivot_root for the container"
	case check == checkProc && refused && f.container:
		return "the container's /proc is masked: start it with `--security-opt systempaths=unconfined`"
	case f.container && refused:
		return "the container's seccomp profile forbids namespaces: start it with `--security-opt seccomp=docs/deploy/docker/seccomp.json`, or `seccomp=unconfined`"
	case f.appArmorRestricts && refused && !f.root:
		return "AppArmor takes the capabilities of unprivileged user namespaces away: run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or load docs/deploy/apparmor/gearbox, a profile with `userns,` for the gearbox binary"
	case check == checkIDMaps && refused && f.root:
		return "user 4242 cannot be mapped: run as an ordinary user, or give the container the user ids 0 and 4242"
	case check == checkProc && refused:
		return "parts of /proc are covered by other mounts: run where /proc is whole"
	case check == checkLandlock:
		return "Landlock is not in force: use Linux 5.13 or later and boot with `landlock` in the parameter lsm="
	case check == checkSignals:
		return "without user namespaces Landlock has to confine signals: use Linux 6.12 or later with `landlock` in the parameter lsm=, or allow user namespaces"
	case check == checkIdentity:
		return "root has to become user 4242: leave it CAP_SETUID and CAP_SETGID, or run as an ordinary user"
	case check == checkShelter:
		return "a private directory is needed below TMPDIR: let it be writable, and give root CAP_CHOWN and CAP_DAC_OVERRIDE or run as an ordinary user"
	case check == checkSeccomp && errno == unix.EINVAL:
		return "this kernel was built without CONFIG_SECCOMP_FILTER: use one that has it"
	default:
		return ""
	}
}
