package sidecar

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/token"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
	"github.com/gearbox-mcp/gearbox/internal/web"
)

// Boxed is how the pool of sandboxed children stands.
func (s *Sidecar) Boxed() pool.Stats { return s.places.boxed.Stats() }

// Lister lists operations.
func (s *Sidecar) Lister() web.Lister { return lister{s.records} }

// RecordChanges replaces the log of changes.
func (s *Sidecar) RecordChanges(to ChangeLog) { s.changes = to }

// Admit makes holders of tokens, of which the data directory knows nothing: tests of
// other packages share it.
func (s *Sidecar) Admit(names ...string) (holders []execution.Principal) {
	var all held
	for _, n := range names {
		all = append(all, token.Token{Name: n})
		holders = append(holders, all[len(all)-1].Principal())
	}
	s.gears.tokens = token.NewRegister(all, time.Now)
	return holders
}

// held is a list of tokens that does not change.
type held []token.Token

func (h held) Load() ([]token.Token, error) { return h, nil }

func (h held) Update(func([]token.Token) ([]token.Token, error)) error {
	return errors.New("this list does not change")
}

// CreateTokenIn makes a token in a store of the test's own.
func CreateTokenIn(ctx context.Context, records *store.SQLite, tokens token.Store, name string) error {
	_, _, err := tokenBook{records, tokens, execution.Client{Name: "test"}}.create(ctx, name, token.Rights{}, time.Time{})
	return err
}

// WithRules adds rules to the rules file of a data directory.
var WithRules = withRules

// CloseRecords takes away what events are kept in.
func (s *Sidecar) CloseRecords(t testing.TB) {
	t.Helper()
	if err := s.records.Close(); err != nil {
		t.Fatal(err)
	}
}

// Fleet is the sessions with other servers.
func (s *Sidecar) Fleet() *upstream.Fleet { return s.servers }

// Records is what is kept.
func (s *Sidecar) Records() *store.SQLite { return s.records }
