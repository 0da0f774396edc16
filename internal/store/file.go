package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// File is the name of the database in the data directory. Beside it lie its log and the
// log's index, with -wal and -shm behind the name; the three belong together.
const File = "records.db"

// mode is that of the database. SQLite gives the same to the log and its index.
const mode fs.FileMode = 0o600

// prepareFile makes the file, or checks the one that is there. It never opens one that
// is there: closing it would free the locks that this process holds on it by another
// connection (fcntl(2)).
func prepareFile(path string, mustExist bool) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && mustExist:
		return fmt.Errorf("%w in %s", ErrNoRecords, filepath.Dir(path))
	case errors.Is(err, fs.ErrNotExist):
		return makeFile(path)
	case err != nil:
		return fmt.Errorf("look at the records: %w", err)
	case !st.Mode().IsRegular():
		return fmt.Errorf("the records %s are not a regular file: move that away", path)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := tighten(name); err != nil {
			return err
		}
	}
	return nil
}

func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // another process was first
	case err != nil:
		return &Error{Path: path, Kind: ErrReadOnly, Err: err}
	}
	return f.Close()
}

// tighten takes away what others may do with a file, if it is there.
func tighten(name string) error {
	st, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode().Perm()&^mode == 0 {
		return nil
	}
	if err == nil {
		err = os.Chmod(name, st.Mode().Perm()&mode)
	}
	if err != nil {
		return &Error{Path: name, Kind: ErrReadOnly, Err: fmt.Errorf("make the records private: %w", err)}
	}
	return nil
}

// access is how a connection may use the file.
type access string

const (
	writing access = "rw"
	reading access = "ro"
	// frozen is for a file that nobody writes: it is read without its log, and without
	// locks.
	frozen access = "immutable"
)

// uri names the database and how a connection begins.
func uri(path string, how access, wait time.Duration, pragmas ...string) string {
	q := url.Values{"mode": {string(how)}, "_busy_timeout": {strconv.FormatInt(wait.Milliseconds(), 10)}, "_dqs": {"0"}, "_defensive": {"1"}, "_error_rc": {"1"}}
	if how == frozen {
		q.Set("mode", string(reading))
		q.Set("immutable", "1")
	}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	slashed := filepath.ToSlash(path)
	if slashed[0] != '/' { // C:/…
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: q.Encode()}).String()
}

// connections opens a number of them, which wait for others as SQLite does: in coarse
// steps.
func connections(path string, how access, most int, wait time.Duration, pragmas ...string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", uri(path, how, wait, pragmas...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// useLog makes the database write to a log first, so that readers and the writer do not
// wait for each other, and a new one such that it can shrink. Both are properties of the
// file, made once.
func useLog(ctx context.Context, c *sql.Conn) error {
	var pages int
	if err := c.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		return fmt.Errorf("look into the records: %w", err)
	}
	if pages == 0 {
		if err := execute(ctx, c, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	}
	var mode string
	if err := c.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return fmt.Errorf("begin the write-ahead log: %w", err)
	}
	if mode != "wal" {
		return fmt.Errorf("the records cannot have a write-ahead log here (journal mode %s): the data directory has to be on a local file system", mode)
	}
	return nil
}
