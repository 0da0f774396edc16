package execution

import "time"

// State is where an operation stands on its way. It only moves forward.
type State string

// The states, in order.
const (
	StateSubmitted State = "submitted"
	StateRunning   State = "running" // past the door: user code may have run
	StateFinished  State = "finished"
)

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
}

// Change is what a transition writes into a record. A nil field leaves what is there.
type Change struct {
	Create         *Record // the first transition, from the empty state
	Finished       time.Time
	Result         *Result
	Stdout, Stderr *Output
}
