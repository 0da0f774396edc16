package strictyaml

import (
	"io"
	"os"
)

// maxFile bounds a file. The built-in gears have less than 8 KiB.
const maxFile = 256 << 10

// ReadFile reads a regular file, and of one that is too large as much as shows that.
// Anything else may block, even while it is opened (fifo(7)), or answer differently
// each time: then the error is a *[FileError]. Others are those of the system, and
// name the file.
func ReadFile(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &FileError{File: path, Message: "is not a regular file", Hint: "put its contents into a file of their own"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written that closing could lose
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}
