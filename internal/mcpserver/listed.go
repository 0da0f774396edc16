package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Tools are those that a server lists which was not told otherwise, in order.
func Tools() []*mcp.Tool {
	var all []*mcp.Tool
	for _, t := range (&service{}).defaultTools([]execution.Language{execution.Python, execution.Bash}) {
		all = append(all, t.definition)
	}
	return all
}
