package mcpserver

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/snippet"
)

// Snippets are scripts that the operator saved. It is safe for concurrent use.
type Snippets interface {
	// Offered are those that are listed, in order. They stay the same.
	Offered() []snippet.Snippet
	// Load is the one of a name as it is now. The error is a *[execution.RejectedError]
	// when it was removed, or is not what was saved.
	Load(ctx context.Context, name string) (snippet.Snippet, error)
}

// SnippetTool is the tool that a snippet is called by.
func SnippetTool(name string) string { return "snippet_" + name }

// snippetTools are a tool for each snippet in one of the languages. They are listed as they
// were when the server started, as all tools are.
func (s *service) snippetTools(languages []execution.Language) []tool {
	var tools []tool
	for _, one := range s.snippets.Offered() {
		if slices.Contains(languages, one.Language) {
			tools = append(tools, tool{snippetTool(one), s.snippet(one)})
		}
	}
	return tools
}

func snippetTool(s snippet.Snippet) *mcp.Tool {
	properties, required := make([]property, 0, len(s.Parameters)), []string(nil)
	for _, p := range s.Parameters {
		properties = append(properties, property{p.Name, p.Schema()})
		if p.Default == nil {
			required = append(required, p.Name)
		}
	}
	description := s.Description
	if description != "" {
		description += "\n"
	}
	return &mcp.Tool{
		Name:        SnippetTool(s.Name),
		Description: description + "A script that the operator saved. It runs, and answers, as with execute.",
		Annotations: runs("Run " + s.Name),
		InputSchema: object(properties, required...),
	}
}

// snippet runs one that was offered, provided that it is still the same: what a client was
// told of it would be wrong otherwise.
func (s *service) snippet(offered snippet.Snippet) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	pin := offered.Pin()
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args map[string]json.RawMessage
		if err := decode(req.Params.Arguments, &args); err != nil {
			return nil, err
		}
		now, err := s.snippets.Load(ctx, offered.Name)
		if err != nil {
			return nil, err
		}
		if now.Pin() != pin {
			return nil, &execution.RejectedError{
				Code:    execution.CodeUnavailable,
				Message: "the operator has saved another snippet " + offered.Name + " since this server started, which serves it from its next start on",
			}
		}
		r, err := now.Request(args, s.caller.Principal, client(req))
		if err != nil {
			return nil, err
		}
		return s.answerTo(ctx, req, r, s.patience(ctx, req, false, execution.DefaultWait))
	}
}
