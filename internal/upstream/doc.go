// Package upstream holds sessions with the MCP servers whose tools programs may call.
//
// What belongs here: what a configured server is ([Spec]), starting or reaching it,
// keeping a session with it, and what went wrong with it. What does not: which files
// servers are configured in (serverfile, below), which of their tools may be called
// (gateway), and how tools look to a program (catalog).
//
// # Invariants
//
//   - A server fails alone: nothing that it does delays or ends another one, or us.
//   - A server gets the environment that its operator declared for it, and no more than a
//     program needs to start beside it.
//   - What a server sends is a stranger's word, bounded in size before it is read.
package upstream
