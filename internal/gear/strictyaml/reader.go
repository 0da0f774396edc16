// Package strictyaml reads the files that an operator writes: one YAML document, one
// mapping, plain keys, every key known and given once. It collects every mistake with
// its line, its column and how to mend it, so that a file is mended in one go.
//
// What belongs here is how a file is read. What its keys mean is its reader's
// business: gears and rules are read by gear, the configuration file by config.
package strictyaml

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
)

// Reader walks the syntax tree of one YAML file rather than decode it, because
// only the tree knows where each value stands.
type Reader struct {
	// Unknown is the hint for a key that is none of those that are known where it
	// stands. New sets it to [DidYouMean].
	Unknown func(key string, known []string) string

	file string
	errs []error
}

// New makes a Reader for the text of one file, which its errors name.
func New(file string) *Reader { return &Reader{Unknown: DidYouMean, file: file} }

// File is the name of the file.
func (r *Reader) File() string { return r.file }

// Fail notes a mistake at a node, nil for the file as a whole, with a hint how to mend it.
func (r *Reader) Fail(n ast.Node, hint, format string, args ...any) {
	e := &FileError{File: r.file, Message: fmt.Sprintf(format, args...), Hint: hint}
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		e.Line, e.Column = n.GetToken().Position.Line, n.GetToken().Position.Column
	}
	r.errs = append(r.errs, e)
}

// Err is every mistake, joined; nil when there is none. Each is a *[FileError].
func (r *Reader) Err() error { return errors.Join(r.errs...) }

// Root parses the file into its one mapping.
func (r *Reader) Root(data []byte) []*ast.MappingValueNode {
	if len(data) > maxFile {
		r.Fail(nil, "split it", "larger than %d bytes", maxFile)
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
			r.Fail(d.Body, "keep one", "a second document in the file")
			return nil
		}
		body = d.Body
	}
	if body == nil {
		return nil
	}
	return r.Mapping(body)
}

// syntax turns the library's error into one of ours, without its picture of the source.
func (r *Reader) syntax(err error) {
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

// Mapping is the entries of a mapping with plain keys. Anchors, aliases, merge
// keys and tags are refused: they make a policy mean what it does not show.
func (r *Reader) Mapping(n ast.Node) []*ast.MappingValueNode {
	var entries []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		entries = m.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{m}
	case *ast.CommentGroupNode, *ast.NullNode:
		return nil
	default:
		r.Fail(n, "write key: value", "%s where keys are expected", KindOf(n))
		return nil
	}
	out := make([]*ast.MappingValueNode, 0, len(entries))
	for _, e := range entries {
		if _, ok := e.Key.(*ast.StringNode); !ok {
			r.Fail(e.Key, "write a plain word", "%s where a key is expected", KindOf(e.Key))
			continue
		}
		out = append(out, e)
	}
	return out
}

// KindOf says in words what a node is.
func KindOf(n ast.Node) string {
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

// Key is the key of an entry.
func Key(e *ast.MappingValueNode) string { return e.Key.GetToken().Value }

// Fields hands each value of the mapping to the reader of its key.
func (r *Reader) Fields(entries []*ast.MappingValueNode, readers map[string]func(ast.Node)) {
	names := make([]string, 0, len(readers))
	for name := range readers {
		names = append(names, name)
	}
	slices.Sort(names)
	seen := map[string]bool{}
	for _, e := range entries {
		name := Key(e)
		read, ok := readers[name]
		switch {
		case !ok:
			r.Fail(e.Key, r.Unknown(name, names), "unknown key %q", name)
		case seen[name]:
			r.Fail(e.Key, "keep one", "key %q is given twice", name)
		default:
			read(e.Value)
		}
		seen[name] = true
	}
}

// Text reads text that YAML does not take for anything else.
func (r *Reader) Text(n ast.Node) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return strings.TrimRight(s.Value.Value, "\n"), true
	}
	r.Fail(n, "write it in quotes", "%s where text is expected", KindOf(n))
	return "", false
}

// Word reads one of the given words.
func (r *Reader) Word(n ast.Node, words ...string) (string, bool) {
	s, ok := n.(*ast.StringNode)
	if ok && slices.Contains(words, s.Value) {
		return s.Value, true
	}
	written := ""
	if n.GetToken() != nil {
		written = n.GetToken().Value
	}
	r.Fail(n, DidYouMean(written, words), "%q is not one of %s", written, List(words))
	return "", false
}

// Number reads a whole number between least and most.
func (r *Reader) Number(n ast.Node, least, most int) int {
	if i, ok := n.(*ast.IntegerNode); ok {
		if v, err := strconv.Atoi(i.GetToken().Value); err == nil && v >= least && v <= most {
			return v
		}
	}
	r.Fail(n, fmt.Sprintf("write a whole number from %d to %d", least, most), "%q is out of range", strings.TrimSpace(n.String()))
	return 0
}

// Size reads a number of bytes between least and most.
func (r *Reader) Size(n ast.Node, least, most execution.Bytes) execution.Bytes {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode:
		b, err := execution.ParseBytes(n.GetToken().Value)
		if err == nil && b >= least && b <= most {
			return b
		}
	}
	r.Fail(n, "write for example 64 MiB", "%q is no size from %s to %s", strings.TrimSpace(n.String()), least, most)
	return 0
}

// Sequence is the items of a list.
func (r *Reader) Sequence(n ast.Node) []ast.Node {
	switch s := n.(type) {
	case *ast.SequenceNode:
		return s.Values
	case *ast.NullNode:
		return nil
	}
	r.Fail(n, "begin each line with -", "%s where a list is expected", KindOf(n))
	return nil
}
