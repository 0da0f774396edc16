package sidecar

import "github.com/gearbox-mcp/gearbox/internal/pool"

// Boxed is how the pool of sandboxed children stands.
func (s *Sidecar) Boxed() pool.Stats { return s.places.boxed.Stats() }

// RecordChanges replaces the log of changes.
func (s *Sidecar) RecordChanges(to ChangeLog) { s.changes = to }
