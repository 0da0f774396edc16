package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Toolbox tells of the tools of other servers that programs may call. It is safe for
// concurrent use. Search, Describe and Stub wait for servers that are still being started.
// The error is a *[execution.RejectedError] when the caller can mend it.
type Toolbox interface {
	Search(ctx context.Context, query, server string, limit int, detail string) (string, error)
	Describe(ctx context.Context, names []string, detail string) (string, error)
	// Stub is the Python stub file of a server.
	Stub(ctx context.Context, server string) (string, error)
	// Servers are the configured servers, in order.
	Servers() []ToolServer
	// Instructions say what a model should know of the tools at the start. It waits for
	// nothing.
	Instructions() string
	// Details are the levels of detail, the shortest first.
	Details() []string
}

// ToolServer is one configured server.
type ToolServer struct {
	Name, Description string
}

// The tools that are there when servers are configured.
const (
	searchToolsName   = "search_tools"
	describeToolsName = "describe_tools"
	callToolName      = "call_tool"
)

// mostFound bounds what a search answers.
const mostFound = 50

// toolboxTools are listed by configuration, whether or not a server is there yet.
func (s *service) toolboxTools(details []string) []tool {
	levels := make([]any, 0, len(details))
	for _, d := range details {
		levels = append(levels, d)
	}
	detail := func(by string) property {
		return property{"detail", &jsonschema.Schema{
			Type: "string", Enum: levels, Default: json.RawMessage(fmt.Sprintf("%q", by)), Description: "How much to tell of each tool.",
		}}
	}
	return []tool{
		{&mcp.Tool{
			Name: searchToolsName,
			Description: "Find tools of the connected MCP servers by what they do. Python code calls them as functions: " +
				"from tools import SERVER; SERVER.TOOL(name=value). One script can call many.",
			Annotations: reads("Search tools"),
			InputSchema: object([]property{
				{"query", &jsonschema.Schema{Type: "string", Description: "What the tool should do. Empty lists all."}},
				{"server", &jsonschema.Schema{Type: "string", Description: "Only tools of this server."}},
				{"limit", &jsonschema.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(float64(mostFound)), Default: json.RawMessage("10"), Description: "The most to return."}},
				detail("signature"),
			}, "query"),
		}, s.searchTools},
		{&mcp.Tool{
			Name:        describeToolsName,
			Description: "Describe tools of the connected MCP servers: parameters, what they return, what they need.",
			Annotations: reads("Describe tools"),
			InputSchema: object([]property{
				{"names", &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: new(1), MaxItems: new(mostFound), Description: "As search_tools writes them: server.tool."}},
				detail("full"),
			}, "names"),
		}, s.describeTools},
		{&mcp.Tool{
			Name: callToolName,
			Description: "Call one tool of a connected MCP server directly. For several calls, or when only a part of what they return matters, " +
				"write Python with execute instead. A call that the operator has to approve waits for that.",
			Annotations: runs("Call a tool"),
			InputSchema: object([]property{
				{"name", &jsonschema.Schema{Type: "string", Description: "As search_tools writes it: server.tool."}},
				{"arguments", &jsonschema.Schema{Type: "object", Description: "The tool's own arguments."}},
			}, "name"),
		}, s.callTool},
	}
}

type searchArguments struct {
	Query  string `json:"query"`
	Server string `json:"server"`
	Limit  *int   `json:"limit"`
	Detail string `json:"detail"`
}

func (s *service) searchTools(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args searchArguments
	if err := decode(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	limit := 10
	if args.Limit != nil {
		limit = *args.Limit
	}
	if limit < 1 || limit > mostFound {
		return nil, refuse("limit", "%d: must be from 1 to %d", limit, mostFound)
	}
	text, err := s.toolbox.Search(ctx, args.Query, args.Server, limit, args.Detail)
	return s.told(text), err
}

type describeArguments struct {
	Names  []string `json:"names"`
	Detail string   `json:"detail"`
}

func (s *service) describeTools(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args describeArguments
	if err := decode(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	if len(args.Names) == 0 || len(args.Names) > mostFound {
		return nil, refuse("names", "%d names: must be from 1 to %d", len(args.Names), mostFound)
	}
	text, err := s.toolbox.Describe(ctx, args.Names, args.Detail)
	return s.told(text), err
}

// told answers with text that others wrote, which is cut where it is very long.
func (s *service) told(text string) *mcp.CallToolResult {
	return plainText(cut(text, Shown, leftOut).text, false)
}

type callArguments struct {
	Name      string                     `json:"name"`
	Arguments map[string]json.RawMessage `json:"arguments"`
}

func (s *service) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args callArguments
	if err := decode(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	if args.Name == "" {
		return nil, refuse("name", "required: server.tool, as search_tools writes it")
	}
	if args.Arguments == nil {
		args.Arguments = map[string]json.RawMessage{} // an empty object, not null
	}
	arguments, err := json.Marshal(args.Arguments)
	if err != nil {
		return nil, refuse("arguments", "%v", err)
	}
	source, err := execution.Call{Tool: args.Name, Arguments: arguments}.Source()
	if err != nil {
		return nil, err
	}
	r := execution.Request{Principal: s.caller.Principal, Client: client(req), Language: execution.Tool, Code: source}
	res, err := s.submit(ctx, req, r, patience{most: execution.DefaultWait})
	if err != nil {
		return nil, err
	}
	return s.answer(res), nil
}

// withAttachments adds what a tool answered beside text.
func withAttachments(res *mcp.CallToolResult, all []execution.Attachment) *mcp.CallToolResult {
	if len(all) == 0 {
		return res
	}
	// Pictures go into the content, and then nothing is structured: some clients drop
	// pictures when it is.
	res.Meta, res.StructuredContent = mcp.Meta{answerKey: res.StructuredContent}, nil
	for _, a := range all {
		res.Content = append(res.Content, content(a))
	}
	return res
}

// answerKey is where a structured answer stands beside pictures.
const answerKey = "gearbox/answer"

func content(a execution.Attachment) mcp.Content {
	switch kind, _, _ := strings.Cut(a.MIME, "/"); {
	case a.Data == nil:
		return &mcp.ResourceLink{URI: a.URI, Name: a.Name, MIMEType: a.MIME}
	case kind == "image":
		return &mcp.ImageContent{Data: a.Data, MIMEType: a.MIME}
	case kind == "audio":
		return &mcp.AudioContent{Data: a.Data, MIMEType: a.MIME}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: a.URI, MIMEType: a.MIME, Blob: a.Data}}
}
