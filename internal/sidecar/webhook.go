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
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
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

// telling tells of the questions that this process puts, and of their ends. Others tell of
// theirs. It is safe for concurrent use.
type telling struct {
	telemetry.Journal

	sender  *webhook.Sender
	records asked
	code    bool

	mu   sync.Mutex // guards what follows
	open map[execution.ID]execution.Digest
}

// asked is where questions are looked up: whoever decides need not be this process.
type asked interface {
	Pending(ctx context.Context) (map[execution.ID]execution.Digest, error)
	Find(ctx context.Context, id execution.ID) (execution.Record, error)
}

func newTelling(j telemetry.Journal, s *webhook.Sender, records asked, code bool) *telling {
	return &telling{Journal: j, sender: s, records: records, code: code, open: map[execution.ID]execution.Digest{}}
}

// Commit implements [engine.Journal].
func (t *telling) Commit(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events ...audit.Event) error {
	err := t.Journal.Commit(ctx, id, from, to, c, events...)
	if q := c.Question; err == nil && to == execution.StatePending && q != nil {
		t.put(id, q) //nolint:contextcheck // it outlives the commit
	}
	return err
}

// put tells of a question. What came of one before it about the same operation is told
// first.
func (t *telling) put(id execution.ID, q *execution.Approval) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, known := t.open[id]; known && before != q.Hash {
		t.end(id, Ending{Type: endings[execution.Approved], Timestamp: q.Created, Operation: id, Hash: before})
	}
	t.open[id] = q.Hash
	t.sender.Send(webhook.Message{
		About: string(id), Until: q.Expires,
		Body: func(ctx context.Context) ([]byte, error) { return t.body(ctx, id, q.Hash) },
	})
}

// look finds what has ended since, whoever ended it. What could not be read is found by the
// next look.
func (t *telling) look(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) == 0 {
		return nil
	}
	now, err := t.records.Pending(ctx)
	if err != nil {
		return fmt.Errorf("look for the end of questions: %w", err)
	}
	for id, hash := range t.open {
		if now[id] == hash {
			continue
		}
		r, err := t.records.Find(ctx, id)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("look for the end of the question about %s: %w", id, err)
		}
		t.end(id, ending(r, id, hash, time.Now())) //nolint:contextcheck // it outlives the look
		delete(t.open, id)
	}
	return nil
}

// endKept is how long it is tried to tell of an end.
const endKept = 24 * time.Hour

// end tells how a question ended.
func (t *telling) end(id execution.ID, e Ending) {
	t.sender.Send(webhook.Message{
		About: string(id), Until: time.Now().Add(endKept),
		Body: func(context.Context) ([]byte, error) { return json.Marshal(e) },
	})
}

// Ending is what a webhook is told of the end of a question. There is nothing in it that was
// not told with the question but how it ended and by whom.
type Ending struct {
	// Type is one of "approval.approved", "approval.denied", "approval.expired" and
	// "approval.withdrawn".
	Type string `json:"type"`
	// Timestamp is when it ended.
	Timestamp time.Time        `json:"timestamp"`
	Operation execution.ID     `json:"operation_id"`
	Hash      execution.Digest `json:"hash"`
	// By says by which way the answer came, and from whom; absent where there is none.
	By string `json:"by,omitempty"`
	// Scope is that of a yes.
	Scope execution.Scope `json:"scope,omitempty"`
}

// endings are the types of [Ending] that an answer makes.
var endings = map[execution.Verdict]string{
	execution.Approved: "approval.approved", execution.Refused: "approval.denied", execution.Expired: "approval.expired",
}

// ending is how a question ended that stands no longer. Only an approved one is taken up, and
// then asks anew. The record of one that is gone has outlived its question.
func ending(r execution.Record, id execution.ID, hash execution.Digest, now time.Time) Ending {
	e := Ending{Type: endings[execution.Expired], Timestamp: now.UTC(), Operation: id, Hash: hash}
	if r.Approval == nil {
		return e
	}
	if r.Approval.Hash != hash {
		e.Type, e.Timestamp = endings[execution.Approved], r.Approval.Created
		return e
	}
	if a := r.Approval.Answer; a != nil {
		e.Type, e.Timestamp, e.By, e.Scope = endings[a.Verdict], a.At, visible.Line(a.By), a.Scope
		return e
	}
	if !r.Finished.IsZero() {
		e.Timestamp = r.Finished
	}
	if r.Result.Status == execution.StatusCancelled {
		e.Type = "approval.withdrawn"
	}
	return e
}

// Announcement is what a webhook is told of a question.
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
	// Run is the operation whose program waits for the call of a tool that is asked about.
	Run       execution.ID `json:"run,omitempty"`
	ExpiresAt time.Time    `json:"expires_at"`
	// Code is there only where the operator wants it.
	Code string `json:"code,omitempty"`
}

// AnnouncedPermission is one effect that needs a yes.
type AnnouncedPermission struct {
	Permission string `json:"permission"`
	Line       int    `json:"line,omitempty"`
}

// body is nil when the question stands no longer.
func (t *telling) body(ctx context.Context, id execution.ID, hash execution.Digest) ([]byte, error) {
	r, err := t.records.Find(ctx, id)
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
	call, _ := execution.CallOf(r.Request)
	a := Announcement{
		Type: "approval.asked", Timestamp: q.Created, Operation: r.ID, Hash: q.Hash, Summary: visible.Line(q.Summary), Permissions: []AnnouncedPermission{},
		Principal: r.Request.Principal, Client: visible.Line(r.Request.Client.Name), Gear: r.Gear, Language: r.Request.Language, Run: call.Run, ExpiresAt: q.Expires,
	}
	for _, one := range q.Asked {
		a.Permissions = append(a.Permissions, AnnouncedPermission{visible.Line(one.String()), one.Line})
	}
	if code {
		a.Code = visible.Text(r.Request.Code)
	}
	return a
}
