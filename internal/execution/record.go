package execution

import "time"

// State is where an operation stands on its way. Only a question that has to be put
// anew leads back, from resumed to pending.
type State string

// The states, in order. Those in the middle are passed only by what a human is asked about.
const (
	StateSubmitted State = "submitted"
	StatePending   State = "pending"  // a human is asked; no process has it
	StateStale     State = "stale"    // the rules changed since; the next process to look decides anew
	StateApproved  State = "approved" // a human said yes; the next process to look takes it
	StateResumed   State = "resumed"  // taken up again after the yes, or to be decided anew
	StateRunning   State = "running"  // past the door: user code may have run
	StateFinished  State = "finished"
)

// States lists every state.
func States() []State {
	return []State{StateSubmitted, StatePending, StateStale, StateApproved, StateResumed, StateRunning, StateFinished}
}

// Waits reports whether an operation in this state belongs to no process and outlives all.
func (s State) Waits() bool { return s == StatePending || s == StateStale || s == StateApproved }

// Output is what was kept of one stream: its first bytes and its last ones.
// When nothing was left out, Tail is empty and Head holds it all.
type Output struct {
	Head, Tail []byte
	Total      Bytes
}

// Kept is the number of bytes kept.
func (o Output) Kept() Bytes { return Bytes(len(o.Head) + len(o.Tail)) }

// Record is an operation as it is stored.
type Record struct {
	ID       ID
	Request  Request
	Instance string // the process that runs it, or did
	Gear     string
	State    State
	Created  time.Time
	Finished time.Time
	Result   Result
	Stdout   Output
	Stderr   Output
	Approval *Approval // the last question, nil if there was none
}

// Change is what a transition writes into a record. A nil field leaves what is there.
type Change struct {
	Create         *Record // the first transition, from the empty state
	Finished       time.Time
	Result         *Result
	Stdout, Stderr *Output
	// Instance is who has the operation from now on; empty for who had it.
	Instance string
	// Question replaces the question, whatever was there before. Answer is the answer to
	// the question that Of names; the transition fails with a conflict when another one
	// stands there, or it has an answer.
	Question *Approval
	Answer   *Answer
	Of       Digest
	// MaxPending lets the transition fail when so many operations of the principal are
	// pending already; 0 does not bound.
	MaxPending int
}
