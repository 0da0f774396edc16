// Package crash proves that nothing is lost: it kills servers, fills their disk, stops
// them and loads them for long, and compares what clients were told with what the
// records hold afterwards. It drives the real binary from outside, over MCP on stdio,
// on a loopback port and on a Unix socket, and by the command line, and keeps its own
// picture of the wire.
//
// What belongs here is what needs whole processes and their death. How the records
// behave in one process is tested beside them, in internal/store.
package crash
