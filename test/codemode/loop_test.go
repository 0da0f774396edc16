//go:build linux

package codemode

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// echoTool answers with its arguments.
func echoTool(_ context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var a any
	if err := json.Unmarshal(q.Params.Arguments, &a); err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: a}, nil
}

// 36 LOOP: no server is this program again.
func TestAServerThatIsThisProgramIsNotStarted(t *testing.T) {
	b := open(t, setting{servers: servers{
		"self":    {"command": gearbox(t), "args": []string{"serve"}},
		"shell":   {"command": "sh", "args": []string{"-c", "exec " + gearbox(t) + " serve"}},
		"env":     {"command": "env", "args": []string{gearbox(t), "serve"}},
		"good":    newPeer(t, "").entry(),
		"connect": {"command": gearbox(t), "args": []string{"connect"}},
	}})
	text := b.use("search_tools", map[string]any{"query": ""}).text
	has(t, text, "from tools import good", "# self is not available", "# connect is not available", "# env is not available")
}

// 36 LOOP: the calls of a run are counted.
func TestTenThousandCallsInALoopAreStoppedWithTheNameOfTheSetting(t *testing.T) {
	p := newPeer(t, "")
	b := open(t, setting{servers: servers{"s": p.entry()}})
	message := b.fails("from tools import s\nfor i in range(10_000):\n    s.echo(n=i)", "CallLimitExceeded")
	has(t, message, "limits.tool_calls", "100")
	if n := len(p.calls()); n != 100 {
		t.Errorf("%d calls were made", n)
	}
	// One who catches the error gets no further, and the next run begins anew.
	got := value[int](b, `
import tools
from tools import s
refused = 0
for i in range(300):
    try:
        s.echo(n=i)
    except tools.CallLimitExceeded:
        refused += 1
refused`, nil)
	if n := len(p.calls()); got != 200 || n != 200 {
		t.Errorf("%d refused, %d calls in all", got, n)
	}
}

// 36 LOOP: the server answers none of the calls before all of them are there.
func TestAHundredCallsByGatherAreAtTheServerTogether(t *testing.T) {
	for name, code := range map[string]string{
		"gather":   "r = await asyncio.gather(*(s.aio.together(n=i, many=100) for i in range(100)))",
		"parallel": "r = tools.parallel([(s.together, {'n': i, 'many': 100}) for i in range(100)])",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, "")
			b := open(t, setting{servers: servers{"s": p.entry(map[string]any{"max_concurrency": 128})}})
			got := value[int](b, "import tools, asyncio\nfrom tools import s\n"+code+"\nlen({x['id'] for x in r})", nil)
			if most := strings.TrimSpace(p.noted("most")); got != 100 || most != "100" {
				t.Errorf("%d answers, %s at once", got, most)
			}
		})
	}
}

func TestNoMoreCallsAreAtAServerThanIsConfigured(t *testing.T) {
	p := newPeer(t, "counts")
	b := open(t, setting{servers: servers{"s": p.entry(map[string]any{"max_concurrency": 3})}})
	if got := value[int](b, "import asyncio\nfrom tools import s\nlen(await asyncio.gather(*(s.aio.together(n=i, many=3) for i in range(30))))", nil); got != 30 {
		t.Error(got)
	}
	if most := p.noted("most"); most != strings.Repeat("3\n", 10) {
		t.Errorf("%q", most)
	}
}
