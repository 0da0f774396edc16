package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Journal is what the desk needs of the records. Errors are those of [engine.Journal].
type Journal interface {
	// Waiting are the operations of every principal that wait for a human or, after a
	// yes, for a process, the oldest first, with their requests and without their files.
	Waiting(ctx context.Context) ([]execution.Record, error)
	// Find is an operation, whoever's it is.
	Find(ctx context.Context, id execution.ID) (execution.Record, error)
	Commit(ctx context.Context, id execution.ID, from, to execution.State, change execution.Change, events ...audit.Event) error
	Record(ctx context.Context, events ...audit.Event) error
}

// Decision is the answer of a human.
type Decision struct {
	Operation execution.ID
	// Hash is that of the question as it was shown.
	Hash    execution.Digest
	Verdict execution.Verdict // [execution.Approved] or [execution.Refused]
	Scope   execution.Scope   // of a yes; empty is [execution.Once]
	// Message is for the model whose code it was.
	Message string
	// By says by which way it comes, and from whom.
	By string
	// Credential is what proves that the operator gives it, where the data directory asks
	// for one. It is checked and kept nowhere.
	Credential string
	// Client is the program by which it comes.
	Client execution.Client
}

// MaxMessage bounds a message to a model, in bytes.
const MaxMessage = 2000

// Guard finds out whether whoever decides is the operator. It is safe for concurrent use.
type Guard interface {
	// Check is nil when the credential is the right one, or none is asked for. A no is a
	// *[RefusedError]; every other error is a failure, after which nothing is decided.
	Check(ctx context.Context, credential string) error
}

// Desk takes decisions. It is safe for concurrent use, and any number of processes may
// have one.
type Desk struct {
	journal Journal
	guard   Guard
	now     func() time.Time
}

// NewDesk makes a Desk.
func NewDesk(j Journal, g Guard, now func() time.Time) *Desk { return &Desk{j, g, now} }

// Open are the questions that stand, the oldest first.
func (d *Desk) Open(ctx context.Context) ([]execution.Record, error) {
	all, err := d.journal.Waiting(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the open questions: %w", err)
	}
	var open []execution.Record
	for _, r := range all {
		if r.State == execution.StatePending && d.now().Before(r.Approval.Until()) {
			open = append(open, r)
		}
	}
	return open, nil
}

// Find is the operation of a question, open or not. One about which nobody was asked is a
// *[RefusedError].
func (d *Desk) Find(ctx context.Context, id execution.ID) (execution.Record, error) {
	r, err := d.journal.Find(ctx, id)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return execution.Record{}, refuse(Unknown, "there is no operation %q", string(id))
	case err != nil:
		return execution.Record{}, fmt.Errorf("find %s: %w", id, err)
	case r.Approval == nil:
		return execution.Record{}, refuse(Unknown, "nobody was asked about %s", id)
	}
	return r, nil
}

// Decide gives an answer, once. A decision that comes too late, a second time, or to
// something else than what was shown is a *[RefusedError], and is recorded as refused.
// After a yes the operation is taken up by the next process that looks.
func (d *Desk) Decide(ctx context.Context, c Decision) error {
	r, err := d.Find(ctx, c.Operation)
	if err == nil {
		err = d.take(ctx, r, c)
	}
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	return errors.Join(err, d.record(ctx, r, c, refused))
}

// Refuse turns away what was handed in as a decision and is none, records that, and
// returns why. What could be read of the decision is in c.
func (d *Desk) Refuse(ctx context.Context, c Decision, why *RefusedError) error {
	r, err := d.Find(ctx, c.Operation)
	var unknown *RefusedError
	if err != nil && !errors.As(err, &unknown) {
		return err
	}
	return errors.Join(why, d.record(ctx, r, c, why))
}

// record puts down that a decision does not count. r is empty when it is one about no
// operation.
func (d *Desk) record(ctx context.Context, r execution.Record, c Decision, why *RefusedError) error {
	e := audit.Event{
		Time: d.now(), Type: audit.Approval, Operation: r.ID, Principal: r.Request.Principal, Client: c.Client, Gear: r.Gear,
		Decision: "refused", Reason: bounded(why.Message), Details: d.details(c),
	}
	if why.Field != "" {
		e.Details["field"] = bounded(why.Field)
	}
	if e.Operation == "" {
		e.Principal = execution.Local // whoever answered; the operation is nobody's
		e.Details["operation"] = bounded(string(c.Operation))
	}
	return d.journal.Record(ctx, e)
}

func (d *Desk) take(ctx context.Context, r execution.Record, c Decision) error {
	switch {
	case c.Verdict == execution.Approved && c.Scope == "":
		c.Scope = execution.Once
	case c.Verdict == execution.Refused && c.Scope == execution.Once:
		c.Scope = ""
	}
	// The credential comes last: a code that counts once is not spent on what is refused
	// anyway.
	if err := d.check(r, c); err != nil {
		return err
	}
	if err := d.awaited(ctx, r, c); err != nil {
		return err
	}
	if err := d.guard.Check(ctx, c.Credential); err != nil {
		return fmt.Errorf("decide on %s: %w", r.ID, err)
	}
	answer := execution.Answer{Verdict: c.Verdict, Scope: c.Scope, Message: c.Message, By: c.By, At: d.now().UTC()}
	change, events := execution.Change{}, []audit.Event{d.event(r, c)}
	to := execution.StateApproved
	if c.Verdict == execution.Refused {
		var finished audit.Event
		change, finished = engine.Closed(r, execution.StatusDenied, execution.CodePolicyViolation, no(c.Message), d.now())
		events, to = append(events, finished), execution.StateFinished
	}
	change.Answer, change.Of = &answer, c.Hash
	err := d.journal.Commit(ctx, r.ID, execution.StatePending, to, change, events...)
	if errors.Is(err, engine.ErrConflict) {
		return d.late(ctx, c)
	}
	return err
}

// awaited refuses a yes to a call whose program waits for it no longer: nothing could come
// of it.
func (d *Desk) awaited(ctx context.Context, r execution.Record, c Decision) error {
	call, ok := execution.CallOf(r.Request)
	if !ok || call.Run == "" || c.Verdict != execution.Approved {
		return nil
	}
	run, err := d.journal.Find(ctx, call.Run)
	switch {
	case errors.Is(err, engine.ErrNotFound) || err == nil && run.State == execution.StateFinished:
		return refuse(Stale, "the run %s, whose program asked for this call, has ended: nothing would be called", call.Run)
	case err != nil:
		return fmt.Errorf("find the run %s: %w", call.Run, err)
	}
	return nil
}

// late is why a decision does not count that was overtaken after it was looked at.
func (d *Desk) late(ctx context.Context, c Decision) error {
	r, err := d.Find(ctx, c.Operation)
	if err == nil {
		err = d.check(r, c)
	}
	if err == nil { // it was asked, answered, and asked again with the same hash: there is none such
		err = refuse(Decided, "somebody else decided on %s first", c.Operation)
	}
	return err
}

// check finds what is wrong with a decision before anything is written. What changes
// meanwhile the commit finds.
func (d *Desk) check(r execution.Record, c Decision) error {
	q := r.Approval
	switch {
	case c.Verdict != execution.Approved && c.Verdict != execution.Refused:
		return refuse(Malformed, "a decision is %s or %s, and not %q", execution.Approved, execution.Refused, string(c.Verdict))
	case c.Verdict == execution.Approved && c.Scope != execution.Once && c.Scope != execution.Always:
		return refuse(Malformed, "a scope is %s or %s, and not %q", execution.Once, execution.Always, string(c.Scope))
	case c.Verdict == execution.Refused && c.Scope != "":
		return refuse(Malformed, "a scope belongs to a yes: a no is one to this operation, and %q is no scope of it", string(c.Scope))
	case len(c.Message) > MaxMessage:
		return refuse(Malformed, "the message is %d bytes long, and at most %d are taken", len(c.Message), MaxMessage)
	case q.Answer == nil && !d.now().Before(q.Expires): // whether or not a server has ended it meanwhile
		return refuse(Late, "the question about %s expired at %s", r.ID, q.Expires.Format(time.RFC3339))
	case q.Answer == nil && (r.State == execution.StateStale || r.State == execution.StateResumed):
		return refuse(Stale, "%s since %s was asked about: they decide anew, and what they still ask is asked again under another hash", execution.AgainRules, r.ID)
	case q.Again != "" && c.Hash != q.Hash && !c.Hash.IsZero():
		return refuse(Stale, "%s since, and %s is asked about again under the hash %s: look at it again", q.Again, r.ID, q.Hash)
	case r.State != execution.StatePending || q.Answer != nil:
		return refuse(Decided, "%s is no longer open: %s", r.ID, standing(r))
	case c.Hash.IsZero() || c.Hash != q.Hash:
		return refuse(Stale, "this is not what is asked about %s now: look at it again", r.ID)
	}
	return nil
}

// standing says how the operation of a question stands.
func standing(r execution.Record) string {
	switch {
	case r.Approval.Answer != nil:
		return fmt.Sprintf("it was %s by %s", r.Approval.Answer.Verdict, r.Approval.Answer.By)
	case r.State == execution.StateFinished:
		return "it ended as " + string(r.Result.Status)
	}
	return "it is " + string(r.State)
}

// no is what the model reads.
func no(message string) string {
	if message == "" {
		return "The user said no. Nothing was run. Do not try the same in another way; ask the user what to do instead."
	}
	return "The user said no. Nothing was run. Their message: " + message
}

func (d *Desk) event(r execution.Record, c Decision) audit.Event {
	details := d.details(c)
	if c.Scope == execution.Always {
		details["rules"] = strings.Join(rulesOf(r.Approval), " ")
	}
	return audit.Event{
		Time: d.now(), Type: audit.Approval, Operation: r.ID, Principal: r.Request.Principal, Client: c.Client, Gear: r.Gear,
		Code: execution.DigestOf([]byte(r.Request.Language), []byte(r.Request.Code)), Decision: string(c.Verdict), Reason: r.Approval.Summary, Details: details,
	}
}

func (d *Desk) details(c Decision) map[string]string {
	out := map[string]string{"by": bounded(c.By)}
	if !c.Hash.IsZero() {
		out["hash"] = c.Hash.String()
	}
	for key, value := range map[string]string{"scope": string(c.Scope), "message": c.Message} {
		if value != "" {
			out[key] = bounded(value)
		}
	}
	return out
}

// rulesOf are those that permit the like from now on.
func rulesOf(q *execution.Approval) []string {
	var rules []string
	for _, one := range q.Asked {
		if !slices.Contains(rules, one.Allow) {
			rules = append(rules, one.Allow)
		}
	}
	return rules
}

// bounded keeps what was handed in, which may be anything, from filling the records.
func bounded(s string) string {
	if len(s) <= MaxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:MaxMessage], "") + "…"
}
