package sidecar

import (
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/web"
)

// Boxed is how the pool of sandboxed children stands.
func (s *Sidecar) Boxed() pool.Stats { return s.places.boxed.Stats() }

// Lister lists operations.
func (s *Sidecar) Lister() web.Lister { return s.lister }
