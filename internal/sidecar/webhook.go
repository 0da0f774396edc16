package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
	"github.com/gearbox-mcp/gearbox/internal/visible"
	"github.com/gearbox-mcp/gearbox/internal/webhook"
)

// WebhookOptions say who is told of questions, beside those that look for themselves.
type WebhookOptions struct {
	// URL is where to; empty for nowhere.
	URL string
	// SecretFile holds what messages are signed with.
	SecretFile string
	// Code is "on" when the code is told too.
	Code string
}

// CheckWebhook says what is wrong with the address of a webhook.
func CheckWebhook(url string) error { return webhook.CheckURL(url) }

func (w WebhookOptions) check() error {
	switch {
	case w.URL == "" && w.SecretFile != "":
		return about("approvals-webhook-secret-file", "--approvals-webhook-secret-file is for --approvals-webhook-url, which is not there")
	case w.URL != "" && w.SecretFile == "":
		return about("approvals-webhook-url", "--approvals-webhook-url needs --approvals-webhook-secret-file: whoever is told has to find out that it was Gearbox who told")
	case w.URL != "":
		if err := webhook.CheckURL(w.URL); err != nil {
			return about("approvals-webhook-url", "--approvals-webhook-url: %w", err)
		}
	}
	return nil
}

// maxSecretFile bounds what is read of the file, in bytes.
const maxSecretFile = 4 << 10

// secret reads what messages are signed with.
func (w WebhookOptions) secret() (webhook.Secret, error) {
	file, err := os.Open(w.SecretFile)
	if err != nil {
		return webhook.Secret{}, err
	}
	defer func() { _ = file.Close() }() // nothing was written that closing could lose
	st, err := file.Stat()
	switch {
	case err != nil:
		return webhook.Secret{}, err
	case !st.Mode().IsRegular():
		return webhook.Secret{}, errors.New("it is not a regular file")
	case st.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows": // which has no such bits
		return webhook.Secret{}, fmt.Errorf("it is open to other users: run chmod 600 %s", w.SecretFile)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecretFile))
	if err != nil {
		return webhook.Secret{}, err
	}
	return webhook.ParseSecret(string(text))
}

// aboutSecret says which setting an error of secret is about.
func (w WebhookOptions) aboutSecret(err error) error {
	if err == nil {
		return nil
	}
	return about("approvals-webhook-secret-file", "--approvals-webhook-secret-file %s: %w", w.SecretFile, err)
}

// openWebhook makes what tells of questions; nil where nobody is told. Commands that run
// one program and end ask on their own terminal.
func (s *Sidecar) openWebhook(o Options, l *slog.Logger) error {
	w := o.Approvals.Webhook
	if w.URL == "" || !o.Transport.serves() {
		return nil
	}
	secret, err := w.secret()
	if err != nil {
		return w.aboutSecret(err)
	}
	s.webhook, err = webhook.New(webhook.Config{
		URL: w.URL, Secret: secret, Logger: l, Now: time.Now, Version: s.self.Version, Count: func(r webhook.Result) { s.metrics.Webhook(string(r)) },
	})
	if err != nil {
		return about("approvals-webhook-url", "--approvals-webhook-url: %w", err)
	}
	return nil
}

// telling tells of the questions that this process puts. Others tell of theirs.
type telling struct {
	telemetry.Journal

	sender *webhook.Sender
	find   func(context.Context, execution.ID) (execution.Record, error)
	code   bool
}

// Commit implements [engine.Journal].
func (t telling) Commit(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events ...audit.Event) error {
	err := t.Journal.Commit(ctx, id, from, to, c, events...)
	if q := c.Question; err == nil && to == execution.StatePending && q != nil {
		t.sender.Send(webhook.Message{ //nolint:contextcheck // it outlives the commit
			About: string(id), Until: q.Expires,
			Body: func(ctx context.Context) ([]byte, error) { return t.body(ctx, id, q.Hash) },
		})
	}
	return err
}

// Announcement is what a webhook is told.
type Announcement struct {
	// Type is always "approval.asked".
	Type string `json:"type"`
	// Timestamp is when it was asked.
	Timestamp   time.Time             `json:"timestamp"`
	Operation   execution.ID          `json:"operation_id"`
	Hash        execution.Digest      `json:"hash"`
	Summary     string                `json:"summary"`
	Permissions []AnnouncedPermission `json:"permissions"`
	Principal   execution.Principal   `json:"principal"`
	Client      string                `json:"client,omitempty"`
	Gear        string                `json:"gear"`
	Language    execution.Language    `json:"language"`
	ExpiresAt   time.Time             `json:"expires_at"`
	// Code is there only where the operator wants it.
	Code string `json:"code,omitempty"`
}

// AnnouncedPermission is one effect that needs a yes.
type AnnouncedPermission struct {
	Permission string `json:"permission"`
	Line       int    `json:"line,omitempty"`
}

// body is nil when the question stands no longer.
func (t telling) body(ctx context.Context, id execution.ID, hash execution.Digest) ([]byte, error) {
	r, err := t.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.State != execution.StatePending || r.Approval == nil || r.Approval.Hash != hash {
		return nil, nil
	}
	return json.Marshal(announcement(r, t.code))
}

// announcement shows what others wrote as a person is shown it.
func announcement(r execution.Record, code bool) Announcement {
	q := r.Approval
	a := Announcement{
		Type: "approval.asked", Timestamp: q.Created, Operation: r.ID, Hash: q.Hash, Summary: visible.Line(q.Summary), Permissions: []AnnouncedPermission{},
		Principal: r.Request.Principal, Client: visible.Line(r.Request.Client.Name), Gear: r.Gear, Language: r.Request.Language, ExpiresAt: q.Expires,
	}
	for _, one := range q.Asked {
		a.Permissions = append(a.Permissions, AnnouncedPermission{visible.Line(one.String()), one.Line})
	}
	if code {
		a.Code = visible.Text(r.Request.Code)
	}
	return a
}
