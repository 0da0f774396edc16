//go:build unix

package web

import (
	"fmt"
	"os"
	"syscall"
)

// checkDirectory refuses a directory in which others can change what is there.
func checkDirectory(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	case !ok || int(own.Uid) != os.Geteuid():
		return fmt.Errorf("the directory %s belongs to another user, who could put a socket of theirs in its place: choose one of your own, such as $XDG_RUNTIME_DIR", dir)
	case st.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write into the directory %s and could put a socket of theirs in its place: choose one of your own, such as $XDG_RUNTIME_DIR", dir)
	}
	return nil
}
