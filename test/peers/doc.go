// Package peers tries on Gearbox what people have reported against other servers
// that run code: each kind of report by its number and name, with the right
// answer beside it. It drives the real binary from outside, over MCP on stdio and
// by the command line, and keeps its own picture of the wire.
//
// Attacks are tried in test/escape, hostile loads in many runs at once too. What
// belongs here is trouble that honest programs and careless ones cause.
package peers
