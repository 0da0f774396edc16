package serverfile

import (
	"errors"
	"fmt"
	"io/fs"
)

// FileError says what is wrong with one file.
type FileError struct {
	File    string
	Line    int // from 1; 0 for the file as a whole
	Message string
	Advice  string // how to mend it; may be empty
	Err     error  // the system's, if it was that
}

func (e *FileError) Error() string {
	s := place(e.File, e.Line) + ": " + e.Message
	if e.Err != nil && !errors.Is(e.Err, fs.ErrNotExist) { // which the message says
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap is the system's error.
func (e *FileError) Unwrap() error { return e.Err }

// Hint is how to mend it.
func (e *FileError) Hint() string { return e.Advice }

// Warning is about something that was written in vain, or that may not be meant so.
type Warning struct {
	File    string
	Line    int    // from 1; 0 for the file as a whole
	Server  string // empty for the file as a whole
	Message string
}

func (w Warning) String() string {
	if w.Server == "" {
		return place(w.File, w.Line) + ": " + w.Message
	}
	return fmt.Sprintf("%s: server %q: %s", place(w.File, w.Line), w.Server, w.Message)
}

func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}
