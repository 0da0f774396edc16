// Command gearbox runs code for AI agents in a kernel sandbox, over MCP.
//
// Only the entry belongs here: the hook of re-executed sandbox processes and the
// exit code. Everything else is in internal/cli.
package main

import (
	"os"

	"github.com/gearbox-mcp/gearbox/internal/cli"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func main() {
	sidecar.Reexec() // first: a sandbox process must not run any of what follows
	os.Exit(cli.Process())
}
