package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

// Records are the operations and the audit events of a data directory, for the
// operator's commands. They see every principal's. Close ends them.
type Records struct {
	*store.SQLite

	dataDir string
	guard   *credential.File
}

// OpenRecords opens what servers of the data directory have recorded, also while they
// run. It makes nothing: where there is nothing the error wraps [store.ErrNoRecords].
// Records that cannot be written where they are can be read all the same.
func OpenRecords(ctx context.Context, o Options, version string) (Records, error) {
	dir, err := o.dataDir()
	if err != nil {
		return Records{}, err
	}
	if st, err := os.Stat(dir); err == nil {
		if err := checkOwner(dir, st); err != nil {
			return Records{}, err
		}
	}
	s, err := store.Open(ctx, store.Options{Dir: dir, MustExist: true, Version: version})
	if errors.Is(err, store.ErrReadOnly) {
		s, err = store.OpenToRead(ctx, dir)
	}
	if err != nil {
		return Records{}, err
	}
	return Records{s, dir, o.guard(dir)}, nil
}

// DeleteOperation removes a finished operation by the operator's hand, which is
// recorded. Its audit events stay.
func (r Records) DeleteOperation(ctx context.Context, id execution.ID, by execution.Client) error {
	return r.Delete(ctx, id, audit.Event{
		Time: time.Now(), Type: audit.Config, Operation: id, Principal: execution.Local, Client: by,
		Reason: "the operator deleted the record of this operation",
	})
}

// CancelOperation ends an operation by the operator's hand, whoever's it is and whichever
// process runs it, and returns how it stands once it has ended; ended tells that it had
// before. Who asked is recorded first: what cannot be recorded is not done. An operation
// whose process is dead ends as interrupted. An unknown one is [engine.ErrNotFound].
func (r Records) CancelOperation(ctx context.Context, id execution.ID, by execution.Client) (o store.Operation, ended bool, err error) {
	o, _, err = r.Operation(ctx, id)
	if err != nil || o.State == execution.StateFinished {
		return o, err == nil, err
	}
	err = r.Record(ctx, audit.Event{
		Time: time.Now(), Type: audit.Config, Operation: id, Principal: execution.Local, Client: by,
		Reason: "the operator asked for the end of this operation",
	})
	if err != nil {
		return o, false, err
	}
	others := elsewhere{r.dataDir, slog.New(slog.DiscardHandler)}
	if o.State.Waits() {
		return r.withdraw(ctx, id)
	}
	if err := others.Cancel(ctx, o.Instance, o.Principal, id); err != nil {
		return o, false, err
	}
	masks, err := logging.NewRedactor(logging.Rules{})
	if err != nil {
		return o, false, err
	}
	if err := finishDeserted(ctx, telemetry.Redacted(r.SQLite, masks), others); err != nil {
		return o, false, err
	}
	o, _, err = r.Operation(ctx, id)
	if err == nil && o.State != execution.StateFinished {
		err = fmt.Errorf("%s: the process that runs it has cancelled it and could not record its end yet: its log says why", id)
	}
	return o, false, err
}

// withdraw ends an operation that waits for a human or, after a yes, for a process: it
// needs no server for that. It is read again, because that may have changed.
func (r Records) withdraw(ctx context.Context, id execution.ID) (o store.Operation, ended bool, err error) {
	_, rec, err := r.Operation(ctx, id)
	if err != nil {
		return o, false, err
	}
	if !rec.State.Waits() {
		return o, false, fmt.Errorf("%s has just been taken up: cancel it again", id)
	}
	change, event := engine.Closed(rec, execution.StatusCancelled, execution.CodeCancelled, "Execution was cancelled by the operator.", time.Now())
	if err := r.Commit(ctx, id, rec.State, execution.StateFinished, change, event); err != nil {
		return o, false, err
	}
	o, _, err = r.Operation(ctx, id)
	return o, false, err
}

// finishDeserted finishes what dead processes left, as every server does from time to time.
func finishDeserted(ctx context.Context, j telemetry.Journal, others elsewhere) error {
	_, err := j.Interrupt(ctx, others.Alive, func(rec execution.Record) (execution.Change, audit.Event) {
		return engine.Interrupted(rec, time.Now())
	})
	return err
}
