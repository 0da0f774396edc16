// Package mcpserver is the edge towards agents: it speaks the Model Context
// Protocol over whatever transport it is given.
//
// What belongs here: the tools with their schemas, the strict decoding of their
// arguments, the mapping of an [execution.Result] to what a client and a model
// read, the resources, the compatibility profiles, and the published schema of
// the answer. What does not: any decision on whether code may run, and anything
// about how it runs. Errors are mapped outward here and nowhere else.
//
// Invariants:
//   - A malformed call is a tool result with isError and status "rejected",
//     never a protocol error: a model reads the first and mends its call, a host
//     shows the second to nobody.
//   - The text of an answer is complete without the structured content, and the
//     other way round, because clients show a model one or the other.
//   - No tool declares an output schema: official clients then refuse an answer
//     without structured content, and some drop pictures where there is one.
//   - Answering initialize and server/discover touches neither engine nor environment.
package mcpserver
