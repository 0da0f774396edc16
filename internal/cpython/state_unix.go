//go:build unix

package cpython

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// privateModes tells that permission bits mean what they say here.
const privateModes = true

// fileState is what one lstat tells.
type fileState struct {
	mode     fs.FileMode
	size     int64
	modified int64 // nanoseconds
	changed  int64 // ctime: only the kernel sets it
	inode    uint64
	uid      uint32
}

// errQuota is how the system says that the quota of a user is used up.
const errQuota = unix.EDQUOT

func (s fileState) ours() bool { return int(s.uid) == os.Geteuid() }

func lstat(path string) (fileState, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fileState{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return fileState{
		mode: fileMode(uint32(st.Mode)), size: st.Size,
		modified: st.Mtim.Nano(), changed: st.Ctim.Nano(), inode: st.Ino, uid: st.Uid,
	}, nil
}

// fileMode keeps the set-id bits as part of the permissions: a file that gained
// one has changed.
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	if m&(unix.S_ISUID|unix.S_ISGID|unix.S_ISVTX) != 0 {
		mode |= fs.ModeSetuid
	}
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		// The permissions of a link mean nothing and differ between systems.
		return fs.ModeSymlink
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}
