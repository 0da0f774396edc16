package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

// rewriting is one schema on its way to draft 2020-12.
type rewriting struct {
	*mender

	from  *Node
	to    map[string]any
	where string
	out   bool
}

// drop leaves a keyword out.
func (s *rewriting) drop(format string, args ...any) {
	s.fault(s.where, format, args...)
	s.out = true
}

func (s *rewriting) at(name string) string {
	if s.where == "" {
		return name
	}
	return s.where + "." + name
}

// reference keeps what leads into the same document.
func (s *rewriting) reference() {
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name := s.from.Get(keyword).Str(); name != "" && !s.anchors[name] && plainName(name) {
			s.anchors[name] = true
			s.to["$anchor"] = name
		}
	}
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		n := s.from.Get(keyword)
		if n == nil || s.to["$ref"] != nil {
			continue
		}
		ref := n.Str()
		if s.id != "" && strings.HasPrefix(ref, s.id) {
			ref = strings.TrimPrefix(ref, s.id)
		}
		if !n.Is(String) || ref != "" && !strings.HasPrefix(ref, "#") {
			s.drop("the reference %s leads to another document, which is not fetched, so that any value passes", quote(n.Str()))
			continue
		}
		s.to["$ref"] = "#" + strings.TrimPrefix(ref, "#")
		s.refs = append(s.refs, pending{in: s.to, ref: ref, where: s.where})
		s.out = s.out || s.loose
	}
}

func plainName(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '-' || c == '.')) {
			return false
		}
	}
	return name != ""
}

var types = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

// values rewrites what holds for values of every type.
func (s *rewriting) values() {
	s.types()
	if n := s.from.Get("const"); n != nil {
		s.to["const"] = n.Any()
	}
	n := s.from.Get("enum")
	switch {
	case n.Is(Array):
		list := n.Any().([]any)
		if s.from.Get("nullable").isTrue() && !slices.Contains(list, nil) {
			list = append(list, nil)
		}
		s.to["enum"] = list
	case n != nil:
		s.drop("enum is no list and does not count")
	}
}

func (s *rewriting) types() {
	n := s.from.Get("type")
	var names []any
	switch {
	case n == nil || n.Is(String) && n.Text == "any":
		return
	case n.Is(String):
		names = []any{n.Text}
	case n.Is(Array):
		names = n.Any().([]any)
	}
	var kept []any
	for _, name := range names {
		text, _ := name.(string)
		if !slices.Contains(types, text) {
			s.drop("the type %s does not exist, so that any value passes", quote(text))
			return
		}
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	if len(kept) == 0 {
		s.drop("type is neither a name nor a list of names, so that any value passes")
		return
	}
	if s.from.Get("nullable").isTrue() && !slices.Contains(kept, any("null")) {
		kept = append(kept, "null")
	}
	s.to["type"] = kept
}

func (n *Node) isTrue() bool { return n.Is(Bool) && n.Text == "true" }

// numbers rewrites bounds; up to draft 4 exclusiveMinimum was a flag of minimum.
func (s *rewriting) numbers() {
	for _, pair := range [][2]string{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
		bound, exclusive := s.from.Get(pair[0]), s.from.Get(pair[1])
		if bound.Is(Number) && exclusive.isTrue() {
			s.to[pair[1]] = bound.Any()
			continue
		}
		s.number(pair[0])
		if !exclusive.Is(Bool) {
			s.number(pair[1])
		}
	}
	s.number("multipleOf")
	if n, ok := s.to["multipleOf"].(json.Number); ok {
		if r, ok := new(big.Rat).SetString(string(n)); !ok || r.Sign() <= 0 {
			delete(s.to, "multipleOf")
			s.drop("multipleOf is not above 0 and does not count")
		}
	}
}

func (s *rewriting) number(keyword string) {
	n := s.from.Get(keyword)
	switch {
	case n.Is(Number):
		s.to[keyword] = n.Any()
	case n != nil:
		s.drop("%s is no number and does not count", keyword)
	}
}

// size keeps a bound of a size.
func (s *rewriting) size(keyword string) {
	n := s.from.Get(keyword)
	if n == nil {
		return
	}
	r, ok := new(big.Rat).SetString(n.Text)
	if !n.Is(Number) || !ok || !r.IsInt() || r.Sign() < 0 || r.Num().BitLen() > 31 {
		s.drop("%s is no size and does not count", keyword)
		return
	}
	s.to[keyword] = json.Number(r.Num().String())
}

func (s *rewriting) texts() {
	s.size("minLength")
	s.size("maxLength")
	n := s.from.Get("pattern")
	if n == nil {
		return
	}
	p, ok := pattern(n.Str())
	if !n.Is(String) || !ok {
		s.drop("the pattern %s needs another engine and is not checked", quote(n.Str()))
		return
	}
	s.to["pattern"] = p
}
