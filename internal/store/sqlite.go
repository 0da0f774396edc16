// Package store keeps operations and their events in a data directory, for every process
// of it and beyond their lives.
//
// What an operation means is the engine's business, and what an event says and how
// events are chained is audit's: this room only moves records between states, all or
// nothing, together with their events.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/engine"
)

// Durability is what a commit survives.
type Durability string

// The durabilities.
const (
	// Process means that what was committed survives the death of every process, however
	// it comes. After a power failure or a crash of the kernel the last commits may be
	// missing; what is there is consistent, and the chain is whole.
	Process Durability = "process"
	// Power means that it survives those too: each commit waits for the disk, which
	// takes milliseconds.
	Power Durability = "power"
)

// ParseDurability reads the name of a durability; empty is [Process].
func ParseDurability(s string) (Durability, error) {
	switch d := Durability(s); d {
	case "":
		return Process, nil
	case Process, Power:
		return d, nil
	}
	return "", fmt.Errorf("unknown durability %q: use %s or %s", s, Process, Power)
}

// Options say where the records are and how they are kept.
type Options struct {
	// Dir is the data directory. It has to exist and be on a local file system.
	Dir string
	// MustExist refuses, with [ErrNoRecords], to begin new records.
	MustExist bool
	// Instance names this process in what it commits, where nobody else is named.
	Instance string
	// Version of this Gearbox, for those that are too old for what it writes.
	Version string
	// Durability is [Process] when empty.
	Durability Durability
	// DropCode takes code, stdin, variables and files away once an operation has ended.
	// Their digest stays.
	DropCode bool
	// Wait bounds how long a commit waits for other processes, and is 10 seconds when
	// zero: a transaction takes a fraction of a millisecond, and one with the most files a
	// second.
	Wait time.Duration
}

// SQLite keeps records in the database of a data directory, which any number of
// processes share. It is safe for concurrent use. Close ends it.
//
// One commit writes at a time. Those that come meanwhile share the next
// transaction, so that many cost little more than one; a commit that fails does not
// take others with it. Readers never wait for it.
type SQLite struct {
	path    string
	options Options

	db     *sql.DB // the writer's connection and the checkpointer's
	reads  *sql.DB
	load   *sql.Stmt
	state  *sql.Stmt
	due    *sql.Stmt
	writer *writer         // nil when the records are only read
	still  map[string]mark // what must not change while it is read, see [OpenToRead]

	closing sync.Once
	closed  error
}

var _ engine.Journal = (*SQLite)(nil)

// Open opens the records, makes them if there are none, and brings an older schema up
// to date. Errors wrap those of this package.
func Open(ctx context.Context, o Options) (*SQLite, error) {
	path := filepath.Join(o.Dir, File)
	if err := prepareFile(path, o.MustExist); err != nil {
		return nil, err
	}
	if o.Wait <= 0 {
		o.Wait = busyWait
	}
	s := &SQLite{path: path, options: o}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the records: %w", explain(path, err)), s.Close())
	}
	return s, nil
}

func (s *SQLite) open(ctx context.Context) error {
	synchronous := "synchronous(NORMAL)"
	if s.options.Durability == Power {
		synchronous = "synchronous(FULL)"
	}
	var err error
	// What is deleted is overwritten: it may be code that is not to be kept. The log is
	// worked off beside the commits, not by one of them. Commits wait for other processes
	// in finer steps than SQLite does.
	if s.db, err = connections(s.path, writing, 2, 0, synchronous, "secure_delete(ON)", "wal_autocheckpoint(0)", "journal_size_limit(16777216)"); err != nil {
		return err
	}
	if err := waitFor(ctx, s.options.Wait, func() error { return s.prepareSchema(ctx) }); err != nil {
		return err
	}
	if s.reads, err = connections(s.path, writing, readers, readWait, "query_only(ON)"); err != nil {
		return err
	}
	if err := s.prepareReads(ctx); err != nil {
		return err
	}
	return waitFor(ctx, s.options.Wait, func() (err error) {
		s.writer, err = startWriter(ctx, s.path, s.db, s.options.Wait)
		return err
	})
}

func (s *SQLite) prepareReads(ctx context.Context) (err error) {
	if s.load, err = s.reads.PrepareContext(ctx, loadRecord); err != nil {
		return err
	}
	if s.state, err = s.reads.PrepareContext(ctx, "SELECT state FROM operations WHERE id = ? AND principal = ?"); err != nil {
		return err
	}
	s.due, err = s.reads.PrepareContext(ctx, dueOperations)
	return err
}

// commit has the writer do something, unless this is for reading alone.
func (s *SQLite) commit(ctx context.Context, bytes int64, do func(context.Context, *transaction) error) error {
	if s.writer == nil {
		return &Error{Path: s.path, Kind: ErrReadOnly, Err: errors.New("they were opened for reading")}
	}
	return s.writer.commit(ctx, bytes, do)
}

// readers bounds the connections that read: each is a thread's work at most.
const readers = 4

// prepareSchema looks before it touches: records of a later version stay as they are.
// It may be repeated.
func (s *SQLite) prepareSchema(ctx context.Context) error {
	all, err := steps(migrations)
	if err != nil {
		return err
	}
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := checkSchema(ctx, c, all); err != nil {
		return err
	}
	if err := useLog(ctx, c); err != nil {
		return err
	}
	return migrate(ctx, c, all, s.options.Version)
}

// Path is that of the database.
func (s *SQLite) Path() string { return s.path }

// Close waits for what is being committed and closes the records. The last process to
// do so works off the log and removes it.
func (s *SQLite) Close() error {
	s.closing.Do(func() {
		var errs []error
		if s.writer != nil {
			errs = append(errs, s.writer.close())
		}
		for _, db := range []*sql.DB{s.reads, s.db} {
			if db != nil {
				errs = append(errs, db.Close())
			}
		}
		s.closed = explain(s.path, errors.Join(append(errs, s.checkStill())...))
	})
	return s.closed
}
