// Package approvals proves that a human's yes holds: that it is asked for, outlives every
// server, is used once and for exactly what was shown, and that neither an agent with all
// of the protocol nor its code in the sandbox comes by one. It drives the real binary over
// MCP on stdio and over HTTP, and takes decisions at the desk of internal/approval, on the
// data directory of the running servers, as every way of answering does.
//
// How each way of answering works is tested beside it; what belongs here is what must hold
// whichever is used, and needs whole servers, their death, or somebody who cheats.
package approvals
