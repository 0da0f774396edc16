//go:build linux && (amd64 || arm64)

// Command bench measures Gearbox and what else runs Python, side by side in one
// run on one machine, and writes docs/benchmarks.md.
//
// Whatever is compared takes turns: one lap of each, again and again, so that a
// busy minute hits all alike, and ratios are medians over the turns. A row that
// cannot be measured says why, and the run goes on. Nothing here is a test: what
// must not get worse is held by tests that count instead of timing. It needs Linux:
// nothing else has the sandbox.
//
//	go run ./test/bench [-only REGEXP] [-n LAPS] [-quick] [-gearbox BINARY] [-o FILE] [-save FILE]
package main
