package sidecar

import (
	"context"
	"errors"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

// standings tell callers where their operations stand, whichever process has them.
type standings struct{ records *store.SQLite }

var _ mcpserver.Records = standings{}

// State implements [mcpserver.Records].
func (s standings) State(ctx context.Context, p execution.Principal, id execution.ID) (execution.State, error) {
	state, err := s.records.State(ctx, p, id)
	return state, unknown(id, err)
}

// Standing implements [mcpserver.Records].
func (s standings) Standing(ctx context.Context, p execution.Principal, id execution.ID) (execution.Standing, error) {
	standing, err := s.records.Standing(ctx, p, id)
	return standing, unknown(id, err)
}

// unknown says in the words for callers that there is no such operation.
func unknown(id execution.ID, err error) error {
	if errors.Is(err, engine.ErrNotFound) {
		return &execution.RejectedError{
			Code: execution.CodeNotFound, Field: "operation_id", Message: fmt.Sprintf("there is no operation %q", string(id)),
		}
	}
	return err
}
