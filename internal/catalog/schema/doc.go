// Package schema reads the JSON Schema that a stranger gives for the arguments of a tool,
// and checks arguments against it.
//
// What belongs here: reading a schema within bounds, mending it, compiling it, checking a
// value, and saying what is wrong with the value. What does not: names in Python, and what
// is done about a fault.
//
// Schemas in the wild are of every draft, most do not say of which, and many are not quite
// JSON Schema. So each is rewritten to one dialect (2020-12) before the library sees it.
// What cannot be used (a reference to another document, a pattern that only a backtracking
// engine understands, a keyword with a value of the wrong type) is left out and named as a
// fault, never fetched and never guessed; leaving something out only ever lets more pass,
// also below not, oneOf and if. The server checks its arguments itself: checking them
// here tells a program early and in plain words how to mend its call.
//
// The library is santhosh-tekuri/jsonschema, because it tells all that is wrong with a value,
// each with its place, where google/jsonschema-go tells the first thing as a sentence of its
// own, and because it ends on schemas that refer to themselves.
//
// Reading, compiling and checking are bounded in size, depth and steps, whatever the schema
// says: see [MaxBytes] and its neighbours.
package schema

import "errors"

// The bounds. What is beyond them is an error that says so.
const (
	MaxBytes      = 1 << 20 // of a schema
	MaxDepth      = 128     // of a schema or a value
	MaxValues     = 1 << 19 // in a schema or a value; each takes about 100 bytes while it is looked at
	MaxSubschemas = 4000    // of one schema; compiling takes time in the square of it
	MaxSteps      = 1 << 20 // of checking the largest value; a small one has fewer, see steps
	maxNumber     = 400     // digits or exponent of a number: 1e999999999 would fill the memory
	maxFaults     = 8       // that are told of one schema
)

var (
	// ErrTooLarge says that a schema or a value is beyond the bounds.
	ErrTooLarge = errors.New("too large")
	// ErrSteps says that checking a value took more than [MaxSteps].
	ErrSteps = errors.New("checking took too many steps")
)
