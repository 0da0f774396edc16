// Package approval takes the answers of humans to the questions that the door puts. Each
// way by which an answer comes, a terminal, the API or a prompt, hands it in at the one
// [Desk], where it is checked, recorded with who gave it, and given exactly once.
//
// What may be asked is decided in authz, and what happens after a yes in engine. Nothing
// here is reachable from a sandbox or by a message of the agents' protocol.
package approval
