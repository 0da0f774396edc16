package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/test/model"
)

const shopping = "from tools import shop\nsum(shop.price(name=n)['cents'] for n in ('apple', 'pear'))"

func TestAnAgentCallsToolsOfOtherServers(t *testing.T) {
	dir, servers := t.TempDir(), serversFile(t, "shop")
	if exec.CommandContext(t.Context(), "gearbox", "doctor", "--data-dir", dir).Run() != nil {
		t.Skip("skipped: no sandbox on this machine: gearbox doctor says why")
	}
	t.Run("on the command line", func(t *testing.T) {
		s := model.Start(t, model.OpenAI, modelKey, python("from tools import shop\nshop.price(name='plum')"), python(shopping))
		out, errOut, exit := solve(t, dir, s, model.OpenAI, "--mcp-servers", servers, "--allow", "tool(shop.price)", "what do an apple and a pear cost?")
		if exit != 0 || out != "75\n" {
			t.Errorf("exit %d, %q, %s", exit, out, errOut)
		}
		q := s.Requests()
		if !strings.Contains(q[0].System, "def price(*, name: str)") || !strings.Contains(q[0].System, "Look a price up, in cents.") {
			t.Errorf("the model was told %s", q[0].System)
		}
		if told := q[1].Last(); !strings.Contains(told, "ToolError: there is no plum") {
			t.Errorf("the error went back as %s", told)
		}
	})
	t.Run("a call that is refused goes back to the model", func(t *testing.T) {
		s := model.Start(t, model.Anthropic, modelKey, python("from tools import shop\nshop.buy(name='pear')"), python("'not permitted'"))
		out, errOut, exit := solve(t, dir, s, model.Anthropic, "--mcp-servers", servers, "--deny", "tool(shop.buy)", "buy a pear")
		if exit != 0 || out != "'not permitted'\n" {
			t.Errorf("exit %d, %q, %s", exit, out, errOut)
		}
		if told := s.Requests()[1].Last(); !strings.Contains(told, "tool(shop.buy)") {
			t.Errorf("the refusal went back as %s", told)
		}
	})
	t.Run("over MCP", func(t *testing.T) { overMCP(t, dir, servers) })
	t.Run("in the metrics", func(t *testing.T) { inMetrics(t, dir, servers) })
}

func overMCP(t *testing.T, dir, servers string) {
	s := model.Start(t, model.OpenAI, modelKey,
		python("from tools import shop\nshop.buy(name='pear')"), python(shopping), model.Reply{Status: 401, Text: "no"})
	cmd := exec.CommandContext(t.Context(), "gearbox", "serve", "--data-dir", dir, "--mcp-servers", servers, "--allow", "tool(shop.price)", "--deny", "tool(shop.buy)",
		"--agent-model", model.Name, "--agent-base-url", s.URL())
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY="+modelKey)
	var said transcript
	cmd.Stderr = &said
	var mu sync.Mutex
	var told []string
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, n.Params.Message)
		},
	})
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close() //nolint:errcheck // its end is that of the test
	call := func(arguments map[string]any) (string, bool) {
		p := &mcp.CallToolParams{Name: "run_agent", Arguments: arguments}
		p.SetProgressToken("task")
		res, err := session.CallTool(t.Context(), p)
		if err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		return res.Content[0].(*mcp.TextContent).Text, res.IsError
	}
	text, failed := call(map[string]any{"task": "buy, or else tell the price", "timeout": 60})
	want := "✅ **Task Complete**\n\n### Execution Output\n```\n75\n```\n\n### Generated Code\n```python\n" + shopping + "\n```\n"
	if failed || text != want {
		t.Errorf("%v: %s", failed, text)
	}
	mu.Lock()
	if !slices.Contains(told, "the model is thinking") || !slices.Contains(told, "program 1 runs") {
		t.Errorf("progress: %q", told)
	}
	mu.Unlock()
	if text, failed := call(map[string]any{"task": "again"}); !failed || !strings.Contains(text, "❌ **Task Failed**\n\nask the model: ") || strings.Contains(text, modelKey) {
		t.Errorf("%v: %s", failed, text)
	}
	for field, arguments := range map[string]map[string]any{"task": {"task": " "}, "timeout": {"task": "x", "timeout": 0}} {
		if text, failed := call(arguments); !failed || !strings.Contains(text, field+": ") {
			t.Errorf("%v: %v, %s", arguments, failed, text)
		}
	}
	isTold(t, dir, servers)
}

// isTold looks for the server where an operator would.
func isTold(t *testing.T, dir, servers string) {
	t.Helper()
	for want, args := range map[string][]string{
		"shop  ready, 4 tools": {"status"},
		"ready (process ":      {"upstream", "list", "--mcp-servers", servers},
		"server shop":          {"doctor", "--mcp-servers", servers, "--python", "nowhere/python"},
		"4 tools over stdio":   {"doctor", "--mcp-servers", servers, "--python", "nowhere/python"},
	} {
		if out, errOut, _ := gearboxIn(t, dir, args...); !strings.Contains(out, want) {
			t.Errorf("%v: %q is not in %s%s", args, want, out, errOut)
		}
	}
}

func inMetrics(t *testing.T, dir, servers string) {
	w := startHTTP(t, 1, "--http", "127.0.0.1:0", "--data-dir", dir, "--mcp-servers", servers, "--allow", "tool(shop.price)")
	defer w.stop(os.Interrupt)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: w.addresses[0] + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close() //nolint:errcheck // its end is that of the test
	for _, name := range []string{"pear", "plum"} {
		arguments := map[string]any{"name": "shop.price", "arguments": map[string]string{"name": name}}
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: arguments}); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.addresses[0]+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`gearbox_upstream_calls_total{outcome="ok",server="shop"} 1`,
		`gearbox_upstream_calls_total{outcome="failed",server="shop"} 1`,
		`gearbox_upstream_call_duration_seconds_count{server="shop"} 2`,
		`gearbox_decisions_total{effect="allow",moment="tool_call"} 2`,
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("%s is not in the metrics", line)
		}
	}
}
