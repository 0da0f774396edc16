package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// shelf is a toolbox that tells what it was asked.
type shelf struct{}

func (shelf) Search(_ context.Context, query, server string, limit int, detail string) (string, error) {
	return fmt.Sprintf("search %q %q %d %q", query, server, limit, detail), nil
}

func (shelf) Describe(_ context.Context, names []string, detail string) (string, error) {
	return fmt.Sprintf("describe %v %q", names, detail), nil
}

func (shelf) Stub(_ context.Context, server string) (string, error) {
	if server != "files" {
		return "", &execution.RejectedError{Code: execution.CodeNotFound, Message: "no such server"}
	}
	return "def read(*, path: str) -> str: ...\n", nil
}

func (shelf) Servers() []ToolServer { return []ToolServer{{"files", "The operator's files."}} }

func (shelf) Instructions() string { return "Tools: files." }

func (shelf) Details() []string { return []string{"name", "signature", "full"} }

func TestToolsOfOtherServersAreListedByConfiguration(t *testing.T) {
	for _, c := range []struct {
		toolbox Toolbox
		want    bool
	}{{nil, false}, {shelf{}, true}} {
		s, _ := newServer(t, Config{Toolbox: c.toolbox})
		session := connect(t, s, "2025-11-25", nil)
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range list.Tools {
			names = append(names, one.Name)
		}
		if got := slices.Contains(names, "search_tools") && slices.Contains(names, "describe_tools") && slices.Contains(names, "call_tool"); got != c.want {
			t.Errorf("%v", names)
		}
		if strings.Contains(session.InitializeResult().Instructions, "Tools: files.") != c.want {
			t.Errorf("%s", session.InitializeResult().Instructions)
		}
	}
}

func TestSearchesAndDescriptionsAreBounded(t *testing.T) {
	s, _ := newServer(t, Config{Toolbox: shelf{}})
	session := connect(t, s, "2025-11-25", nil)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"search_tools", map[string]any{"query": "read a file"}, `search "read a file" "" 10 ""`},
		{"search_tools", map[string]any{"query": "", "server": "files", "limit": 50, "detail": "name"}, `search "" "files" 50 "name"`},
		{"search_tools", map[string]any{"query": "", "limit": 51}, "limit: 51: must be from 1 to 50"},
		{"describe_tools", map[string]any{"names": []string{"files.read"}}, `describe [files.read] ""`},
		{"describe_tools", map[string]any{"names": []string{}}, "names: 0 names: must be from 1 to 50"},
	} {
		if got := textOf(call(t, session, c.tool, c.args)); !strings.Contains(got, c.want) {
			t.Errorf("%s %v: %s", c.tool, c.args, got)
		}
	}
}

func TestACallOfAToolIsSubmittedAsAnOperationAndItsPicturesArePassedOn(t *testing.T) {
	source, err := execution.Call{Tool: "files.read", Arguments: json.RawMessage(`{"path":null}`)}.Source()
	if err != nil {
		t.Fatal(err)
	}
	engine := newEngine(map[string]execution.Result{source: {
		Status: execution.StatusOK, Stdout: "text", Value: json.RawMessage(`{"a":1}`),
		Attachments: []execution.Attachment{
			{MIME: "image/png", Data: []byte{1}},
			{MIME: "audio/wav", Data: []byte{2}},
			{MIME: "application/pdf", Data: []byte{3}, URI: "file:///a.pdf"},
			{URI: "file:///b", Name: "b"},
		},
	}})
	s, _ := newServer(t, Config{Engine: engine, Toolbox: shelf{}})
	session := connect(t, s, "2025-11-25", nil)
	res := call(t, session, "call_tool", map[string]any{"name": "files.read", "arguments": map[string]any{"path": nil}})
	if len(engine.requests) != 1 || engine.requests[0].Language != execution.Tool {
		t.Fatalf("%+v", engine.requests)
	}
	want := []string{"*mcp.TextContent", "*mcp.ImageContent", "*mcp.AudioContent", "*mcp.EmbeddedResource", "*mcp.ResourceLink"}
	id := res.Meta[answerKey].(map[string]any)["operation_id"]
	later := call(t, session, "get_operation", map[string]any{"operation_id": id}) // as after a human's yes
	for _, res := range []*mcp.CallToolResult{res, later} {
		var kinds []string
		for _, c := range res.Content {
			kinds = append(kinds, fmt.Sprintf("%T", c))
		}
		if !slices.Equal(kinds, want) || res.StructuredContent != nil || res.Meta[answerKey] == nil || res.IsError {
			t.Errorf("%v, %+v", kinds, res)
		}
	}
}

func TestStubsAreResources(t *testing.T) {
	s, _ := newServer(t, Config{Toolbox: shelf{}})
	session := connect(t, s, "2025-11-25", nil)
	read := func(uri string) (string, error) {
		res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return "", err
		}
		return res.Contents[0].Text, nil
	}
	if text, err := read("tools://files.pyi"); err != nil || !strings.HasPrefix(text, "def read") {
		t.Errorf("%q %v", text, err)
	}
	if text, err := read("tools://"); err != nil || !strings.Contains(text, "tools://files.pyi  The operator's files.") {
		t.Errorf("%q %v", text, err)
	}
	if _, err := read("tools://others.pyi"); err == nil {
		t.Error("a stub of a server that is not there")
	}
}
