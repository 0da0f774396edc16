// Package gateway makes the calls of other servers' tools: for programs, through the
// bridge, and for models, directly.
//
// What belongs here: finding the tool that is meant, checking the arguments against the
// definition that was pinned, calling under a permit, and putting answers and failures into
// words. What does not: sessions with servers (upstream), what tools look like (catalog),
// whether a call may be made (authz), and what is asked and recorded (engine).
//
// # Pins
//
// A tool counts as it was first seen. When its server describes it differently later, the
// old description stays what models and programs are shown, and a call needs a human who
// has seen what changed; after a yes the new definition is the accepted one.
//
// # Invariants
//
//   - Nothing is sent without a permit for exactly that call, and each permit sends once.
//   - Only here and in upstream is anything known of how servers are reached; nothing of it
//     is in what programs, models or records get.
package gateway
