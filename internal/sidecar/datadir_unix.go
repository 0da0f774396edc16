//go:build unix

package sidecar

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner refuses a directory whose rules and records another user could write.
func checkOwner(dir string, st fs.FileInfo) error {
	if owner, ok := st.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("the data directory %s belongs to uid %d, not to %d: run as its owner, or choose another one with --data-dir", dir, owner.Uid, os.Geteuid())
	}
	if st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("the data directory %s can be written by others (mode %04o): chmod 700 %s", dir, st.Mode().Perm(), dir)
	}
	return nil
}
