package engine

import (
	"context"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
)

// SubjectOf is the digest that a permit and a human's yes are bound to.
func SubjectOf(id execution.ID, r execution.Request, g gear.Frozen, p Place, facts bridge.FactsHead) execution.Digest {
	op := newOperation(context.Background(), time.Time{}, r, g, p)
	defer op.cancel(nil)
	op.id = id
	return op.subjectOf(facts)
}
