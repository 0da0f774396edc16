package store

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

var (
	// ErrNoRecords says that a data directory has no records yet.
	ErrNoRecords = errors.New("there are no records")
	// ErrFull says that the disk is full. Nothing of the commit was kept, everything
	// before it is, and the next commit tries again.
	ErrFull = errors.New("the disk is full")
	// ErrReadOnly says that the records cannot be written where they are.
	ErrReadOnly = errors.New("the records cannot be written")
	// ErrBusy says that another process held the records for longer than one waits.
	ErrBusy = errors.New("another process holds the records")
	// ErrNewer says that a later version of Gearbox has written the records.
	ErrNewer = errors.New("the records were written by a later version")
	// ErrForeign says that the file is no records of Gearbox, or damaged beyond reading.
	ErrForeign = errors.New("this is not a sound database of records")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the records are closed")
	// ErrUnfinished says that an operation that is not finished cannot be deleted.
	ErrUnfinished = errors.New("the operation has not ended")
)

// Error is a failure of the database with what can be done about it. It wraps one of
// the errors of this package when it is one of them, and always the database's own.
type Error struct {
	Path string // of the database
	Kind error  // nil when it is none of the known ones
	Err  error
}

func (e *Error) Error() string {
	if e.Kind == nil {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s: %v (%v)", e.Path, e.Kind, e.Err)
}

// Reason is what callers may be told: what is wrong, not where. Empty for what they
// cannot do anything with.
func (e *Error) Reason() string {
	switch e.Kind {
	case ErrFull, ErrReadOnly, ErrBusy: //nolint:errorlint // Kind is one of them itself
		return e.Kind.Error()
	}
	return ""
}

// Unwrap gives both errors.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

// Hint is a sentence for the operator.
func (e *Error) Hint() string {
	switch {
	case errors.Is(e.Kind, ErrFull):
		return "free some space on its disk, then do this again: nothing that was recorded is lost, and servers that run go on by themselves"
	case errors.Is(e.Kind, ErrReadOnly):
		return "the directory and the files beginning with its name have to belong to and be writable by this user, on a disk that is mounted for writing"
	case errors.Is(e.Kind, ErrBusy):
		return "a stopped or very slow process holds it, or another program has opened it: gearbox status shows the former"
	case errors.Is(e.Kind, ErrForeign):
		return "keep the file, put a copy from a backup in its place, or move it and its -wal and -shm away together to begin anew"
	}
	return ""
}

// kinds are the database's result codes that mean something to an operator, by primary
// or by extended code.
var kinds = map[int]error{
	lib.SQLITE_FULL:          ErrFull,
	lib.SQLITE_IOERR_SHMSIZE: ErrFull, // the index of the log could not grow
	lib.SQLITE_READONLY:      ErrReadOnly,
	lib.SQLITE_CANTOPEN:      ErrReadOnly,
	lib.SQLITE_PERM:          ErrReadOnly,
	lib.SQLITE_BUSY:          ErrBusy,
	lib.SQLITE_LOCKED:        ErrBusy,
	lib.SQLITE_PROTOCOL:      ErrBusy, // the log was being set up for too long
	lib.SQLITE_CORRUPT:       ErrForeign,
	lib.SQLITE_NOTADB:        ErrForeign,
}

// explain makes an [Error] of a failure of the database; other errors stay as they are.
func explain(path string, err error) error {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return err
	}
	kind := kinds[failed.Code()]
	if kind == nil {
		kind = kinds[failed.Code()&0xff]
	}
	return &Error{Path: path, Kind: kind, Err: err}
}

// busy reports whether another connection is in the way.
func busy(err error) bool {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return false
	}
	code := failed.Code() & 0xff
	return code == lib.SQLITE_BUSY || code == lib.SQLITE_PROTOCOL
}

// detached lets a short statement end, whatever becomes of the caller: watching a
// context costs the driver more than the statement.
func detached(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
