//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// arm64 has none of the older forms.
var (
	allowedHere     []uint32
	keeperCallsHere []uint32
	forkCallsHere   []uint32
	conditionsHere  []condition

	inotifyCallsHere   []uint32
	attributeCallsHere []uint32
)
