//go:build linux && (amd64 || arm64)

package main

// groups are the parts of a run in their order.
func groups() []group {
	return []group{
		{"starts", "a process for each run", starts},
		{"warm", "a warm interpreter", warm},
		{"profile", "what a warm run is made of", profile},
		{"mcp", "over MCP", overMCP},
		{"calls", "calls of tools from inside the sandbox", calls},
		{"data", "a data frame", tables},
		{"load", "many at once", concurrency},
		{"fresh", "a fresh server", fresh},
		{"memory", "memory of an idle server", memory},
		{"bounds", "time limits and analysis", bounds},
		{"peers", "other projects", peers},
	}
}
