package sidecar

import (
	"context"
	"os"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

// Records are the operations and the audit events of a data directory, for the
// operator's commands. They see every principal's. Close ends them.
type Records struct{ *store.SQLite }

// OpenRecords opens what servers of the data directory have recorded, also while they
// run. It makes nothing: where there is nothing the error wraps [store.ErrNoRecords].
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
	if err != nil {
		return Records{}, err
	}
	return Records{s}, nil
}

// DeleteOperation removes a finished operation by the operator's hand, which is
// recorded. Its audit events stay.
func (r Records) DeleteOperation(ctx context.Context, id execution.ID, by execution.Client) error {
	return r.Delete(ctx, id, audit.Event{
		Time: time.Now(), Type: audit.Config, Operation: id, Principal: execution.Local, Client: by,
		Reason: "the operator deleted the record of this operation",
	})
}
