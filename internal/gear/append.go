package gear

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
)

// AppendAllow is the text of a rules file with more rules that allow, at the end of its
// list; those that are there already are left out. Everything else stays byte for byte,
// order and comments included: the syntax tree says where a line belongs, and the line is
// put there. What comes out is read again, and is the result only if it holds the old
// rules and the new ones and nothing else. name is the file's, for errors: mistakes that
// were in it before, and a file whose form leaves no such place.
func AppendAllow(name string, text []byte, rules []string) ([]byte, error) {
	home, _ := os.UserHomeDir() // without one a pattern that begins with ~ is refused
	old, err := readOverlays(name, text, home)
	if err != nil {
		return nil, err
	}
	want := Overlays{Deny: old.Deny, Ask: old.Ask, Allow: slices.Clone(old.Allow)}
	for _, rule := range rules {
		parsed, err := parseRule(rule, home, true)
		if err != nil {
			return nil, err
		}
		if parsed.String() != rule {
			return nil, fmt.Errorf("the rule %s would be read as %s", rule, parsed)
		}
		if slices.Contains(written(want.Allow), rule) {
			continue
		}
		want.Allow = append(want.Allow, parsed)
		if text, err = appendRule(text, rule); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	got, err := readOverlays(name, text, home)
	if err != nil || !sameRules(got, want) {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, errNoPlace), err)
	}
	return text, nil
}

var errNoPlace = &hintedError{"no rule can be added to a file of this form", "write it by hand, or give allow a list with one rule a line"}

// hintedError is an error with a way to mend it.
type hintedError struct{ message, hint string }

func (e *hintedError) Error() string { return e.message + ": " + e.hint }

func sameRules(a, b Overlays) bool {
	return slices.Equal(written(a.Deny), written(b.Deny)) && slices.Equal(written(a.Ask), written(b.Ask)) && slices.Equal(written(a.Allow), written(b.Allow))
}

// appendRule adds one rule to a text that was read without a mistake.
func appendRule(text []byte, rule string) ([]byte, error) {
	entries, err := entriesOf(text)
	if err != nil {
		return nil, err
	}
	item := "- '" + strings.ReplaceAll(rule, "'", "''") + "'"
	i := slices.IndexFunc(entries, func(e *ast.MappingValueNode) bool { return strictyaml.Key(e) == "allow" })
	if i < 0 {
		return insert(text, bytes.Count(text, []byte("\n"))+1, "allow:", "  "+item), nil
	}
	switch v := entries[i].Value.(type) {
	case *ast.NullNode:
		return insert(text, entries[i].Key.GetToken().Position.Line, "  "+item), nil
	case *ast.SequenceNode:
		if v.IsFlowStyle {
			return insertInFlow(text, v, rule)
		}
		last, dash := v.Values[len(v.Values)-1].GetToken(), v.Start.Position
		return insert(text, last.Position.Line, strings.Repeat(" ", dash.Column-1)+item), nil
	}
	return nil, errNoPlace
}

// entriesOf are those of the one mapping.
func entriesOf(text []byte) ([]*ast.MappingValueNode, error) {
	file, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var entries []*ast.MappingValueNode
	for _, d := range file.Docs {
		switch m := d.Body.(type) {
		case *ast.MappingNode:
			entries = append(entries, m.Values...)
		case *ast.MappingValueNode:
			entries = append(entries, m)
		}
	}
	return entries, nil
}

// insert puts lines behind line number n, which counts from 1, in the file's own line ends.
func insert(text []byte, n int, lines ...string) []byte {
	end := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		end = "\r\n"
	}
	var out []byte
	for line := range bytes.Lines(text) {
		if n == 0 {
			break
		}
		out = append(out, line...)
		n--
	}
	rest := text[len(out):]
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, end...)
	}
	for _, line := range lines {
		out = append(append(out, line...), end...)
	}
	return append(out, rest...)
}

// insertInFlow puts a rule before the bracket that ends a list.
func insertInFlow(text []byte, list *ast.SequenceNode, rule string) ([]byte, error) {
	at, ok := offset(text, list.End.Position.Line, list.End.Position.Column)
	if !ok || text[at] != ']' {
		return nil, errNoPlace
	}
	item := "'" + strings.ReplaceAll(rule, "'", "''") + "'"
	if len(list.Values) > 0 {
		item = ", " + item
	}
	return slices.Insert(slices.Clone(text), at, []byte(item)...), nil
}

// offset is the byte at which a line and a column begin, which count from 1, the column in
// characters.
func offset(text []byte, line, column int) (int, bool) {
	at := 0
	for l := range bytes.Lines(text) {
		if line--; line > 0 {
			at += len(l)
			continue
		}
		for i := range string(l) {
			if column--; column == 0 {
				return at + i, true
			}
		}
		break
	}
	return 0, false
}
