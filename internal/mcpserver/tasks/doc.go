// Package tasks is the extension io.modelcontextprotocol/tasks of the protocol version
// 2026-07-28 (SEP-2663): a call of a tool may be answered with a task, which the client
// asks about until it has ended.
//
// What belongs here: the methods, who may use them, and the form of what goes over the
// wire. What a task is about and who may see it is for the [Book] that keeps it; a book
// is made for one caller.
//
// # Invariants
//
//   - Only a client that declares the extension with the request gets a task.
//   - Nothing is kept here: a task is what its book says at that moment.
package tasks
