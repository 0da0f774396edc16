package upstream

import (
	"context"
	"errors"
	"io"
	"time"
)

// Sandbox is what an operator says of the sandbox that the program of a server runs in.
type Sandbox struct {
	// Gear names what is taken as given; empty is the launcher's own choice.
	Gear string
	// Allow are rules of what is there besides the program itself.
	Allow []string
}

// Launcher starts the programs of servers that have a [Sandbox]. Without one those do not
// start: there is no other place for them.
type Launcher interface {
	// Launch starts the program, which lasts longer than the context.
	Launch(context.Context, Spec) (Launched, error)
}

// Launched is a program that runs, with our ends of its standard streams. Reading ends
// soon after the program has.
type Launched struct {
	Process Process

	Stdin          io.WriteCloser
	Stdout, Stderr io.ReadCloser
}

// Process is a program and all that it has started.
type Process interface {
	// Exited is closed when the program has ended.
	Exited() <-chan struct{}
	// Err is how it ended; nil for the exit status 0 and before the end.
	Err() error
	// Stop ends it, after the grace by force, and waits for its end.
	Stop(grace time.Duration)
}

var errNoLauncher = errors.New("it is to run in a sandbox, and there is none here: it is not started outside of one")
