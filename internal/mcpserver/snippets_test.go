package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/snippet"
)

// saved are snippets of which the last is what is loaded.
type saved struct {
	offered []snippet.Snippet
	now     map[string]snippet.Snippet
}

func (s saved) Offered() []snippet.Snippet { return s.offered }

func (s saved) Load(_ context.Context, name string) (snippet.Snippet, error) {
	if one, ok := s.now[name]; ok {
		return one, nil
	}
	return snippet.Snippet{}, &execution.RejectedError{Code: execution.CodeNotFound, Message: "removed"}
}

func scripts() saved {
	total := snippet.Snippet{
		Name: "total", Description: "Adds numbers up.", Language: execution.Python, Code: "sum(numbers, start)",
		Parameters: []snippet.Parameter{{Name: "numbers", Type: snippet.Array}, {Name: "start", Type: snippet.Number, Default: json.RawMessage("0")}},
	}
	today := snippet.Snippet{Name: "today", Language: execution.Bash, Code: "date"}
	gone, changed := total, total
	gone.Name, changed.Name = "gone", "changed"
	other := changed
	other.Code = "0"
	return saved{[]snippet.Snippet{changed, gone, today, total}, map[string]snippet.Snippet{"total": total, "today": today, "changed": other}}
}

func TestSnippetsAreToolsBehindTheOthersInOrder(t *testing.T) {
	both := []execution.Language{execution.Python, execution.Bash}
	for _, c := range []struct {
		caller execution.Caller
		want   string
	}{
		{execution.Caller{Principal: "a"}, "snippet_changed snippet_gone snippet_today snippet_total"},
		{execution.Caller{Principal: "a", Languages: []execution.Language{execution.Bash}}, "snippet_today"},
		{execution.Caller{Principal: "a", Tools: []string{"snippet_total"}}, "snippet_total"},
		{execution.Caller{Principal: "a", Tools: []string{"execute"}}, ""},
	} {
		s, _ := newServer(t, Config{Languages: both, Snippets: scripts(), Toolbox: shelf{}})
		sv, err := s.serviceFor(c.caller)
		if err != nil {
			t.Fatal(err)
		}
		tools, err := sv.offered()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range tools {
			if name := one.definition.Name; strings.HasPrefix(name, "snippet_") {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%+v: %s", c.caller, got)
		}
		for i, one := range tools {
			if behind := i >= len(tools)-len(names); behind != strings.HasPrefix(one.definition.Name, "snippet_") {
				t.Errorf("%s is at %d of %d", one.definition.Name, i, len(tools))
			}
		}
	}
}

func TestTheSchemaOfASnippetIsItsParameters(t *testing.T) {
	s, _ := newServer(t, Config{Snippets: scripts()})
	list, err := connect(t, s, "2025-11-25", nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(list.Tools[len(list.Tools)-1])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"annotations":{"destructiveHint":true,"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false,"title":"Run total"},` +
		`"description":"Adds numbers up.\nA script that the operator saved. It runs, and answers, as with execute.",` +
		`"inputSchema":{"additionalProperties":false,"properties":{"numbers":{"type":"array"},"start":{"default":0,"type":"number"}},"required":["numbers"],"type":"object"},` +
		`"name":"snippet_total"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestACallOfASnippetIsSubmittedLikeAnyCode(t *testing.T) {
	engine := newEngine(map[string]execution.Result{"sum(numbers, start)": {Status: execution.StatusOK, Value: json.RawMessage("6")}})
	s, _ := newServer(t, Config{Engine: engine, Snippets: scripts()})
	res := call(t, connect(t, s, "2025-11-25", nil), "snippet_total", map[string]any{"numbers": []any{1, 2, nil}})
	if res.IsError || len(engine.requests) != 1 {
		t.Fatalf("%s, %+v", textOf(res), engine.requests)
	}
	r := engine.requests[0]
	pin := scripts().now["total"].Pin()
	if r.Code != "sum(numbers, start)" || string(r.Variables["numbers"]) != "[1,2,null]" || string(r.Variables["start"]) != "0" || r.Snippet != (execution.Snippet{Name: "total", Pin: pin}) || r.Principal != execution.Local {
		t.Errorf("%+v", r)
	}
}

func TestACallOfASnippetThatIsWrongRunsNothing(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine, Snippets: scripts()})
	session := connect(t, s, "2025-11-25", nil)
	for _, c := range []struct {
		tool, args, want string
	}{
		{"snippet_total", `{}`, "numbers: required: an array"},
		{"snippet_total", `{"numbers": "1"}`, "numbers: must be an array, not a string"},
		{"snippet_total", `{"numbers": null}`, "numbers: null: leave the argument out instead"},
		{"snippet_total", `{"numbers": [], "stop": 1}`, "stop: unknown argument: accepted are numbers, start"},
		{"snippet_gone", `{"numbers": []}`, "removed"},
		{"snippet_changed", `{"numbers": []}`, "has saved another snippet changed since this server started"},
	} {
		var args map[string]any
		if err := json.Unmarshal([]byte(c.args), &args); err != nil {
			t.Fatal(err)
		}
		res := call(t, session, c.tool, args)
		if !res.IsError || !strings.Contains(textOf(res), c.want) {
			t.Errorf("%s %s: %s", c.tool, c.args, textOf(res))
		}
	}
	if len(engine.requests) != 0 {
		t.Errorf("%+v", engine.requests)
	}
}
