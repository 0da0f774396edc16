package sidecar

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/instance"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
)

// ApprovalOptions say whether and how humans are asked. A nil field is its documented
// default; the zero value is all defaults.
type ApprovalOptions struct {
	// Mode is "off" when nobody is asked: what needs a yes is then denied at once.
	Mode string
	// Patience is how long a question stands; by default an hour.
	Patience *time.Duration
	// MaxPending is how many operations of one principal may wait for a human; by default
	// 1,000.
	MaxPending *int
	// MaxPause is how long, in all, a run may stand still while humans are asked about the
	// calls of its program; by default 10 minutes.
	MaxPause *time.Duration
	// Page is the address where the operator's own front end lets a person decide, for
	// clients that can show their user a page; empty for none. The page has to ask who
	// comes: agents know its address.
	Page string
	// Credential is what whoever decides has to show, one of [CredentialKinds]; empty means
	// none, unless one was set for the data directory.
	Credential string
	// Webhook is told of every question.
	Webhook WebhookOptions
	// Here says that whoever started this command is asked, and answers.
	Here bool
}

// The range of [ApprovalOptions.Patience], and its default.
const (
	LeastPatience = time.Minute
	MostPatience  = 30 * 24 * time.Hour

	defaultPatience = time.Hour

	// MostPending is the largest number of [ApprovalOptions.MaxPending]; the least is 1.
	MostPending = 10_000

	defaultMaxPending = 1000

	// LeastMaxPause and MostMaxPause are the range of [ApprovalOptions.MaxPause]: a run that
	// stands still holds its memory.
	LeastMaxPause = time.Second
	MostMaxPause  = 24 * time.Hour

	defaultMaxPause = 10 * time.Minute
)

func (a ApprovalOptions) maxPending() int {
	if a.MaxPending != nil {
		return *a.MaxPending
	}
	return defaultMaxPending
}

func (a ApprovalOptions) maxPause() time.Duration {
	if a.MaxPause != nil {
		return *a.MaxPause
	}
	return defaultMaxPause
}

// patience is how long a question stands; 0 when nobody is asked. Commands that run one
// program and end have nobody who would come back for it.
func (o Options) patience() time.Duration {
	switch a := o.Approvals; {
	case a.Mode == "off" || !o.Transport.serves() && !a.Here:
		return 0
	case a.Patience != nil:
		return *a.Patience
	default:
		return defaultPatience
	}
}

// page is the address of the page; nil for none.
func (a ApprovalOptions) page() (*url.URL, error) {
	if a.Page == "" {
		return nil, nil //nolint:nilnil // there need not be one
	}
	u, err := mcpserver.CheckPage(a.Page)
	if err != nil {
		return nil, about("approvals-page", "the approval page: %w", err)
	}
	return u, nil
}

// resumeEvery is how soon an operation that was approved is taken up when nobody tells
// this process of it.
const resumeEvery = time.Second

// followApprovals takes up what was approved, and ends what nobody decided on in time,
// until ctx ends.
func (s *Sidecar) followApprovals(ctx context.Context, l *slog.Logger) {
	look := time.NewTicker(resumeEvery)
	defer look.Stop()
	for {
		if _, err := s.engine.Resume(ctx); err != nil && ctx.Err() == nil {
			l.Error("approved operations could not be taken up", "error", err)
		}
		if s.telling != nil {
			if err := s.telling.look(ctx); err != nil && ctx.Err() == nil {
				l.Error("the webhook was not told of what has ended", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-s.approved:
		case <-look.C:
		}
	}
}

// wake is what an instance is told when something was decided.
type wake struct {
	// Rules tells that the rules file was added to: it is answered once that counts.
	Rules bool `json:"rules,omitempty"`
}

// woken is what it answers.
type woken struct {
	// Serves tells that it takes up what was approved, whoever asked: the commands that run
	// one program do not.
	Serves bool `json:"serves,omitempty"`
}

// approvedPath is where an instance is told that something was decided.
const approvedPath = "/approved"

// handleApproved wakes: what was decided stands in the records and the rules file.
func (s *Sidecar) handleApproved(w http.ResponseWriter, r *http.Request) {
	var told wake
	if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
		instance.Fail(w, http.StatusBadRequest, err.Error())
		return
	}
	defer s.look()
	if told.Rules {
		ctx := context.WithoutCancel(r.Context()) // whoever tells it may not wait for it
		if err := s.takeRules(ctx); err != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "the rules could not be read anew", slog.Any("error", err))
			instance.Fail(w, http.StatusInternalServerError, err.Error())
			return
		}
	}
	instance.Reply(w, woken{s.self.Transport.serves()})
}

// look has approved operations, and those about which the rules changed, looked for at once.
func (s *Sidecar) look() {
	select {
	case s.approved <- struct{}{}:
	default:
	}
}
