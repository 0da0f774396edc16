package e2e

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// board is an MCP server of somebody else's, with one tool that pins a note and answers how
// it looks.
func board() {
	s := mcp.NewServer(&mcp.Implementation{Name: "board", Version: "1"}, nil)
	type note struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "pin", Description: "Pin a note."}, func(_ context.Context, _ *mcp.CallToolRequest, n note) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "pinned " + n.Text}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("a picture")},
		}}, nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}
