//go:build !unix

package cpython

import (
	"errors"
	"io/fs"
	"os"
)

// privateModes is false: permission bits do not say here who may write.
const privateModes = false

// fileState is what one lstat tells. There is no ctime and no inode here.
type fileState struct {
	mode     fs.FileMode
	size     int64
	modified int64
	changed  int64
	inode    uint64
	uid      uint32
}

// errQuota is never met here.
var errQuota = errors.ErrUnsupported

func (fileState) ours() bool { return true }

func lstat(path string) (fileState, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fileState{}, err
	}
	return fileState{mode: normalMode(info.Mode()), size: info.Size(), modified: info.ModTime().UnixNano()}, nil
}

// normalMode gives every file the mode that the tree records for it, since the
// system has no execute permission of its own.
func normalMode(m fs.FileMode) fs.FileMode {
	switch {
	case m.IsDir():
		return fs.ModeDir | 0o755
	case m.IsRegular():
		return 0o444
	}
	return m.Type()
}
