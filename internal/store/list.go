package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// List is the operations of a principal, the newest first: at most limit of them, and
// only those that are older than before, if that names one.
func (m *Memory) List(_ context.Context, p execution.Principal, before execution.ID, limit int) ([]execution.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var own []execution.Record
	for _, r := range m.records {
		if r.Request.Principal == p {
			own = append(own, r)
		}
	}
	slices.SortFunc(own, func(a, b execution.Record) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	if i := slices.IndexFunc(own, func(r execution.Record) bool { return r.ID == before }); before != "" && i >= 0 {
		own = own[i+1:]
	}
	return own[:min(limit, len(own))], nil
}
