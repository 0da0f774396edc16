package mcpserver

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The tools that are about operations have other ways beside them, which the same rights
// open.
const (
	getOperationName    = "get_operation"
	cancelOperationName = "cancel_operation"
)

// streams are the names of what a program writes to.
var streams = [...]string{"stdout", "stderr"}

// defaultTools are the tools, in the order in which they are listed.
func (s *service) defaultTools(languages []execution.Language) []tool {
	tools := []tool{
		{getOperationTool(), s.getOperation},
		{cancelOperationTool(), s.cancelOperation},
		{listPackagesTool(), s.listPackages},
	}
	if len(languages) == 0 {
		return tools // nothing could be run
	}
	return append([]tool{{executeTool(languages), s.execute}}, tools...)
}

func executeTool(languages []execution.Language) *mcp.Tool {
	limits := execution.DefaultLimits()
	what, value, variables := "Run Python", asNotebook, "JSON values that become Python globals."
	which, required := &jsonschema.Schema{Type: "string", Description: "python", Default: json.RawMessage(`"python"`)}, []string{"code"}
	switch bash := slices.Contains(languages, execution.Bash); {
	case bash && slices.Contains(languages, execution.Python):
		what, which.Description = "Run Python or bash", "python or bash"
		variables = "JSON values that become Python globals, in bash environment variables."
	case bash:
		what, value, variables = "Run bash", "", "JSON values that become environment variables."
		which.Description, which.Default, required = "bash", nil, []string{"code", "language"}
	}
	return &mcp.Tool{
		Name: "execute",
		Description: what + " in a sandbox and get its output. " + value + "Every call starts fresh: nothing is kept from earlier calls. The working directory is /workspace. " +
			"Code that needs more than the operator permits is refused before it runs, with the line and what to change, or waits for the user's approval.",
		Annotations: runs("Run code"),
		InputSchema: object([]property{
			{"code", &jsonschema.Schema{Type: "string", Description: "The source to run."}},
			{"language", which},
			{"timeout_seconds", timeoutSchema(limits.MaxTimeout)},
			waitProperty(),
			{"stdin", &jsonschema.Schema{Type: "string", Description: "Text on the standard input."}},
			{"variables", &jsonschema.Schema{Type: "object", Description: variables}},
			{"files", filesSchema()},
			{"gear", &jsonschema.Schema{Type: "string", Description: "Run under this gear too: the stricter of it and the server's holds."}},
		}, required...),
	}
}

const asNotebook = "As in a notebook, the value of the last Python expression is returned and top-level await works. "

func filesSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "array", Description: "Files to put into /workspace first.", MaxItems: new(execution.MaxFiles),
		Items: object([]property{
			{"path", &jsonschema.Schema{Type: "string", Description: "Relative to /workspace."}},
			{"text", &jsonschema.Schema{Type: "string", Description: "The content as text; or else base64."}},
			{"base64", &jsonschema.Schema{Type: "string", Description: "The content as base64."}},
		}, "path"),
	}
}

func getOperationTool() *mcp.Tool {
	return &mcp.Tool{
		Name: getOperationName,
		Description: "Ask how an execution stands, waiting for its end if it still runs. " +
			"With stream, read the part of its output that an answer left out.",
		Annotations: reads("Get an operation"),
		InputSchema: object([]property{
			operationProperty(),
			waitProperty(),
			{"stream", &jsonschema.Schema{Type: "string", Enum: []any{streams[0], streams[1]}, Description: "Read this stream instead of the answer."}},
			{"output_offset", &jsonschema.Schema{Type: "integer", Minimum: new(0.0), Description: "Read from this byte on."}},
		}, "operation_id"),
	}
}

func cancelOperationTool() *mcp.Tool {
	return &mcp.Tool{
		Name:        cancelOperationName,
		Description: "End an execution that still runs, with all its processes. What has ended stays as it is.",
		Annotations: &mcp.ToolAnnotations{
			Title: "Cancel an operation", DestructiveHint: new(false), IdempotentHint: true, OpenWorldHint: new(false),
		},
		InputSchema: object([]property{operationProperty()}, "operation_id"),
	}
}

func listPackagesTool() *mcp.Tool {
	return &mcp.Tool{
		Name:        "list_packages",
		Description: "List the Python packages that code can import beside the standard library, with versions.",
		Annotations: reads("List packages"),
		InputSchema: object([]property{
			{"query", &jsonschema.Schema{Type: "string", Description: "Only packages whose name or import name contains this."}},
		}),
	}
}

// runs marks a tool that runs code. Whether that destroys anything or reaches
// the world is up to the gear and to whom the operator lets through: a host that
// asks its user by these hints should ask.
func runs(title string) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{Title: title, DestructiveHint: new(true), OpenWorldHint: new(true)}
}

func reads(title string) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		Title: title, ReadOnlyHint: true, DestructiveHint: new(false), IdempotentHint: true, OpenWorldHint: new(false),
	}
}

type property struct {
	name   string
	schema *jsonschema.Schema
}

// object is the schema of an object that has these properties and no other.
func object(properties []property, required ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{}, Required: required,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, p := range properties {
		s.Properties[p.name] = p.schema
		s.PropertyOrder = append(s.PropertyOrder, p.name)
	}
	return s
}

func number(description string, most time.Duration) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "number", Description: description, Maximum: new(most.Seconds())}
}

// timeoutSchema excludes 0: a run without any time is no run.
func timeoutSchema(most time.Duration) *jsonschema.Schema {
	s := number("End the run after so many seconds; the gear sets the default and the most.", most)
	s.ExclusiveMinimum = new(0.0)
	return s
}

func waitProperty() property {
	s := number("Wait at most so long for the end; after that the answer is \"running\". Only when it is given, the call waits for a human who is asked, too.", execution.MaxWait)
	s.Minimum = new(0.0)
	s.Default = json.RawMessage(strconv.Itoa(int(execution.DefaultWait.Seconds())))
	return property{"wait_seconds", s}
}

func operationProperty() property {
	return property{"operation_id", &jsonschema.Schema{Type: "string", Description: "From the answer of execute."}}
}

// ToolNames lists every tool that a server may offer, with every compatibility profile.
func ToolNames() []string {
	s := &service{Server: &Server{}}
	tools := append(s.defaultTools([]execution.Language{execution.Python}), s.toolboxTools(nil)...)
	tools = append(tools, s.runAgentTool())
	for _, name := range Profiles() {
		if p, err := profile(name); err == nil {
			tools = append(tools, p(s))
		}
	}
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		names = append(names, t.definition.Name)
	}
	return names
}
