package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFormat edits TOML by cutting and replacing regions of text, which the
// parser of go-toml finds. Its encoder would lose comments and order.
type tomlFormat struct{}

const tomlServers = "mcp_servers"

func (tomlFormat) servers() string { return tomlServers }

func (tomlFormat) tree(data []byte) (map[string]any, error) {
	tree := map[string]any{}
	if err := toml.Unmarshal(data, &tree); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return nil, fmt.Errorf("not valid TOML: line %d, column %d: %w", line, column, err)
		}
		return nil, fmt.Errorf("not valid TOML: %w", err)
	}
	return tree, nil
}

// statement is one header or one assignment of a TOML file.
type statement struct {
	kind unstable.Kind
	path []string // from the root of the file
	// start and end hold the statement's whole lines.
	start, end int
	// value and valueEnd hold the right side of an assignment.
	value, valueEnd int
}

func (s statement) ours() bool {
	return len(s.path) >= 2 && s.path[0] == tomlServers && s.path[1] == ServerName
}

// is reports whether the statement is of our entry and names key in it; without
// key, whether it is about the entry itself.
func (s statement) is(kind unstable.Kind, key ...string) bool {
	return s.kind == kind && slices.Equal(s.path, append([]string{tomlServers, ServerName}, key...))
}

func statements(data []byte) ([]statement, error) {
	var p unstable.Parser
	// The parser finds positions by capacity, so the slice must end where the data does.
	data = slices.Clip(data)
	p.Reset(data)
	var out []statement
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		var keys []string
		first, last := -1, 0
		for it := n.Key(); it.Next(); {
			k := it.Node()
			keys = append(keys, string(k.Data))
			if first < 0 {
				first = int(k.Raw.Offset)
			}
			last = int(k.Raw.Offset + k.Raw.Length)
		}
		if n.Kind != unstable.KeyValue {
			table = keys
			out = append(out, statement{kind: n.Kind, path: keys, start: lineStart(data, first), end: lineEnd(data, last)})
			continue
		}
		end := int(n.Raw.Offset + n.Raw.Length)
		value := last + bytes.IndexByte(data[last:], '=') + 1
		value += len(data[value:]) - len(bytes.TrimLeft(data[value:], " \t"))
		out = append(out, statement{
			kind: n.Kind, path: slices.Concat(table, keys),
			start: lineStart(data, first), end: lineEnd(data, end), value: value, valueEnd: end,
		})
	}
	return out, p.Error()
}

func lineStart(data []byte, at int) int { return bytes.LastIndexByte(data[:at], '\n') + 1 }

func lineEnd(data []byte, at int) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

func lineOf(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

func (f tomlFormat) add(data []byte, e Entry) ([]byte, error) {
	if _, err := f.tree(data); err != nil {
		return nil, err
	}
	all, err := statements(data)
	if err != nil {
		return nil, err
	}
	if err := notInline(data, all); err != nil {
		return nil, err
	}
	lines, err := entryLines(data, e)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, statement.ours) {
		return appendTable(data, lines), nil
	}
	return update(data, all, lines)
}

// notInline refuses the forms that cannot be edited by whole lines.
func notInline(data []byte, all []statement) error {
	for _, s := range all {
		inline := s.kind == unstable.KeyValue && (slices.Equal(s.path, []string{tomlServers}) || s.is(unstable.KeyValue))
		if inline {
			return fmt.Errorf("line %d: %s is an inline table: write it as [%s.%s] with one key a line",
				lineOf(data, s.value), strings.Join(s.path, "."), tomlServers, "NAME")
		}
		if s.kind == unstable.ArrayTable && s.ours() {
			return fmt.Errorf("line %d: %s is an array: it should be one table", lineOf(data, s.start), strings.Join(s.path, "."))
		}
	}
	return nil
}

// assignment is one line of the entry.
type assignment struct{ key, value string }

func entryLines(data []byte, e Entry) ([]assignment, error) {
	args := e.Args
	if args == nil {
		args = []string{}
	}
	var out []assignment
	for _, a := range []struct {
		key   string
		value any
	}{{"command", e.Command}, {"args", args}} {
		text, err := toml.Marshal(map[string]any{a.key: a.value})
		if err != nil {
			return nil, err
		}
		_, value, _ := strings.Cut(strings.TrimSpace(string(text)), " = ")
		out = append(out, assignment{key: a.key, value: value})
	}
	return out, nil
}

func appendTable(data []byte, lines []assignment) []byte {
	newline := newlineOf(data)
	out := bytes.Clone(data)
	if len(out) > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, newline...)
		}
		out = append(out, newline...)
	}
	out = fmt.Appendf(out, "[%s.%s]%s", tomlServers, ServerName, newline)
	for _, l := range lines {
		out = fmt.Appendf(out, "%s = %s%s", l.key, l.value, newline)
	}
	return out
}

func newlineOf(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// update replaces the values that the entry has and adds those that it lacks
// below its header. Later regions come first, so that earlier offsets hold.
func update(data []byte, all []statement, lines []assignment) ([]byte, error) {
	out := bytes.Clone(data)
	header := slices.IndexFunc(all, func(s statement) bool { return s.is(unstable.Table) })
	type edit struct {
		start, end int
		text       string
	}
	var edits []edit
	for _, l := range lines {
		at := slices.IndexFunc(all, func(s statement) bool { return s.is(unstable.KeyValue, l.key) })
		switch {
		case at >= 0:
			edits = append(edits, edit{all[at].value, all[at].valueEnd, l.value})
		case header >= 0:
			end := all[header].end
			edits = append(edits, edit{end, end, l.key + " = " + l.value + newlineOf(data)})
		default:
			return nil, fmt.Errorf("the entry has no [%s.%s] header and no %s: uninstall it first", tomlServers, ServerName, l.key)
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return b.start - a.start })
	for _, e := range edits {
		out = slices.Concat(out[:e.start], []byte(e.text), out[e.end:])
	}
	return out, nil
}

// remove cuts the lines of the entry, and the blank line in front of its header
// that add puts there.
func (f tomlFormat) remove(data []byte) ([]byte, error) {
	all, err := statements(data)
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(data)
	for _, s := range slices.Backward(all) {
		if slices.Equal(s.path, []string{tomlServers}) && s.kind == unstable.KeyValue {
			return nil, notInline(data, []statement{s})
		}
		if !s.ours() {
			continue
		}
		start := s.start
		if s.is(unstable.Table) {
			start = blankBefore(out, start)
		}
		out = slices.Concat(out[:start], out[s.end:])
	}
	return out, nil
}

// blankBefore is the start of the blank line in front of at, or at if there is none.
func blankBefore(data []byte, at int) int {
	for _, newline := range []string{"\r\n", "\n"} {
		if before, ok := bytes.CutSuffix(data[:at], []byte(newline)); ok && (len(before) == 0 || bytes.HasSuffix(before, []byte("\n"))) {
			return len(before)
		}
	}
	return at
}
