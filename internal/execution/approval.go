package execution

import "time"

// Approval is a question that is put to a human about one operation, and the answer.
type Approval struct {
	// Hash names exactly what would happen and until when the question stands. An answer
	// names it too: one to another question is none to this.
	Hash Digest `json:"hash"`
	// Summary is a sentence that says what is asked for.
	Summary string `json:"summary"`
	// Asked are the permissions that need a yes, in the order of the source. There is one
	// answer to all of them.
	Asked   []Asked   `json:"permissions"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	// Rules names the gear and the rules under which it is asked.
	Rules Digest `json:"rules"`
	// Again says why the operation is asked about another time; empty the first time.
	Again string `json:"asked_again,omitempty"`
	// Answer is nil until somebody has given one, or nobody can any more.
	Answer *Answer `json:"answer,omitempty"`
}

// Why an operation is asked about again.
const (
	AgainRules = "the rules changed"
	AgainOther = "what would happen is no longer what was asked about"
)

// ByRules is who gave the answer when changed rules decide what a human was asked.
const ByRules = "the changed rules"

// Asked is one permission that needs a yes.
type Asked struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	// Line and Column count from 1 and are 0 when there is no place; Source is that line, with
	// what a reader could not see written out, and cut when it is very long.
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Source string `json:"source,omitempty"`
	// Reason says why nobody but a human can permit it.
	Reason string `json:"reason,omitempty"`
	// Allow is the rule that would permit exactly this for good; empty where none can.
	Allow string `json:"allow,omitempty"`
}

// String is the written form of the permission.
func (a Asked) String() string { return a.Kind + "(" + a.Target + ")" }

// Verdict is how a question ended.
type Verdict string

// The verdicts.
const (
	Approved Verdict = "approved"
	Refused  Verdict = "denied"
	Expired  Verdict = "expired"
)

// Scope is how far a yes goes.
type Scope string

// The scopes.
const (
	Once   Scope = "once"
	Always Scope = "always" // and the rules of [Asked.Allow] permit the like from now on
)

// Answer ends a question.
type Answer struct {
	Verdict Verdict `json:"decision"`
	Scope   Scope   `json:"scope,omitempty"`
	// Message is for the model whose code it was.
	Message string `json:"message,omitempty"`
	// By says by which way the answer came, and from whom as far as that is known.
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Until is when the question expires; the zero time for none.
func (a *Approval) Until() time.Time {
	if a == nil {
		return time.Time{}
	}
	return a.Expires
}

// Permits reports whether a human said yes to exactly this question, and it still counts.
func (a *Approval) Permits(hash Digest, now time.Time) bool {
	return a != nil && a.Answer != nil && a.Answer.Verdict == Approved && !hash.IsZero() && a.Hash == hash && now.Before(a.Expires)
}
