package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
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
	return err == nil || errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrManyPending) || errors.Is(err, engine.ErrNotFound) || errors.Is(err, ErrUnfinished)
}

// writer has the one connection that writes. Whoever commits takes a turn at it, writes
// its own and what others have put in line by then; who waits for a turn is served
// meanwhile. A commit alone wakes nobody.
type writer struct {
	path string
	wait time.Duration // for other processes
	conn *sql.Conn
	tx   transaction
	turn chan struct{} // holds one token; who has it writes
	log  *checkpointer

	mu     sync.Mutex // guards what follows
	line   []*job
	closed bool
	done   sync.WaitGroup // commits that are not over
}

func startWriter(ctx context.Context, path string, db *sql.DB, wait time.Duration) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{path: path, wait: wait, conn: conn, turn: make(chan struct{}, 1)}
	if err := w.tx.prepare(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if w.log, err = startCheckpointer(ctx, db); err != nil {
		return nil, errors.Join(err, w.tx.close(), conn.Close())
	}
	w.turn <- struct{}{}
	return w, nil
}

// close is called once.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.done.Wait()
	return errors.Join(w.log.close(), w.tx.close(), w.conn.Close())
}

// commit puts a job in line and sees to it that it ends. The context counts until the
// job is taken; from then on the answer is what happened.
func (w *writer) commit(ctx context.Context, bytes int64, do func(context.Context, *transaction) error) error {
	j := &job{do: do, bytes: bytes, ended: make(chan error, 1)}
	if err := w.stand(j); err != nil {
		return err
	}
	defer w.done.Done()
	select {
	case err := <-j.ended:
		return err
	case <-w.turn:
		defer func() { w.turn <- struct{}{} }()
		return w.lead(j) //nolint:contextcheck // the transaction is everybody's
	case <-ctx.Done():
		if w.step(j) {
			return ctx.Err()
		}
		return <-j.ended
	}
}

// stand puts a job in line.
func (w *writer) stand(j *job) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.done.Add(1)
	w.line = append(w.line, j)
	return nil
}

// step takes a job out of the line, if it is still there.
func (w *writer) step(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.line, j)
	if i >= 0 {
		w.line = slices.Delete(w.line, i, i+1)
	}
	return i >= 0
}

// lead serves the line until the job has ended, which others may have done before the
// turn came.
func (w *writer) lead(j *job) error {
	for {
		select {
		case err := <-j.ended:
			return err
		default:
			w.group(w.waiting())
		}
	}
}

// waiting is the first job in line, or nil.
func (w *writer) waiting() *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) == 0 {
		return nil
	}
	j := w.line[0]
	w.line = slices.Delete(w.line, 0, 1)
	return j
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
	// head is where the chain ends, as far as this process knows; nil when it has to look.
	head *audit.Anchor
}

func (t *transaction) begin(ctx context.Context) error {
	_, err := t.beginNow.ExecContext(ctx)
	return err
}

func (t *transaction) commit(ctx context.Context) error {
	_, err := t.commitNow.ExecContext(ctx)
	return err
}

// rollback fails when SQLite has done so already, as it does when the disk is full.
func (t *transaction) rollback(ctx context.Context) {
	t.head = nil
	_, _ = t.rollbackNow.ExecContext(ctx)
}

// record links events to the chain. It first believes that no other process has made the
// chain longer: then the number of the first event would be there already. A chain that
// was made shorter has a gap from then on, which verifying it finds.
func (t *transaction) record(ctx context.Context, events []audit.Event) error {
	for _, e := range events {
		linked, err := t.link(ctx, e)
		if err == nil && !linked {
			t.head = nil
			linked, err = t.link(ctx, e)
		}
		if err == nil && !linked {
			err = errors.New("the audit chain goes on while nobody else can write")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// link appends an event to the head. It is false when there is one behind the head.
func (t *transaction) link(ctx context.Context, e audit.Event) (bool, error) {
	if t.head == nil {
		head, err := scanHead(t.readHead.QueryRowContext(ctx))
		if err != nil {
			return false, err
		}
		t.head = &head
	}
	entry, err := audit.Link(*t.head, e)
	if err != nil {
		return false, err
	}
	done, err := t.insertEvent.ExecContext(ctx, entry.Seq, entry.Hash[:], string(entry.Text))
	if err != nil {
		return false, err
	}
	if rows, err := done.RowsAffected(); err != nil || rows == 0 {
		return false, err
	}
	*t.head = entry.Anchor()
	return true, nil
}
