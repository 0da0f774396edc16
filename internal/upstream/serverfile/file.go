package serverfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"
)

// The bounds of what is read. Claude Code keeps the history of its projects in the file of
// its servers, which reaches some megabytes; the others are written by hand.
const (
	maxJSON  = 16 << 20
	maxOther = 1 << 20
	maxEnv   = 1 << 20
	// maxDepth bounds nesting: parsers call themselves for each level.
	maxDepth = 200
)

// byteOrderMark is what some Windows editors put in front of UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// readFile reads a regular file of at most limit bytes that not everybody may write: whoever
// does decides which programs are started.
func readFile(path string, limit int64) ([]byte, error) {
	st, err := os.Stat(path) // before it is opened, which may block on a pipe
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &FileError{File: path, Message: "is not there", Err: fs.ErrNotExist}
	case err != nil:
		return nil, &FileError{File: path, Message: "cannot be read", Err: cause(err)}
	case !st.Mode().IsRegular():
		return nil, &FileError{File: path, Message: "is not a regular file", Advice: "name a file"}
	case runtime.GOOS != "windows" && st.Mode().Perm()&0o002 != 0:
		return nil, &FileError{File: path, Message: fmt.Sprintf("everybody may write it (mode %04o)", st.Mode().Perm()), Advice: "chmod o-w " + path}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &FileError{File: path, Message: "cannot be read", Err: cause(err), Advice: "let this user read it"}
	}
	defer func() { _ = f.Close() }() // nothing was written that closing could lose
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, &FileError{File: path, Message: "cannot be read", Err: cause(err)}
	case int64(len(data)) > limit:
		return nil, &FileError{File: path, Message: fmt.Sprintf("is larger than %d bytes", limit), Advice: "put the servers into a file of their own"}
	}
	return data, nil
}

// cause is the system's error without the path, which stands in front of it anyway.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// format reads one notation. An error is a *FileError without its file.
type format struct {
	limit int64
	parse func(data []byte) (node, error)
}

func formatOf(path string) format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".toml":
		return format{maxOther, parseTOML}
	case ".yaml", ".yml":
		return format{maxOther, parseYAML}
	}
	return format{maxJSON, parseJSON}
}

// readTree reads one file. An empty one is an empty object.
func readTree(path string) (node, error) {
	f := formatOf(path)
	data, err := readFile(path, f.limit)
	if err != nil {
		return node{}, err
	}
	tree, err := decode(f, data)
	var at *FileError
	if errors.As(err, &at) {
		at.File = path
	}
	return tree, err
}

func decode(f format, data []byte) (node, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if !utf8.Valid(data) {
		return node{}, &FileError{Message: "is not UTF-8", Advice: "save it as UTF-8"}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return node{shape: object, line: 1}, nil
	}
	tree, err := f.parse(data)
	if err == nil && tree.shape != object {
		err = &FileError{Line: tree.line, Message: fmt.Sprintf("holds %s and not keys with values", tree.shape)}
	}
	return tree, err
}

// lines finds the line of an offset.
type lines []int // where each line after the first begins

func linesOf(data []byte) lines {
	var out lines
	for i, c := range data {
		if c == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

func (l lines) at(offset int) int {
	low, high := 0, len(l)
	for low < high {
		if mid := (low + high) / 2; l[mid] <= offset {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low + 1
}
