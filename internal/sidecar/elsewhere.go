package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/instance"
)

// elsewhere speaks with the other processes of the data directory, over the sockets
// that only the operator's own processes reach.
type elsewhere struct {
	dataDir string
	log     *slog.Logger
}

var _ engine.Elsewhere = elsewhere{}

// Alive asks the lease. Where that fails nobody is taken for dead: an operation that
// still runs must not be finished by others.
func (e elsewhere) Alive(name string) bool {
	if name == "" {
		return false
	}
	_, alive, err := instance.Find(e.dataDir, instance.ID(name))
	if err != nil {
		e.log.Warn("it is not known whether another process lives", "instance", name, "error", err)
	}
	return alive || err != nil
}

// cancelPath is where an instance is told to end an operation.
const cancelPath = "/cancel"

// cancellation is what is sent there. The principal is believed: whoever reaches the
// socket is the operator.
type cancellation struct {
	Principal execution.Principal `json:"principal"`
	Operation execution.ID        `json:"operation_id"`
}

// Cancel implements [engine.Elsewhere].
func (e elsewhere) Cancel(ctx context.Context, name string, p execution.Principal, id execution.ID) error {
	m, alive, err := instance.Find(e.dataDir, instance.ID(name))
	if err != nil {
		return err
	}
	if alive {
		err = m.Post(ctx, cancelPath, cancellation{p, id}, &struct{}{})
	}
	if err != nil && !errors.Is(err, instance.ErrGone) {
		return fmt.Errorf("ask %s to cancel %s: %w", name, id, err)
	}
	return nil // what a dead process ran has ended
}

// handleCancel answers when the operation has ended.
func (s *Sidecar) handleCancel(w http.ResponseWriter, r *http.Request) {
	var c cancellation
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		instance.Fail(w, http.StatusBadRequest, err.Error())
		return
	}
	// Ending a tree takes as long as it takes.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	var rejected *execution.RejectedError
	switch _, err := s.engine.Cancel(r.Context(), c.Principal, c.Operation); {
	case errors.As(err, &rejected):
		instance.Fail(w, http.StatusNotFound, rejected.Error())
	case err != nil:
		instance.Fail(w, http.StatusInternalServerError, err.Error())
	default:
		instance.Reply(w, struct{}{})
	}
}
