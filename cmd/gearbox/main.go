// Command gearbox runs code for AI agents in a kernel sandbox, over MCP.
//
// Only the entry belongs here: the hook of re-executed sandbox processes, the
// signals, and the exit code. Everything else is in internal/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/gearbox-mcp/gearbox/internal/cli"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func main() {
	sidecar.Reexec() // first: a sandbox process must not run any of what follows
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly end; a second one has its usual effect.
	defer context.AfterFunc(ctx, stop)()
	return cli.Main(ctx, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args[1:])
}
