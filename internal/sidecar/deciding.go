package sidecar

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/web"
)

// CredentialKinds are the values of [ApprovalOptions.Credential].
func CredentialKinds() []string {
	return []string{string(credential.None), string(credential.Passphrase), string(credential.TOTP)}
}

// guard asks for the credential of a data directory.
func (o Options) guard(dataDir string) *credential.File {
	return credential.Open(dataDir, credential.Kind(o.Approvals.Credential), time.Now)
}

// overHTTP are the questions as the API has them.
type overHTTP struct {
	Decisions

	records *store.SQLite
	log     *slog.Logger
}

var _ web.Approvals = overHTTP{}

// Asked implements [web.Questions].
func (d overHTTP) Asked(ctx context.Context, standing bool, before execution.ID, limit int) ([]execution.Record, error) {
	all, err := d.records.Questions(ctx, standing, before, limit)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, &execution.RejectedError{Code: execution.CodeNotFound, Field: "before", Message: "there is no such operation"}
	}
	return all, err
}

// Pending implements [web.Questions].
func (d overHTTP) Pending(ctx context.Context) (map[execution.ID]execution.Digest, error) {
	return d.records.Pending(ctx)
}

// Always implements [web.Approvals].
func (overHTTP) Always(q *execution.Approval) []string {
	rules, err := Lasting(q)
	if err != nil {
		return nil
	}
	return rules
}

// Decide implements [web.Approvals]. That the rules file is broken the operator is told, who
// sends it and can mend that.
func (d overHTTP) Decide(ctx context.Context, c approval.Decision) error {
	told, err := d.Decisions.Decide(ctx, c)
	for _, missed := range told.Missed {
		d.log.Warn("a server could not be told of a decision", "operation_id", c.Operation, "reason", missed)
	}
	if broken := new(rulesError); errors.As(err, &broken) {
		d.log.Error("rules could not be added as an answer wants", "operation_id", c.Operation, "error", err)
		return &execution.RejectedError{Code: execution.CodeUnavailable, Field: "scope", Message: broken.Error()}
	}
	return err
}

// CredentialChange is the setting of what proves that the operator decides. All that can keep
// it from being set is found before anybody types a new one. Close ends it.
type CredentialChange struct {
	guard   *credential.File
	records *store.SQLite
	by      execution.Client
	proof   credential.Proof
}

// ChangeCredential begins to set the credential of a data directory, which is made if it is
// not there.
func ChangeCredential(ctx context.Context, o Options, by execution.Client) (*CredentialChange, error) {
	dir, err := o.dataDir()
	if err != nil {
		return nil, err
	}
	if err := makeDataDir(dir); err != nil {
		return nil, err
	}
	records, err := store.Open(ctx, store.Options{Dir: dir, Version: by.Version})
	if err != nil {
		return nil, err
	}
	return &CredentialChange{guard: o.guard(dir), records: records, by: by}, nil
}

// Kind is what is there and has to be shown first.
func (c *CredentialChange) Kind() (credential.Kind, error) { return c.guard.Kind() }

// Prove takes what is there; empty where nothing is. A wrong one is recorded.
func (c *CredentialChange) Prove(ctx context.Context, current string) (err error) {
	if c.proof, err = c.guard.Prove(ctx, current); err != nil {
		return c.record(ctx, err)
	}
	return nil
}

// Set puts a new one in place of that, see [credential.NewPassphrase] and
// [credential.NewTOTP]. The change is recorded.
func (c *CredentialChange) Set(ctx context.Context, k credential.Key) error {
	return c.record(ctx, c.guard.Replace(ctx, k, c.proof))
}

func (c *CredentialChange) record(ctx context.Context, err error) error {
	e := audit.Event{Time: time.Now(), Type: audit.Config, Principal: execution.Local, Client: c.by, Decision: "taken", Reason: "the credential for decisions was set"}
	if err != nil {
		e.Decision, e.Reason = "refused", "the credential for decisions was not set: "+err.Error()
	}
	return errors.Join(err, c.records.Record(ctx, e))
}

// Close ends the change, made or not.
func (c *CredentialChange) Close() error { return c.records.Close() }

// Credential is what the data directory asks of whoever decides.
func Credential(o Options) (credential.Kind, error) {
	dir, err := o.dataDir()
	if err != nil {
		return "", err
	}
	return o.guard(dir).Kind()
}
