//go:build linux && (amd64 || arm64)

package linux

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHintsNameTheOneChange(t *testing.T) {
	for name, c := range map[string]struct {
		check string
		errno syscall.Errno
		facts facts
		want  string
	}{
		"switched off":            {checkUserns, unix.ENOSPC, facts{}, "user.max_user_namespaces"},
		"switched off, full":      {checkIDMaps, unix.ENOSPC, facts{container: true}, "user.max_user_namespaces"},
		"kernel without":          {checkUserns, unix.EINVAL, facts{}, "CONFIG_USER_NS"},
		"Debian patch":            {checkUserns, unix.EPERM, facts{clonePatch: true}, "kernel.unprivileged_userns_clone=1"},
		"Ubuntu 24.04, maps":      {checkIDMaps, unix.EPERM, facts{appArmorRestricts: true}, "kernel.apparmor_restrict_unprivileged_userns=0"},
		"Ubuntu 24.04, mounts":    {checkRoot, unix.EACCES, facts{appArmorRestricts: true}, "userns,"},
		"Docker, seccomp":         {checkUserns, unix.EPERM, facts{container: true}, "--security-opt seccomp="},
		"Docker, masked proc":     {checkProc, unix.EPERM, facts{container: true}, "systempaths=unconfined"},
		"Kubernetes":              {checkUserns, unix.EPERM, facts{container: true, kubernetes: true}, "hostUsers: false"},
		"Kubernetes, masked proc": {checkProc, unix.EPERM, facts{container: true, kubernetes: true}, "procMount: Unmasked"},
		"covered proc":            {checkProc, unix.EPERM, facts{}, "/proc"},
		"root without ids":        {checkIDMaps, unix.EPERM, facts{root: true}, "4242"},
		"no Landlock":             {checkLandlock, unix.EOPNOTSUPP, facts{}, "lsm="},
		"no seccomp":              {checkSeccomp, unix.EINVAL, facts{}, "CONFIG_SECCOMP_FILTER"},
		"no known way":            {checkRun, 0, facts{}, ""},
	} {
		got := hint(c.check, c.errno, c.facts)
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: hint %q, want %q in it", name, got, c.want)
		}
	}
}

func TestSealReportsAreRead(t *testing.T) {
	for text, want := range map[string]StepError{
		"landlock: [Errno 38] landlock version: Function not implemented": {Step: "landlock", Detail: "[Errno 38] landlock version: Function not implemented", Errno: unix.ENOSYS},
		"descriptors: unexpected": {Step: "descriptors", Detail: "unexpected"},
		"mounts: [Errno x] odd":   {Step: "mounts", Detail: "[Errno x] odd"},
		"mounts: [Errno -1] odd":  {Step: "mounts", Detail: "[Errno -1] odd"},
		"":                        {},
	} {
		if got := parseSealReport(text); *got != want {
			t.Errorf("%q: %+v", text, *got)
		}
	}
}
