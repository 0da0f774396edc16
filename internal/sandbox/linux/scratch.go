//go:build linux && (amd64 || arm64)

package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// openScratch keeps a hold of the child's scratch, to ask it how full it was. The
// child has run no user code: no link leads astray.
func (c *child) openScratch() error {
	pid, err := c.cell.pid()
	if err != nil {
		return err
	}
	name := filepath.Join("/proc", strconv.Itoa(pid), "root", workspace)
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open scratch: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
		return errors.Join(errGone, unix.Close(fd))
	default:
		c.scratch = os.NewFile(uintptr(fd), "scratch")
		return nil
	}
}

// scriptFiles is what a program in bash takes for as long as it runs: the pipe that its
// source comes by.
const scriptFiles = 1

// isFull reports whether a file system has met its limit of blocks or of files. The
// program is dead, so that what it held by descriptors alone is free again.
func isFull(place *os.File) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(place.Fd()), &st); err != nil {
		return false
	}
	return st.Bavail == 0 || st.Ffree <= scriptFiles
}
