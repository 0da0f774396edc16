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
	// mostPages bounds the log, 32 MiB of it. It begins anew when all of it was worked off,
	// which never happens beside commits that do not pause; then they are held for a moment.
	mostPages = 8 << 10
	// holdWait bounds that moment, in milliseconds: somebody may be reading.
	holdWait = "100"
)

// checkpointer moves what is in the log into the database, beside the commits: it waits
// for the disk, and they must not.
type checkpointer struct {
	conn    *sql.Conn
	pending int64 // the writer's
	wake    chan struct{}
	empty   atomic.Bool // leave nothing in the log
	done    sync.WaitGroup
}

func startCheckpointer(ctx context.Context, db *sql.DB) (*checkpointer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := execute(ctx, conn, "PRAGMA busy_timeout = "+holdWait); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c := &checkpointer{conn: conn, wake: make(chan struct{}, 1)}
	c.done.Go(c.run)
	return c, nil
}

// grown is told by the writer of each transaction.
func (c *checkpointer) grown(bytes int64) {
	if c.pending += bytes + commitBytes; c.pending < checkpointAfter {
		return
	}
	if c.signal() {
		c.pending = 0
	}
}

// signal is false when it is at work and has more to do already.
func (c *checkpointer) signal() bool {
	select {
	case c.wake <- struct{}{}:
		return true
	default:
		return false
	}
}

// tidy empties the log: what was deleted is still in it.
func (c *checkpointer) tidy() {
	c.empty.Store(true)
	c.signal()
}

func (c *checkpointer) run() {
	for range c.wake {
		switch pages := c.checkpoint("PASSIVE"); {
		case c.empty.Swap(false):
			c.checkpoint("TRUNCATE")
		case pages > mostPages:
			c.checkpoint("RESTART")
		}
	}
}

// checkpoint works off what it can beside readers and writers, and tells how many pages
// the log has. A failure is that of a disk which the next commit meets too.
func (c *checkpointer) checkpoint(kind string) (pages int) {
	var busy, moved int
	if err := c.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint("+kind+")").Scan(&busy, &pages, &moved); err != nil {
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
