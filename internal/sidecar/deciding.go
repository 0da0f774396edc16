package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/instance"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
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

// Always makes a yes count for the like of what was asked about: it writes the rules of
// [execution.Asked.Allow] of a question where the operator's rules are. It is told of a
// question only after somebody said yes to it.
type Always interface {
	Permit(ctx context.Context, asked execution.Record, by string) error
}

// decisions are what the API reads and does about what humans are asked.
type decisions struct {
	*approval.Desk

	records *store.SQLite
	dataDir string
	self    instance.ID
	wake    func() // this process's own
	always  Always // nil where a yes can be for once alone
	log     *slog.Logger
}

var _ web.Approvals = decisions{}

// decisions is made once for the server that answers.
func (s *Sidecar) decisions(l *slog.Logger) decisions {
	journal := deskJournal{s.journal, s.records}
	return decisions{
		Desk: approval.NewDesk(journal, s.guard, time.Now), records: s.records, dataDir: s.places.dataDir, self: s.instance.ID(), wake: s.wakeApproved, log: l,
	}
}

// deskJournal reads from the records and writes through what looks on.
type deskJournal struct {
	telemetry.Journal
	records *store.SQLite
}

// Find implements [approval.Journal].
func (j deskJournal) Find(ctx context.Context, id execution.ID) (execution.Record, error) {
	return j.records.Find(ctx, id)
}

// Asked implements [web.Questions].
func (d decisions) Asked(ctx context.Context, standing bool, before execution.ID, limit int) ([]execution.Record, error) {
	all, err := d.records.Asked(ctx, standing, before, limit)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, &execution.RejectedError{Code: execution.CodeNotFound, Field: "before", Message: "there is no such operation"}
	}
	return all, err
}

// Pending implements [web.Questions].
func (d decisions) Pending(ctx context.Context) (map[execution.ID]execution.Digest, error) {
	return d.records.Pending(ctx)
}

// Decide implements [web.Approvals]. Rules are written after the yes: a decision that does
// not count leaves none behind.
func (d decisions) Decide(ctx context.Context, c approval.Decision) error {
	forGood := c.Verdict == execution.Approved && c.Scope == execution.Always
	if forGood && d.always == nil {
		return &execution.RejectedError{
			Code: execution.CodeUnavailable, Field: "scope",
			Message: "this server cannot write rules, so that a yes counts once here: send the scope once, and add the rule to rules.yaml of the data directory",
		}
	}
	if err := d.Desk.Decide(ctx, c); err != nil {
		return err
	}
	r, err := d.records.Find(ctx, c.Operation)
	if err != nil {
		return err
	}
	if forGood {
		if err := d.always.Permit(ctx, r, c.By); err != nil {
			err = fmt.Errorf("%s was approved and runs; its rules could not be written: %w", r.ID, err)
			d.tellOwner(ctx, r)
			return err
		}
	}
	d.tellOwner(ctx, r)
	return nil
}

// tellTime bounds the telling of another process, which looks by itself every second.
const tellTime = time.Second

// tellOwner wakes who takes up what was approved.
func (d decisions) tellOwner(ctx context.Context, r execution.Record) {
	d.wake()
	if r.Instance == "" || r.Instance == string(d.self) {
		return
	}
	m, alive, err := instance.Find(d.dataDir, instance.ID(r.Instance))
	if err == nil && alive {
		ctx, stop := context.WithTimeout(ctx, tellTime)
		defer stop()
		err = m.Post(ctx, approvedPath, struct{}{}, &struct{}{})
	}
	if err != nil && !errors.Is(err, instance.ErrGone) {
		d.log.Info("a server is not told of a decision and finds it by itself", "instance", r.Instance, "error", err)
	}
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
