package serverfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// parseYAML reads one YAML document without anchors, aliases and tags: with them a file
// means what it does not show.
func parseYAML(data []byte) (node, error) {
	if at := tooDeepIn(data); at >= 0 {
		return node{}, tooDeep(linesOf(data).at(at))
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return node{}, yamlError(err)
	}
	var body ast.Node
	for _, d := range file.Docs {
		switch {
		case d.Body == nil:
		case body != nil:
			return node{}, &FileError{Line: yamlLine(d.Body), Message: "holds a second document", Advice: "keep one"}
		default:
			body = d.Body
		}
	}
	if body == nil {
		return node{shape: object, line: 1}, nil
	}
	return yamlNode(body, 0)
}

func yamlError(err error) error {
	e := &FileError{Message: "is no YAML: " + err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Message = "is no YAML: " + y.GetMessage() // without its picture of the source
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line = t.Position.Line
		}
	}
	return e
}

func yamlLine(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

func yamlNode(v ast.Node, depth int) (node, error) {
	if v == nil {
		return node{}, nil
	}
	n := node{line: yamlLine(v)}
	if depth > maxDepth {
		return node{}, tooDeep(n.line)
	}
	switch v := v.(type) {
	case *ast.MappingNode:
		return yamlObject(n, v.Values, depth)
	case *ast.MappingValueNode:
		return yamlObject(n, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		n.shape = list
		for _, e := range v.Values {
			item, err := yamlNode(e, depth+1)
			if err != nil {
				return node{}, err
			}
			n.items = append(n.items, item)
		}
	case *ast.StringNode:
		n.shape, n.text = text, v.Value
	case *ast.LiteralNode:
		n.shape, n.text = text, strings.TrimRight(v.Value.Value, "\n")
	case *ast.IntegerNode, *ast.FloatNode:
		n.shape, n.text = number, v.GetToken().Value
	case *ast.BoolNode:
		n.shape, n.text = truth, strings.ToLower(v.GetToken().Value)
	case *ast.NullNode, *ast.CommentGroupNode:
	default:
		return node{}, &FileError{Line: n.line, Message: fmt.Sprintf("holds %s, which is not read", strings.ToLower(v.Type().YAMLName())), Advice: "write the value out"}
	}
	return n, nil
}

func yamlObject(n node, entries []*ast.MappingValueNode, depth int) (node, error) {
	n.shape = object
	for _, e := range entries {
		key, ok := e.Key.(ast.Node)
		if !ok || key.GetToken() == nil || e.Key.IsMergeKey() {
			return node{}, &FileError{Line: yamlLine(e), Message: "a merge or other key that is no plain word", Advice: "write its values out"}
		}
		value, err := yamlNode(e.Value, depth+1)
		if err != nil {
			return node{}, err
		}
		n.fields = append(n.fields, field{key: key.GetToken().Value, line: yamlLine(key), value: value})
	}
	return n, nil
}
