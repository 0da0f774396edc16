package upstream

import "time"

// State is where a server is in its life.
type State string

// The states.
const (
	// Starting is being reached for the first time, or again after it was ready.
	Starting State = "starting"
	// Ready takes calls.
	Ready State = "ready"
	// Lazy is started when it is first needed.
	Lazy State = "lazy"
	// Failed could not be reached. It is tried again after a while, and nobody waits.
	Failed State = "failed"
	// Disabled is switched off in its configuration.
	Disabled State = "disabled"
)

// Status is what is known of a server. It holds no credential: those of the server's
// configuration, and what looks like one, are masked. What is the server's own word is
// said to be so.
type Status struct {
	Name      string
	Alias     string
	Transport Transport
	State     State
	Reason    string    // why it is not ready, and how to mend it
	Since     time.Time // of the state
	Next      time.Time // of the next attempt, if it failed
	Restarts  int       // sessions that were begun after one had ended

	Tools    int
	Protocol string // the version that was agreed on
	// Title and Version are the server's own word.
	Title   string
	Version string
	// Notes say what of the server's tools was not taken, and why.
	Notes []string
	// Ignored counts what the server sent that is no message; Noise begins the first of it.
	Ignored int
	Noise   string
	// Stderr is the end of what the program wrote to standard error.
	Stderr string
}
