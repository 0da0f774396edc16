package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tally is what one trace costs, in characters and in round trips.
type tally struct {
	Defined int // what stands in the prompt before anything is asked: definitions and instructions
	Written int // names and arguments of calls
	Read    int // answers
	Trips   int // answers of a model that hold calls; those that do not need each other share one
	// Context is what all turns of the model together begin with: each reads everything before it.
	Context int
}

// exchanged is what is written and read; with is that and the definitions.
func (t tally) exchanged() int { return t.Written + t.Read }
func (t tally) with() int      { return t.Defined + t.exchanged() }

// call is what a model says to have a tool called.
type call struct {
	server string // empty where there is one server only
	tool   string
	args   map[string]any
}

// trace counts while a task is done.
type trace struct {
	ctx      context.Context //nolint:containedctx // a trace is one run
	sessions map[string]*mcp.ClientSession
	place    string // the folder of this run, of which the name is not counted
	files    string // the folder that the tasks are about
	tally    tally
	last     *mcp.CallToolResult
	seen     strings.Builder // what was read
}

// begin starts a trace of which the first turn reads the definitions.
func begin(ctx context.Context, w *world, sessions map[string]*mcp.ClientSession, defined int) *trace {
	return &trace{ctx: ctx, sessions: sessions, place: w.place, files: w.files, tally: tally{Defined: defined, Context: defined}}
}

// round makes calls that do not need each other, and returns their texts in order.
func (t *trace) round(calls ...call) ([]string, error) {
	t.tally.Trips++
	var texts []string
	for _, c := range calls {
		args, err := plainJSON(c.args)
		if err != nil {
			return nil, err
		}
		t.tally.Written += t.length(c.tool) + t.length(args)
		r, err := t.sessions[c.server].CallTool(t.ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.tool, err)
		}
		text := textOf(r)
		if r.IsError {
			return nil, fmt.Errorf("%s: %s", c.tool, text)
		}
		t.tally.Read += t.length(text)
		t.seen.WriteString(text)
		texts, t.last = append(texts, text), r
	}
	t.tally.Context += t.tally.with() // the next turn
	return texts, nil
}

// one is a round of one call.
func (t *trace) one(server, tool string, args map[string]any) (string, error) {
	texts, err := t.round(call{server, tool, args})
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

// search is the round in which a model of Gearbox finds the tools that it needs.
func (t *trace) search(query, server string) error {
	args := map[string]any{"query": query, "limit": 4}
	if server != "" {
		args["server"] = server
	}
	_, err := t.one("", "search_tools", args)
	return err
}

// describe is the one in which it reads how tools are called that it knows by name: all
// names stand in the instructions.
func (t *trace) describe(names ...string) error {
	_, err := t.one("", "describe_tools", map[string]any{"names": names, "detail": "signature"})
	return err
}

// used finds what a program calls.
var used = regexp.MustCompile(`\b(?:everything|files|memory)\.(\w+)\(`)

// run is the round in which it has a program run. The answer is the program's value. A
// program that calls what the model has not read of is no honest trace.
func (t *trace) run(program string) (string, error) {
	for _, name := range used.FindAllStringSubmatch(program, -1) {
		if !strings.Contains(t.seen.String(), "def "+name[1]+"(") {
			return "", fmt.Errorf("the program calls %s, of which nothing was read:\n%s", name[1], t.seen.String())
		}
	}
	if _, err := t.one("", "execute", map[string]any{"code": strings.ReplaceAll(program, "FILES", t.files)}); err != nil {
		return "", err
	}
	text, err := json.Marshal(t.last.StructuredContent)
	if err != nil {
		return "", err
	}
	var answer struct{ Value json.RawMessage }
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", err
	}
	return canonical(answer.Value)
}

// length counts characters. What the folder of this run is called makes no difference.
func (t *trace) length(s string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(s, t.place, "/home/user"))
}

// plainJSON is what a model writes: nothing but what JSON asks for is escaped.
func plainJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// canonical is JSON in the one form in which results are compared.
func canonical(text json.RawMessage) (string, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return "", fmt.Errorf("the result %q: %w", text, err)
	}
	return plainJSON(v)
}

func textOf(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// defined is how long the definitions of a session's tools are, as clients put them into
// prompts, with the server's instructions.
func defined(ctx context.Context, s *mcp.ClientSession) (int, error) {
	type definition struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		InputSchema any    `json:"input_schema"`
	}
	n := 0
	if r := s.InitializeResult(); r != nil {
		n = utf8.RuneCountInString(r.Instructions)
	}
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return 0, err
		}
		text, err := plainJSON(definition{tool.Name, tool.Description, tool.InputSchema})
		if err != nil {
			return 0, err
		}
		n += utf8.RuneCountInString(text)
	}
	return n, nil
}
