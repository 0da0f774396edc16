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

// Decide implements [web.Approvals].
func (d overHTTP) Decide(ctx context.Context, c approval.Decision) error {
	told, err := d.Decisions.Decide(ctx, c)
	for _, missed := range told.Missed {
		d.log.Warn("a server could not be told of a decision", "operation_id", c.Operation, "reason", missed)
	}
	return err
}

// SetCredential puts k in place of what proves that the operator decides, see
// [credential.NewPassphrase] and [credential.NewTOTP]. current is what counts now, and empty when there is none.
// The change is recorded.
func SetCredential(ctx context.Context, o Options, by execution.Client, k credential.Key, current string) error {
	dir, err := o.dataDir()
	if err != nil {
		return err
	}
	if err := makeDataDir(dir); err != nil {
		return err
	}
	records, err := store.Open(ctx, store.Options{Dir: dir, Version: by.Version})
	if err != nil {
		return err
	}
	e := audit.Event{Time: time.Now(), Type: audit.Config, Principal: execution.Local, Client: by, Decision: "taken", Reason: "the credential for decisions was set"}
	if err = o.guard(dir).Set(ctx, k, current); err != nil {
		e.Decision, e.Reason = "refused", "the credential for decisions was not set: "+err.Error()
	}
	return errors.Join(err, records.Record(ctx, e), records.Close())
}

// Credential is what the data directory asks of whoever decides.
func Credential(o Options) (credential.Kind, error) {
	dir, err := o.dataDir()
	if err != nil {
		return "", err
	}
	return o.guard(dir).Kind()
}
