package serverfile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads TOML. Values come from the decoder, which knows the rules of tables, and
// their lines from the parser.
func parseTOML(data []byte) (node, error) {
	if at := tooDeepIn(data); at >= 0 {
		return node{}, tooDeep(linesOf(data).at(at))
	}
	tree := map[string]any{}
	if err := toml.Unmarshal(data, &tree); err != nil {
		return node{}, tomlError(err)
	}
	at, err := tomlLines(data)
	if err != nil {
		return node{}, tomlError(err)
	}
	n := tomlNode(tree, nil, 1, at)
	return n, nil
}

// tooDeepIn is tooDeepJSON for formats with other rules of quotes and comments: brackets
// count wherever they stand, and only more than any file has are too many.
func tooDeepIn(data []byte) int {
	depth := 0
	for i, c := range data {
		switch c {
		case '{', '[':
			if depth++; depth > maxDepth*10 {
				return i
			}
		case '}', ']':
			depth = max(0, depth-1)
		}
	}
	return -1
}

func tomlError(err error) error {
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, _ := at.Position()
		return &FileError{Line: line, Message: "is no TOML: " + strings.TrimPrefix(at.Error(), "toml: ")}
	}
	return &FileError{Message: "is no TOML", Err: err}
}

// pathKey joins a path so that no key can look like two.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// tomlLines is the line of each key that is written out.
func tomlLines(data []byte) (map[string]int, error) {
	var p unstable.Parser
	data = slices.Clip(data) // the parser finds positions by capacity
	p.Reset(data)
	starts, out := linesOf(data), map[string]int{}
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		path := slices.Clone(table)
		if n.Kind != unstable.KeyValue {
			path = nil
		}
		for it := n.Key(); it.Next(); {
			path = append(path, string(it.Node().Data))
			if _, known := out[pathKey(path)]; !known {
				out[pathKey(path)] = starts.at(int(it.Node().Raw.Offset))
			}
		}
		if n.Kind != unstable.KeyValue {
			table = path
		}
	}
	return out, p.Error()
}

// tomlNode is a decoded value. What has no line of its own has that of what it is in.
func tomlNode(v any, path []string, line int, at map[string]int) node {
	n := node{line: line}
	switch v := v.(type) {
	case map[string]any:
		n.shape = object
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := append(slices.Clone(path), key)
			l, ok := at[pathKey(below)]
			if !ok {
				l = line
			}
			n.fields = append(n.fields, field{key: key, line: l, value: tomlNode(v[key], below, l, at)})
		}
		slices.SortStableFunc(n.fields, func(a, b field) int { return a.line - b.line })
	case []any:
		n.shape = list
		for _, e := range v {
			n.items = append(n.items, tomlNode(e, path, line, at))
		}
	case string:
		n.shape, n.text = text, v
	case bool:
		n.shape, n.text = truth, strconv.FormatBool(v)
	case int64:
		n.shape, n.text = number, strconv.FormatInt(v, 10)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			n.shape, n.text = number, strconv.FormatFloat(v, 'g', -1, 64)
		}
	default: // dates
		n.shape, n.text = text, fmt.Sprint(v)
	}
	return n
}
