// Command codemode counts what a model reads and writes, and how often it is asked, to do
// the same tasks with the tools of three MCP servers: by direct calls, as a client does that
// has the servers configured, and by programs, as a client of Gearbox does.
//
// Each task is two scripted traces. What a model would say stands in them; what it would
// read is the real answer of the real server, and both have to come to the same result. It
// writes docs/benchmarks-code-mode.md.
//
//	go run ./test/bench/codemode [-gearbox BINARY] [-o FILE]
//
// What belongs here: tasks, traces, counting. What does not: anything timed, which is in
// the command above.
package main
