//go:build unix

package clientconfig

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives t the owner of the file it will replace.
func keepOwner(t *os.File, original fs.FileInfo) error {
	was, ok := original.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := t.Stat()
	if err != nil {
		return err
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok && is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return t.Chown(int(was.Uid), int(was.Gid))
}
