package gear

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// maxFile bounds a file of rules. The built-in ones have less than 8 KiB.
const maxFile = 256 << 10

// reader walks the syntax tree of one YAML file rather than decode it, because
// only the tree knows where each value stands. It collects every mistake, so that
// a file is mended in one go.
type reader struct {
	file string
	home string
	errs []error
}

func (r *reader) fail(n ast.Node, hint, format string, args ...any) {
	e := &FileError{File: r.file, Message: fmt.Sprintf(format, args...), Hint: hint}
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		e.Line, e.Column = n.GetToken().Position.Line, n.GetToken().Position.Column
	}
	r.errs = append(r.errs, e)
}

func (r *reader) err() error { return errors.Join(r.errs...) }

// root parses the file into its one mapping.
func (r *reader) root(data []byte) []*ast.MappingValueNode {
	if len(data) > maxFile {
		r.fail(nil, "split it", "larger than %d bytes", maxFile)
		return nil
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		r.syntax(err)
		return nil
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			r.fail(d.Body, "keep one", "a second document in the file")
			return nil
		}
		body = d.Body
	}
	if body == nil {
		return nil
	}
	return r.mapping(body)
}

// syntax turns the library's error into one of ours, without its picture of the source.
func (r *reader) syntax(err error) {
	e := &FileError{File: r.file, Message: err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Message = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	var twice *yaml.DuplicateKeyError
	if errors.As(err, &twice) {
		e.Hint = "keep one of them"
	}
	r.errs = append(r.errs, e)
}

// mapping is the entries of a mapping with plain keys. Anchors, aliases, merge
// keys and tags are refused: they make a policy mean what it does not show.
func (r *reader) mapping(n ast.Node) []*ast.MappingValueNode {
	var entries []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		entries = m.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{m}
	case *ast.CommentGroupNode, *ast.NullNode:
		return nil
	default:
		r.fail(n, "write key: value", "%s where keys are expected", kindOf(n))
		return nil
	}
	out := make([]*ast.MappingValueNode, 0, len(entries))
	for _, e := range entries {
		if _, ok := e.Key.(*ast.StringNode); !ok {
			r.fail(e.Key, "write a plain word", "%s where a key is expected", kindOf(e.Key))
			continue
		}
		out = append(out, e)
	}
	return out
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor, alias or merge key, which is not accepted,"
	case *ast.TagNode:
		return "a tag, which is not accepted,"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.BoolNode:
		return "a truth value"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	}
	return "text"
}

func key(e *ast.MappingValueNode) string { return e.Key.GetToken().Value }

// fields hands each value of the mapping to the reader of its key.
func (r *reader) fields(entries []*ast.MappingValueNode, readers map[string]func(ast.Node)) {
	names := make([]string, 0, len(readers))
	for name := range readers {
		names = append(names, name)
	}
	slices.Sort(names)
	seen := map[string]bool{}
	for _, e := range entries {
		name := key(e)
		read, ok := readers[name]
		switch {
		case !ok:
			r.fail(e.Key, didYouMean(name, names), "unknown key %q", name)
		case seen[name]:
			r.fail(e.Key, "keep one", "key %q is given twice", name)
		default:
			read(e.Value)
		}
		seen[name] = true
	}
}

func (r *reader) text(n ast.Node) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return strings.TrimRight(s.Value.Value, "\n"), true
	}
	r.fail(n, "write it in quotes", "%s where text is expected", kindOf(n))
	return "", false
}

// word reads one of the given words.
func (r *reader) word(n ast.Node, words ...string) (string, bool) {
	s, ok := n.(*ast.StringNode)
	if ok && slices.Contains(words, s.Value) {
		return s.Value, true
	}
	written := ""
	if n.GetToken() != nil {
		written = n.GetToken().Value
	}
	r.fail(n, didYouMean(written, words), "%q is not one of %s", written, list(words))
	return "", false
}

// number reads a whole number between least and most.
func (r *reader) number(n ast.Node, least, most int) int {
	if i, ok := n.(*ast.IntegerNode); ok {
		if v, err := strconv.Atoi(i.GetToken().Value); err == nil && v >= least && v <= most {
			return v
		}
	}
	r.fail(n, fmt.Sprintf("write a whole number from %d to %d", least, most), "%q is out of range", strings.TrimSpace(n.String()))
	return 0
}

// size reads a number of bytes between least and most.
func (r *reader) size(n ast.Node, least, most execution.Bytes) execution.Bytes {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode:
		b, err := execution.ParseBytes(n.GetToken().Value)
		if err == nil && b >= least && b <= most {
			return b
		}
	}
	r.fail(n, "write for example 64 MiB", "%q is no size from %s to %s", strings.TrimSpace(n.String()), least, most)
	return 0
}

// sequence is the items of a list.
func (r *reader) sequence(n ast.Node) []ast.Node {
	switch s := n.(type) {
	case *ast.SequenceNode:
		return s.Values
	case *ast.NullNode:
		return nil
	}
	r.fail(n, "begin each line with -", "%s where a list is expected", kindOf(n))
	return nil
}

// rules reads a list of rules. With allow set it refuses what cannot be granted.
func (r *reader) rules(n ast.Node, allow bool) []policy.Rule {
	var out []policy.Rule
	for _, item := range r.sequence(n) {
		text, ok := r.text(item)
		if !ok {
			continue
		}
		rule, err := parseRule(text, r.home, allow)
		if err == nil {
			out = append(out, rule)
			continue
		}
		var bad *policy.RuleError
		if errors.As(err, &bad) {
			r.fail(item, bad.Hint, "rule %q: %s", bad.Rule, bad.Message)
		}
	}
	return out
}

// parseRule reads one rule as a file or a flag holds it. A program is present in
// a sandbox or absent, one by one, so run(…) cannot be allowed by half a name.
func parseRule(text, home string, allow bool) (policy.Rule, error) {
	rule, err := policy.ParseRule(policy.ExpandHome(text, home))
	if err != nil {
		return policy.Rule{}, err
	}
	if _, _, open := rule.Names(); allow && rule.Kind() == policy.Run && len(open) > 0 {
		return policy.Rule{}, &policy.RuleError{
			Rule: text, Message: fmt.Sprintf("%q names no single program", open[0]),
			Hint: "allow programs one by one, or all of them with run(*)",
		}
	}
	return rule, nil
}

// list writes words as an enumeration.
func list(words []string) string { return strings.Join(words, ", ") }
