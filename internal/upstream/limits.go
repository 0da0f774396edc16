package upstream

import "time"

// What is accepted of a server, whatever it sends.
const (
	// DefaultMaxMessage is the longest message that is taken, in bytes: a result with all
	// that is in it.
	DefaultMaxMessage = 64 << 20
	// MaxTools is how many tools of a server are taken.
	MaxTools = 10_000
	// MaxDefinition is the longest definition of a tool that is taken, in bytes.
	MaxDefinition = 256 << 10
	// MaxDefinitions is how much all definitions of a server may take, in bytes.
	MaxDefinitions = 32 << 20
	// MaxName is the longest name of a tool, in bytes; the protocol recommends 128.
	MaxName = 256
	// MaxInstructions is how much of a server's instructions is kept, in bytes.
	MaxInstructions = 16 << 10

	maxPages = 1000 // of a list of tools
	// maxNoise and maxNoiseBytes bound what comes between two messages and is none.
	maxNoise      = 100_000
	maxNoiseBytes = 64 << 20
	notices       = 500 // notifications a second that are taken; faster ones wait
	maxSample     = 200 // bytes of the first ignored line that are shown
	// maxSkipped is how many times the longest message a line may have for what is behind it
	// to be read.
	maxSkipped   = 8
	maxTail      = 8 << 10
	maxAsks      = 64 // requests of a server that wait for our answer
	maxHeader    = 1 << 20
	maxReason    = 64 << 10 // read of an HTTP answer that is no message
	maxRedirects = 5
)

// How long things may take.
const (
	// settleTime is how long changes of a list are gathered before it is asked for.
	settleTime = 250 * time.Millisecond
	// leaveTime is how long a program may take to end by itself when its input ends, and
	// then again when it is asked to.
	leaveTime = 1500 * time.Millisecond
	// drainTime is how long what a program wrote before its end is waited for.
	drainTime = 500 * time.Millisecond
	// steadyTime is how long a session has to last for its end not to count as another of
	// the same failures.
	steadyTime = time.Minute
	// firstPause and longestPause bound the back-off between attempts.
	firstPause   = 500 * time.Millisecond
	longestPause = 5 * time.Minute
	// shellTime bounds a login shell that is asked for its PATH.
	shellTime = 5 * time.Second
	// streamTime is how long a server may take to open a stream for what is no answer.
	streamTime = 3 * time.Second
)
