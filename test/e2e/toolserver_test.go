package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolserver is an MCP server over stdio with a few tools. Its argument, if there is one, is
// the description of the first.
func toolserver() {
	about := "Look a price up, in cents."
	if len(os.Args) > 1 {
		about = os.Args[1]
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "price", Description: about}, price)
	mcp.AddTool(s, &mcp.Tool{Name: "buy", Description: "Buy something."}, func(_ context.Context, _ *mcp.CallToolRequest, in item) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "bought " + in.Name}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Say it again."}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Message string `json:"message"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "get-sum", Description: "Add two numbers."}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(in.A + in.B)}}}, nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

type item struct {
	Name string `json:"name" jsonschema:"what it is called"`
}

func price(_ context.Context, _ *mcp.CallToolRequest, in item) (*mcp.CallToolResult, map[string]int, error) {
	cents, known := map[string]int{"apple": 30, "pear": 45}[in.Name]
	if !known {
		return nil, nil, errors.New("there is no " + in.Name)
	}
	return nil, map[string]int{"cents": cents}, nil
}

// serversFile configures it under a name.
func serversFile(t *testing.T, name string) string {
	t.Helper()
	program, err := exec.LookPath("toolserver")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"servers": map[string]any{name: map[string]any{"command": program}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
