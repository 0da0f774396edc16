package sidecar

import (
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/web"
)

// Boxed is how the pool of sandboxed children stands.
func (s *Sidecar) Boxed() pool.Stats { return s.places.boxed.Stats() }

// Lister lists operations.
func (s *Sidecar) Lister() web.Lister { return lister{s.records} }

// RecordChanges replaces the log of changes.
func (s *Sidecar) RecordChanges(to ChangeLog) { s.changes = to }
