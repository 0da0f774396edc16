package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
)

// mostTogether bounds the commits of one transaction, so that the first of them does
// not wait for long.
const mostTogether = 64

// job is one commit: what it does in the transaction, and how it ended.
type job struct {
	// do may be called twice. An error that is harmless came before anything was written.
	do    func(context.Context, *transaction) error
	bytes int64 // about as much is written
	ended chan error
}

// harmless errors leave nothing of their commit behind, and so nothing to roll back.
func harmless(err error) bool {
	return err == nil || errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) || errors.Is(err, ErrUnfinished)
}

// writer owns the one connection that writes.
type writer struct {
	path   string
	wait   time.Duration // for other processes
	conn   *sql.Conn
	tx     transaction
	jobs   chan *job
	log    *checkpointer
	quit   chan struct{} // closed when no more jobs are taken
	done   sync.WaitGroup
	ending sync.Once
}

func startWriter(ctx context.Context, path string, db *sql.DB, wait time.Duration) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{path: path, wait: wait, conn: conn, jobs: make(chan *job), quit: make(chan struct{})}
	if err := w.tx.prepare(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if w.log, err = startCheckpointer(ctx, db); err != nil {
		return nil, errors.Join(err, w.tx.close(), conn.Close())
	}
	w.done.Go(w.run)
	return w, nil
}

func (w *writer) close() error {
	w.ending.Do(func() { close(w.quit) })
	w.done.Wait()
	return errors.Join(w.log.close(), w.tx.close(), w.conn.Close())
}

// commit hands a job over and waits for its end. The context counts until the job is
// taken; from then on the answer is what happened.
func (w *writer) commit(ctx context.Context, bytes int64, do func(context.Context, *transaction) error) error {
	j := &job{do: do, bytes: bytes, ended: make(chan error, 1)}
	select {
	case w.jobs <- j:
		return <-j.ended
	case <-w.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) run() {
	for {
		select {
		case <-w.quit:
			return
		case first := <-w.jobs:
			w.group(first)
		}
	}
}

// group commits a job and those that are waiting behind it. When that fails, each gets
// a transaction of its own, so that it fails for nobody's reason but its own.
func (w *writer) group(first *job) {
	together, ends, err := w.transact(first, w.waiting)
	for i, j := range together {
		switch {
		case err == nil:
			j.ended <- ends[i]
		case len(together) == 1:
			j.ended <- explain(w.path, err)
		default:
			j.ended <- w.alone(j)
		}
	}
}

func (w *writer) alone(j *job) error {
	_, ends, err := w.transact(j, func() *job { return nil })
	if err != nil {
		return explain(w.path, err)
	}
	return ends[0]
}

// waiting is the next job if there is one now.
func (w *writer) waiting() *job {
	select {
	case j := <-w.jobs:
		return j
	default:
		return nil
	}
}

// transact commits the first job and what next gives, and tells how each ended. With an
// error nothing of any of them is kept.
func (w *writer) transact(first *job, next func() *job) (together []*job, ends []error, err error) {
	together = append(together, first)
	// The writer belongs to all callers: no single one's context ends it.
	ctx := context.Background()
	if err := waitFor(ctx, w.wait, func() error { return w.tx.begin(ctx) }); err != nil {
		return together, nil, err
	}
	var bytes int64
	for j := first; j != nil; {
		end := j.do(ctx, &w.tx)
		if !harmless(end) {
			w.tx.rollback(ctx)
			return together, nil, end
		}
		ends, bytes = append(ends, end), bytes+j.bytes
		if len(together) == mostTogether {
			break
		}
		if j = next(); j != nil {
			together = append(together, j)
		}
	}
	if err := w.tx.commit(ctx); err != nil {
		w.tx.rollback(ctx)
		return together, nil, err
	}
	w.log.grown(bytes)
	return together, ends, nil
}

// transaction is the writer's open transaction and its prepared statements.
type transaction struct {
	statements
	head *audit.Anchor // nil until it was read
}

func (t *transaction) begin(ctx context.Context) error {
	t.head = nil
	_, err := t.beginNow.ExecContext(ctx)
	return err
}

func (t *transaction) commit(ctx context.Context) error {
	_, err := t.commitNow.ExecContext(ctx)
	return err
}

// rollback fails when SQLite has done so already, as it does when the disk is full.
func (t *transaction) rollback(ctx context.Context) { _, _ = t.rollbackNow.ExecContext(ctx) }

// record links events to the chain, which other processes may have made longer.
func (t *transaction) record(ctx context.Context, events []audit.Event) error {
	if len(events) == 0 {
		return nil
	}
	if t.head == nil {
		head, err := scanHead(t.readHead.QueryRowContext(ctx))
		if err != nil {
			return err
		}
		t.head = &head
	}
	for _, e := range events {
		entry, err := audit.Link(*t.head, e)
		if err != nil {
			return err
		}
		if _, err := t.insertEvent.ExecContext(ctx, entry.Seq, entry.Hash[:], string(entry.Text)); err != nil {
			return err
		}
		*t.head = entry.Anchor()
	}
	return nil
}
