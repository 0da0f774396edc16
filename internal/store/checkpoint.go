package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
)

const (
	// checkpointAfter is about how many bytes are written to the log before it is worked
	// off into the database.
	checkpointAfter = 4 << 20
	// commitBytes is about what the pages of one small transaction take.
	commitBytes = 20 << 10
	// mostPages bounds the log, 64 MiB of it. It begins anew when all of it was worked off,
	// which never happens beside commits that do not pause; then the writer does it.
	mostPages = 16 << 10
	// tidyWait bounds how long commits wait for the log to be emptied, in milliseconds.
	tidyWait = "100"
)

// checkpointer moves what is in the log into the database, beside the commits: it waits
// for the disk, and they must not. One that finds the log still in use leaves the rest
// to the next.
type checkpointer struct {
	conn    *sql.Conn
	pending int64       // the writer's
	wake    chan bool   // true to empty it as well
	behind  atomic.Bool // the log is too long
	done    sync.WaitGroup
}

func startCheckpointer(ctx context.Context, db *sql.DB) (*checkpointer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := execute(ctx, conn, "PRAGMA busy_timeout = "+tidyWait); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c := &checkpointer{conn: conn, wake: make(chan bool, 1)}
	c.done.Go(c.run)
	return c, nil
}

// grown is told by the writer of each transaction.
func (c *checkpointer) grown(bytes int64) {
	if c.pending += bytes + commitBytes; c.pending < checkpointAfter {
		return
	}
	select {
	case c.wake <- false:
		c.pending = 0
	default: // it is at work
	}
}

// tidy empties the log: what was deleted is still in it.
func (c *checkpointer) tidy() {
	select {
	case c.wake <- true:
	default: // it is at work
	}
}

func (c *checkpointer) run() {
	for tidy := range c.wake {
		if tidy {
			_, _ = c.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)") // as below
		}
		c.behind.Store(checkpoint(c.conn) > mostPages)
	}
}

// relieve is called by the writer between two transactions, with its connection.
func (c *checkpointer) relieve(conn *sql.Conn) {
	if c.behind.Load() {
		checkpoint(conn)
		c.behind.Store(false)
	}
}

// checkpoint tells how many pages the log has. A failure is that of a disk which the
// next commit meets too.
func checkpoint(conn *sql.Conn) (pages int) {
	var busy, moved int
	if err := conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &moved); err != nil {
		return 0
	}
	return pages
}

// close is called when the writer has ended.
func (c *checkpointer) close() error {
	close(c.wake)
	c.done.Wait()
	return c.conn.Close()
}
