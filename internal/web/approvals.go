package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Approvals are what humans are asked, whoever's operation it is about. It is safe for
// concurrent use. An error that is a *[approval.RefusedError] or a
// *[execution.RejectedError] is shown to whoever asks; every other one is a failure of
// Gearbox and only logged.
type Approvals interface {
	Questions
	// Find is the operation of a question with all that would be run, open or not.
	Find(context.Context, execution.ID) (execution.Record, error)
	// Always are the rules that a yes for always would write; nil where it cannot be.
	Always(*execution.Approval) []string
	Decider
}

// Decider takes what is sent as a decision. Both record it.
type Decider interface {
	// Decide gives an answer. The question is taken up from there without the caller.
	Decide(context.Context, approval.Decision) error
	// Refuse turns away what is no decision, and returns why.
	Refuse(context.Context, approval.Decision, *approval.RefusedError) error
}

// Questions are read to be listed and followed. Code and inputs need not be in the records.
type Questions interface {
	// Asked are operations about which a human was asked, the newest first: only those
	// whose question stands, or all. At most limit of them, and only those made before the
	// one that is named, if one is.
	Asked(ctx context.Context, standing bool, before execution.ID, limit int) ([]execution.Record, error)
	// Pending are the hashes of the questions that stand. It is asked some times a second
	// while somebody listens.
	Pending(context.Context) (map[execution.ID]execution.Digest, error)
}

const (
	pathApprovals = pathAPI + "approvals"
	// maxDecision bounds the body of a decision, in bytes: a message and a credential.
	maxDecision = 16 << 10
	// decideTime bounds the taking of a decision: checking a passphrase takes a part of a
	// second, and others may be before it.
	decideTime = 30 * time.Second
)

// approvals answers the holders of operators' tokens.
type approvals struct {
	asked Approvals
	feed  *feed
	log   *slog.Logger
	now   func() time.Time
	beat  time.Duration
}

func (a *approvals) routes(mux handles) {
	mux.Handle("GET "+pathApprovals, a.answer(only(a.list, "limit", "before", "all")))
	mux.Handle("GET "+pathApprovals+"/events", http.HandlerFunc(a.events))
	mux.Handle("GET "+pathApprovals+"/{id}", a.answer(only(a.get)))
	mux.Handle("GET "+pathApprovals+"/{id}/inputs/{sha256}", a.answer(only(a.content, "visible")))
	mux.Handle("POST "+pathApprovals+"/{id}", a.answer(a.decide))
}

// only lets h answer queries with these parameters alone.
func only(h func(http.ResponseWriter, *http.Request) error, parameters ...string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := knows(r, parameters...); err != nil {
			return err
		}
		return h(w, r)
	}
}

// answer makes a handler of what may fail.
func (a *approvals) answer(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		var refused *approval.RefusedError
		switch {
		case err == nil:
		case errors.As(err, &refused):
			declined(w, refused)
		case rejected(w, err):
			a.log.LogAttrs(r.Context(), slog.LevelError, "a request failed for a reason of our own",
				slog.String("path", r.URL.Path), slog.String("error", err.Error()))
		}
	})
}

// refusals are what a decision that does not count is in HTTP.
var refusals = map[approval.Cause]struct {
	status int
	code   string
}{
	approval.Unknown:   {http.StatusNotFound, string(execution.CodeNotFound)},
	approval.Malformed: {http.StatusBadRequest, string(execution.CodeInvalidArgument)},
	approval.Decided:   {http.StatusConflict, codeConflict},
	approval.Late:      {http.StatusConflict, codeConflict},
	approval.Stale:     {http.StatusConflict, codeConflict},
	approval.Unproven:  {http.StatusForbidden, codeForbidden},
	approval.Throttled: {http.StatusTooManyRequests, string(execution.CodeUnavailable)},
}

func declined(w http.ResponseWriter, refused *approval.RefusedError) {
	as, known := refusals[refused.Cause]
	if !known {
		as.status, as.code = http.StatusConflict, codeConflict
	}
	if refused.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(refused.RetryAfter.Seconds()+0.999)))
	}
	var f failure
	if refused.TooLong {
		as.status, as.code = http.StatusRequestEntityTooLarge, codeTooLarge
	}
	f.Error.Code, f.Error.Message, f.Error.Field, f.Error.Cause = as.code, refused.Message, refused.Field, refused.Cause
	reply(w, as.status, f)
}

type questionList struct {
	Approvals []question `json:"approvals"`
	// Next is the value of before for what follows; absent at the end.
	Next execution.ID `json:"next,omitempty"`
}

func (a *approvals) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	all, err := flagged(r, "all")
	if err != nil {
		return err
	}
	records, err := a.asked.Asked(r.Context(), !all, execution.ID(q.Get("before")), limit)
	if err != nil {
		return err
	}
	l := questionList{Approvals: []question{}}
	for _, rec := range records {
		if one := overview(rec, a.now()); all || one.State == standsOpen {
			l.Approvals = append(l.Approvals, one)
		}
	}
	if len(records) == limit {
		l.Next = records[limit-1].ID
	}
	reply(w, http.StatusOK, l)
	return nil
}

// flagged reads a parameter that is true also when it is there alone.
func flagged(r *http.Request, name string) (bool, error) {
	q := r.URL.Query()
	v := q.Get(name)
	if v == "" {
		return q.Has(name), nil
	}
	is, err := strconv.ParseBool(v)
	if err != nil {
		return false, malformed(name, "must be true or false")
	}
	return is, nil
}

func (a *approvals) get(w http.ResponseWriter, r *http.Request) error {
	rec, err := a.asked.Find(r.Context(), execution.ID(r.PathValue("id")))
	if err == nil {
		reply(w, http.StatusOK, inFull(rec, a.asked.Always(rec.Approval), a.now()))
	}
	return err
}

// decision is the body of an answer. A hash is never left out: who says yes says to what.
type decision struct {
	Decision verb `json:"decision"`
	// Scope is nil for none: an empty one is a mistake.
	Scope      *execution.Scope `json:"scope,omitzero"`
	Message    string           `json:"message,omitzero"`
	Hash       execution.Digest `json:"hash"`
	Credential string           `json:"credential,omitzero"`
}

// verb is what a decision does.
type verb string

const (
	approve verb = "approve"
	deny    verb = "deny"
)

func (a *approvals) decide(w http.ResponseWriter, r *http.Request) error {
	caller, ok := execution.CallerOf(r.Context())
	if !ok {
		return errors.New("a decision of nobody")
	}
	c := approval.Decision{Operation: execution.ID(r.PathValue("id")), By: byToken(caller), Client: execution.Client{Name: userAgent(r)}}
	d, err := readDecision(r)
	// Who sends a decision and goes away has decided all the same.
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.Context()), decideTime)
	defer stop()
	var wrong *bodyError
	switch {
	case errors.As(err, &wrong):
		return a.asked.Refuse(ctx, c, &approval.RefusedError{Cause: approval.Malformed, Field: wrong.Field, Message: wrong.Message, TooLong: wrong.TooLong})
	case err != nil:
		return err
	}
	c.Hash, c.Verdict, c.Message, c.Credential = d.Hash, d.verdict(), d.Message, d.Credential
	if d.Scope != nil {
		c.Scope = *d.Scope
	}
	if err := a.asked.Decide(ctx, c); err != nil {
		return err
	}
	a.feed.look()
	rec, err := a.asked.Find(ctx, c.Operation)
	if err == nil {
		reply(w, http.StatusOK, overview(rec, a.now()))
	}
	return err
}

// byToken names the token in the record. Written as that of its principal it would be taken
// for a secret there, and masked.
func byToken(c execution.Caller) string {
	return "api:" + strings.TrimPrefix(string(c.Principal), string(execution.ClassToken)+":")
}

func (d decision) verdict() execution.Verdict {
	if d.Decision == approve {
		return execution.Approved
	}
	return execution.Refused
}

// readDecision is what a request decides. What is no decision by its form, and that is one
// with a query too, which would seem to decide, is a *[bodyError].
func readDecision(r *http.Request) (decision, error) {
	var unknown *execution.RejectedError
	if errors.As(knows(r), &unknown) {
		return decision{}, &bodyError{Field: short(unknown.Field), Message: unknown.Message + ": what is decided stands in the body"}
	}
	d, err := readBody[decision](r)
	if err == nil {
		err = d.check()
	}
	return d, err
}

// check finds what the form alone does not say.
func (d decision) check() error {
	wrong := func(field, message string) error { return &bodyError{Field: field, Message: message} }
	switch {
	case d.Decision != approve && d.Decision != deny:
		return wrong("decision", "must be approve or deny")
	case d.Hash.IsZero():
		return wrong("hash", "is missing: send that of the question as it was shown")
	case d.Decision == deny && d.Scope != nil:
		return wrong("scope", "belongs to a yes alone: leave it out of a no")
	case d.Scope != nil && *d.Scope != execution.Once && *d.Scope != execution.Always:
		return wrong("scope", "must be once or always")
	case len(d.Message) > approval.MaxMessage:
		return wrong("message", fmt.Sprintf("must be at most %d bytes long", approval.MaxMessage))
	}
	return nil
}

func malformed(field, message string) error {
	return &execution.RejectedError{Code: execution.CodeInvalidArgument, Field: field, Message: message}
}
