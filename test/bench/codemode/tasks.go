package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// task is done in two ways, which have to come to the same result.
type task struct {
	name   string
	direct func(*trace) (any, error)
	code   func(*trace) (string, error)
}

// program is the trace of a model that searches for what it needs and writes one program.
func program(query, server, code string) func(*trace) (string, error) {
	return func(t *trace) (string, error) {
		if err := t.search(query, server); err != nil {
			return "", err
		}
		return t.run(code)
	}
}

// described is that of one that reads of tools by name and writes one program.
func described(names []string, code string) func(*trace) (string, error) {
	return func(t *trace) (string, error) {
		if err := t.describe(names...); err != nil {
			return "", err
		}
		return t.run(code)
	}
}

// single is that of one that finds a tool and calls it without a program.
func single(query, tool string, args map[string]any, understand func(string) any) func(*trace) (string, error) {
	return func(t *trace) (string, error) {
		if err := t.search(query, ""); err != nil {
			return "", err
		}
		text, err := t.one("", "call_tool", map[string]any{"name": tool, "arguments": t.placed(args)})
		if err != nil {
			return "", err
		}
		return plainJSON(understand(text))
	}
}

// placed puts the folder of the tasks into arguments.
func (t *trace) placed(args map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range args {
		if s, ok := v.(string); ok {
			v = strings.ReplaceAll(s, "FILES", t.files)
		}
		out[name] = v
	}
	return out
}

// alone is the direct trace of one call.
func alone(server, tool string, args map[string]any, understand func(string) any) func(*trace) (any, error) {
	return func(t *trace) (any, error) {
		text, err := t.one(server, tool, t.placed(args))
		return understand(text), err
	}
}

// tasks are in the order in which they are done: what some leave behind others see.
func tasks() []task {
	return append(small(), large()...)
}

// small are those of one call, or of a few with short answers.
func small() []task {
	sum := func(text string) any { return strings.TrimSuffix(text[strings.LastIndexByte(text, ' ')+1:], ".") }
	contains := func(word string) func(string) any {
		return func(text string) any { return strings.Contains(text, word) }
	}
	return []task{
		{
			"add two numbers", alone("everything", "get-sum", map[string]any{"a": 19, "b": 23}, sum),
			single("add numbers", "everything.get-sum", map[string]any{"a": 19, "b": 23}, sum),
		},
		{
			"what does a short note say", alone("files", "read_text_file", map[string]any{"path": "FILES/notes/todo.md"}, contains("spring release")),
			single("read a text file", "files.read_text_file", map[string]any{"path": "FILES/notes/todo.md"}, contains("spring release")),
		},
		{
			"the last lines of a log", alone("files", "read_text_file", map[string]any{"path": "FILES/logs/app.log", "tail": 5}, contains("request 399")),
			single("read a text file", "files.read_text_file", map[string]any{"path": "FILES/logs/app.log", "tail": 5}, contains("request 399")),
		},
		{
			"change one setting in a file", alone("files", "edit_file", settingEdit(), contains("60")),
			single("edit a file", "files.edit_file", settingEdit(), contains("60")),
		},
		{"the warmest of three cities", warmest, described([]string{"everything.get_structured_content"}, `from tools import everything
cities = ["New York", "Chicago", "Los Angeles"]
max(cities, key=lambda c: everything.get_structured_content(location=c)["temperature"])`)},
	}
}

func settingEdit() map[string]any {
	return map[string]any{"path": "FILES/settings/app.json", "edits": []any{map[string]any{"oldText": "\"timeout\": 30", "newText": "\"timeout\": 60"}}}
}

func warmest(t *trace) (any, error) {
	cities := []string{"New York", "Chicago", "Los Angeles"}
	var calls []call
	for _, c := range cities {
		calls = append(calls, call{"everything", "get-structured-content", map[string]any{"location": c}})
	}
	texts, err := t.round(calls...)
	if err != nil {
		return nil, err
	}
	best, most := "", -1e9
	for i, text := range texts {
		var w struct{ Temperature float64 }
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			return nil, err
		}
		if w.Temperature > most {
			best, most = cities[i], w.Temperature
		}
	}
	return best, nil
}

// records are the rows of a file of orders, without its heading.
func records(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.TrimSpace(line), ","); len(cells) == 4 && cells[0] != "id" {
			rows = append(rows, cells)
		}
	}
	return rows
}

// orderFiles are the paths of the twelve months.
func (t *trace) orderFiles() []string {
	var all []string
	for month := 1; month <= 12; month++ {
		all = append(all, fmt.Sprintf("%s/orders/2026-%02d.csv", t.files, month))
	}
	return all
}
