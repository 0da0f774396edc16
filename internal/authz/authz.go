// Package authz is the only door. Whatever is about to happen (a run, later a
// tool call, an installation, a connection) passes [Door.Authorize], which asks
// the policy and hands out a [Permit] or has the refusal recorded. Nothing else
// can make a Permit, and nothing runs without one. The decisions behind a Permit
// are recorded by whoever uses it, in the commit that records the start: one
// commit less, and still none of it is done unrecorded.
//
// What the rules ask a human about is put to one as a question, and the operation that
// it belongs to comes again with the answer. The question's hash covers everything that
// would happen, so a yes is one to exactly that.
//
// The door fails closed: no gear, an unknown decision, a record that cannot be
// written, all mean no.
package authz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Moment is when the door is passed.
type Moment string

// The moments.
const (
	// BeforeRun is between the analysis of a program and its first instruction.
	BeforeRun Moment = "before_run"
	// ToolCall is before a tool of another server is called.
	ToolCall Moment = "tool_call"
)

// permitLife is how long a permit may lie unused. It covers arming a child and
// nothing more.
const permitLife = time.Minute

// Action is what someone wants to do.
type Action struct {
	Operation execution.ID
	Principal execution.Principal
	Client    execution.Client
	Gear      gear.Frozen
	Moment    Moment
	// Code is the digest of the source, for the record.
	Code execution.Digest
	// Subject is the digest of exactly what would happen.
	Subject execution.Digest
	// Source is the text that the permissions stand in.
	Source string
	// Asks are the permissions that it needs.
	Asks []policy.Permission
	// Changed, unless empty, says what is different from what the operator knows: a human
	// is asked even where the rules allow it.
	Changed string
	// Patience bounds how long a question about it stands; 0 leaves it to the door.
	Patience time.Duration
	// Approval is the last question about the operation, nil when none was put. Whoever
	// hands it in has made sure that its answer serves this one time.
	Approval *execution.Approval
}

// Permit proves that the door was passed for one action. It is single use. The
// zero Permit covers nothing.
type Permit struct{ grant *grant }

type grant struct {
	subject   execution.Digest
	expires   time.Time
	now       func() time.Time
	asks      map[string]bool
	decisions []audit.Event
	approved  bool
	used      atomic.Bool
}

// Covers reports whether the permit was given for exactly this subject and
// includes the permission. It does not use the permit up.
func (p Permit) Covers(subject execution.Digest, perm policy.Permission) bool {
	return p.valid(subject) && p.grant.asks[perm.String()]
}

// Use uses the permit up. It is true once, for the subject that it was given for,
// before it expires.
func (p Permit) Use(subject execution.Digest) bool {
	return p.valid(subject) && p.grant.used.CompareAndSwap(false, true)
}

// Decisions are the events of what was decided, which belong into the record before
// what was permitted begins.
func (p Permit) Decisions() []audit.Event {
	if p.grant == nil {
		return nil
	}
	return slices.Clone(p.grant.decisions)
}

// Approved reports whether the permit rests on a human's yes to all that the question of
// its action lists. Otherwise the rules alone allow the action.
func (p Permit) Approved() bool { return p.grant != nil && p.grant.approved }

func (p Permit) valid(subject execution.Digest) bool {
	return p.grant != nil && !subject.IsZero() && p.grant.subject == subject && p.grant.now().Before(p.grant.expires)
}

// Recorder keeps events. An error means that they were not kept.
type Recorder interface {
	Record(context.Context, ...audit.Event) error
}

// Config is what a Door needs. Every field is required.
type Config struct {
	Recorder Recorder
	// Patience is how long a question to a human stands; 0 when nobody is to be asked.
	Patience   func() time.Duration
	Mechanisms Mechanisms
	Now        func() time.Time
}

// Door decides. It is safe for concurrent use.
type Door struct{ c Config }

// New makes a Door.
func New(c Config) (*Door, error) {
	if c.Recorder == nil || c.Patience == nil || c.Mechanisms == nil || c.Now == nil {
		return nil, errors.New("authz: a door needs a recorder, a patience, mechanisms and a clock")
	}
	return &Door{c: c}, nil
}

// Authorize decides on the action as a whole: one refused permission refuses it
// all. It returns a *[DeniedError], a *[PendingError], or an error of our own.
func (d *Door) Authorize(ctx context.Context, a Action) (Permit, error) {
	if a.Gear.IsZero() || a.Subject.IsZero() {
		return Permit{}, d.refuse(ctx, a, &DeniedError{Reason: "no gear is in force, or nothing to permit, so nothing is permitted"})
	}
	if !a.Gear.Enabled() {
		denied := &DeniedError{Reason: fmt.Sprintf("the gear %s does not run code: its execution is off", a.Gear.Name())}
		return Permit{}, d.refuse(ctx, a, denied)
	}
	refused, asked, decisions := d.decide(a)
	if len(refused) > 0 {
		return Permit{}, d.refuse(ctx, a, &DeniedError{Refusals: append(refused, asked...)}, decisions...)
	}
	if len(asked) == 0 {
		return d.permit(a, decisions), nil
	}
	if !approves(a, asked, d.c.Now()) {
		return Permit{}, d.ask(ctx, a, asked, decisions)
	}
	p := d.permit(a, d.approved(a, decisions))
	p.grant.approved = true
	return p, nil
}

// decide sorts the permissions.
func (d *Door) decide(a Action) (refused, asked []Verdict, decisions []audit.Event) {
	for _, p := range a.Asks {
		v := d.c.Mechanisms.judge(a.Gear, p)
		if a.Changed != "" && v.Decision.Effect != policy.Deny {
			v.Decision.Effect, v.Decision.Reason, v.Hint, v.Allow = policy.Ask, a.Changed, a.Changed, ""
		}
		switch v.Decision.Effect {
		case policy.Allow:
		case policy.Ask:
			asked = append(asked, v)
		default:
			refused = append(refused, v)
		}
		decisions = append(decisions, d.decided(a, v.Decision))
	}
	return refused, asked, decisions
}

// ask puts the question, which whoever gets it commits together with its decisions.
func (d *Door) ask(ctx context.Context, a Action, asked []Verdict, decisions []audit.Event) error {
	patience := d.c.Patience()
	if a.Patience > 0 {
		patience = min(patience, a.Patience)
	}
	if patience <= 0 {
		for i := range asked {
			asked[i].Hint = "This needs a human's yes, and nobody is asked here, so it is refused at once. " + asked[i].Hint
		}
		return d.refuse(ctx, a, &DeniedError{Refusals: asked}, decisions...)
	}
	q := question(a, asked, d.c.Now(), patience)
	e := d.event(a, audit.Approval)
	e.Decision, e.Reason = string(policy.Ask), q.Summary
	e.Details = map[string]string{"hash": q.Hash.String(), "expires": q.Expires.Format(time.RFC3339)}
	if q.Again != "" {
		e.Details["asked_again"] = q.Again
	}
	return &PendingError{Question: q, Events: append(decisions, e)}
}

// approved says in the events of what was asked that it was answered.
func (d *Door) approved(a Action, decisions []audit.Event) []audit.Event {
	for i := range decisions {
		e := &decisions[i]
		if e.Decision == string(policy.Ask) {
			e.Decision, e.Rule = string(policy.Allow), string(policy.ApprovalLayer)
			e.Reason = "approved by " + a.Approval.Answer.By
		}
	}
	return decisions
}

// refuse records the refusal and returns it; a refusal that cannot be recorded
// is still a refusal, and the failure is reported with it.
func (d *Door) refuse(ctx context.Context, a Action, denied *DeniedError, decisions ...audit.Event) error {
	e := d.event(a, audit.Refused)
	e.Reason, e.Status = denied.Error(), execution.StatusDenied
	if err := d.c.Recorder.Record(ctx, append(decisions, e)...); err != nil {
		return errors.Join(denied, fmt.Errorf("record the refusal: %w", err))
	}
	return denied
}

func (d *Door) permit(a Action, decisions []audit.Event) Permit {
	asks := make(map[string]bool, len(a.Asks))
	for _, p := range a.Asks {
		asks[p.String()] = true
	}
	return Permit{&grant{subject: a.Subject, expires: d.c.Now().Add(permitLife), now: d.c.Now, asks: asks, decisions: decisions}}
}

func (d *Door) decided(a Action, dec policy.Decision) audit.Event {
	e := d.event(a, audit.Decided)
	e.Permission, e.Decision, e.Rule, e.Reason = dec.Permission.String(), string(dec.Effect), dec.Rule, dec.Reason
	return e
}

func (d *Door) event(a Action, t audit.Type) audit.Event {
	return audit.Event{
		Time: d.c.Now(), Type: t, Operation: a.Operation, Principal: a.Principal, Client: a.Client,
		Gear: a.Gear.Name(), Code: a.Code,
	}
}
