package sidecar

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// tokenBook changes the register of a data directory and records it.
type tokenBook struct {
	records *store.SQLite
	tokens  token.Store
	by      execution.Client
}

// recordTokens opens the records of a data directory for one change.
func recordTokens(ctx context.Context, dir string, by execution.Client, change func(tokenBook) error) error {
	records, err := store.Open(ctx, store.Options{Dir: dir, Version: by.Version})
	if err != nil {
		return err
	}
	err = change(tokenBook{records, token.OpenFile(dir), by})
	return errors.Join(err, records.Close())
}

// create makes a token. Its event comes first, when nothing but the disk can still refuse
// the token: a token that nobody knows of would let somebody in, while an event without
// one lets nobody in, and a second event then says that it came to nothing.
func (b tokenBook) create(ctx context.Context, name string, r token.Rights, expires time.Time) (string, token.Token, error) {
	recorded := false
	s := beforeWriting{b.tokens, func(all []token.Token) error {
		err := b.record(ctx, "made", "a token was made", all[len(all)-1])
		recorded = err == nil
		return err
	}}
	secret, t, err := token.NewRegister(s, time.Now).Create(name, r, expires)
	if err != nil && recorded {
		err = errors.Join(err, b.record(ctx, "failed", "the token was not made: "+err.Error(), token.Token{Name: name, Rights: r}))
	}
	return secret, t, err
}

func (b tokenBook) record(ctx context.Context, decision, reason string, t token.Token) error {
	return b.records.Record(ctx, audit.Event{
		Time: time.Now(), Type: audit.Config, Principal: execution.Local, Client: b.by,
		Decision: decision, Reason: reason, Details: rightsOf(t),
	})
}

// rightsOf are the name of a token and what bounds its holder. Neither the secret nor
// its hash is among them.
func rightsOf(t token.Token) map[string]string {
	d := map[string]string{"principal": string(t.Principal())}
	add := func(key, value string) {
		if value != "" && value != "0" {
			d[key] = value
		}
	}
	add("role", string(t.Role))
	add("ceiling", t.Gear)
	add("tools", strings.Join(t.Tools, " "))
	languages := make([]string, 0, len(t.Languages))
	for _, l := range t.Languages {
		languages = append(languages, string(l))
	}
	add("languages", strings.Join(languages, " "))
	add("rate", strconv.Itoa(t.Rate))
	add("concurrency", strconv.Itoa(t.Concurrency))
	if !t.Expires.IsZero() {
		add("expires", t.Expires.UTC().Format(time.RFC3339))
	}
	return d
}

// beforeWriting does something between the decision on a change and its being written,
// while no other process can change the list.
type beforeWriting struct {
	token.Store
	do func([]token.Token) error
}

// Update implements [token.Store].
func (s beforeWriting) Update(change func([]token.Token) ([]token.Token, error)) error {
	return s.Store.Update(func(all []token.Token) ([]token.Token, error) {
		next, err := change(all)
		if err != nil {
			return nil, err
		}
		if err := s.do(next); err != nil {
			return nil, fmt.Errorf("record the change of the tokens: %w", err)
		}
		return next, nil
	})
}
