package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// OpenToRead opens records that cannot be written where they are: on a disk that is
// mounted for reading, or in a directory where nothing can be made. Commits fail with
// [ErrReadOnly]. Nothing is made and nothing changed, so that records of an earlier
// version cannot be brought up to date and are refused.
//
// What has been committed may still be in the log, and to read the log SQLite needs its
// index. Where that is there, all is read, also while another process writes by another
// way. Where it is not, and cannot be made, the database is read alone, as a file that
// does not change, and only if the log is empty: otherwise the last commits would be
// missing, and the audit chain would pass for whole without them. If it changes all the
// same, Close fails.
func OpenToRead(ctx context.Context, dir string) (*SQLite, error) {
	path := filepath.Join(dir, File)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoRecords, dir)
	}
	s := &SQLite{path: path}
	err := s.readWith(ctx, reading)
	if err != nil && errors.Is(explain(path, err), ErrReadOnly) {
		err = s.readAlone(ctx, err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the records for reading: %w", explain(path, err)), s.Close())
	}
	return s, nil
}

// readAlone reads the database without its log. why says what kept it from being read
// with it.
func (s *SQLite) readAlone(ctx context.Context, why error) error {
	still, err := marks(s.path, s.path+"-wal")
	switch {
	case err != nil:
		return err
	case still[s.path+"-wal"].size > 0:
		return fmt.Errorf("%w; its log %s-wal holds events that are not in it yet, and cannot be read without making a file: copy the three files %s* to where you can write, and name that with --data-dir",
			why, s.path, s.path)
	}
	if err := s.readWith(ctx, frozen); err != nil {
		return err
	}
	s.still = still
	return s.checkStill()
}

func (s *SQLite) readWith(ctx context.Context, how access) error {
	if s.reads != nil {
		if err := s.reads.Close(); err != nil {
			return err
		}
	}
	var err error
	if s.reads, err = connections(s.path, how, readers, readWait, "query_only(ON)"); err != nil {
		return err
	}
	if err := s.requireSchema(ctx); err != nil {
		return err
	}
	return s.prepareReads(ctx)
}

// requireSchema refuses every schema but the one that this version would make.
func (s *SQLite) requireSchema(ctx context.Context) error {
	all, err := steps(migrations)
	if err != nil {
		return err
	}
	c, err := s.reads.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	have, err := checkSchema(ctx, c, all)
	if err == nil && have < len(all) {
		err = fmt.Errorf("the records %s have schema %d and this version reads schema %d: let this version open them once where it can write, or a copy of them", s.path, have, len(all))
	}
	return err
}

// mark is what changes with the content of a file; zero for one that is not there.
type mark struct {
	size    int64
	changed time.Time
}

func marks(names ...string) (map[string]mark, error) {
	all := map[string]mark{}
	for _, name := range names {
		st, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			all[name] = mark{}
		case err != nil:
			return nil, err
		default:
			all[name] = mark{st.Size(), st.ModTime()}
		}
	}
	return all, nil
}

// checkStill finds out whether somebody has written what was read as if nobody could.
func (s *SQLite) checkStill() error {
	for name, before := range s.still {
		now, err := marks(name)
		if err != nil {
			return err
		}
		if now[name] != before {
			return fmt.Errorf("%s was written by another process while it was read: what was read may be wrong, do it again", name)
		}
	}
	return nil
}
