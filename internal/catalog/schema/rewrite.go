package schema

import (
	"encoding/json"
	"math/big"
	"net/url"
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

func (s *rewriting) objects() {
	s.size("minProperties")
	s.size("maxProperties")
	s.required()
	s.children("properties")
	whole := s.patternProperties()
	if whole { // else what was to be matched by the missing pattern would be refused
		s.child("additionalProperties")
	} else if s.from.Get("additionalProperties") != nil {
		s.drop("additionalProperties does not count, for a pattern beside it is missing")
	}
	s.child("propertyNames")
	s.children("dependentSchemas")
	s.dependencies()
}

func (s *rewriting) required() {
	n := s.from.Get("required")
	if n == nil {
		return
	}
	list, ok := stringsOf(n)
	if !ok {
		s.drop("required is no list of names and does not count")
		return
	}
	s.to["required"] = list
}

// stringsOf is a list of different strings.
func stringsOf(n *Node) ([]any, bool) {
	if !n.Is(Array) {
		return nil, false
	}
	list := []any{}
	for _, item := range n.Items {
		if !item.Is(String) {
			return nil, false
		}
		if !slices.Contains(list, any(item.Text)) {
			list = append(list, item.Text)
		}
	}
	return list, true
}

func (s *rewriting) patternProperties() (whole bool) {
	n := s.from.Get("patternProperties")
	if n == nil {
		return true
	}
	whole = n.Is(Object)
	kept := map[string]any{}
	for _, m := range n.Members {
		p, ok := pattern(m.Name)
		if !ok {
			whole = false
			s.drop("the pattern %s needs another engine and is not checked", quote(m.Name))
			continue
		}
		kept[p] = s.below(m.Value, s.at("{"+m.Name+"}"))
	}
	s.to["patternProperties"] = kept
	return whole
}

// dependencies were split in two after draft 7.
func (s *rewriting) dependencies() {
	names, schemas := map[string]any{}, map[string]any{}
	for _, keyword := range []string{"dependencies", "dependentRequired"} {
		n := s.from.Get(keyword)
		for _, m := range n.members() {
			if list, ok := stringsOf(m.Value); ok {
				names[m.Name] = list
			} else if keyword == "dependencies" {
				schemas[m.Name] = s.below(m.Value, s.where)
			}
		}
	}
	if len(names) > 0 {
		s.to["dependentRequired"] = names
	}
	if len(schemas) > 0 && s.to["dependentSchemas"] == nil {
		s.to["dependentSchemas"] = schemas
	}
}

func (n *Node) members() []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// arrays rewrites lists; up to 2019-09 items could be a list, and additionalItems the rest.
func (s *rewriting) arrays() {
	s.size("minItems")
	s.size("maxItems")
	if s.from.Get("uniqueItems").isTrue() {
		s.to["uniqueItems"] = true
	}
	if n := s.from.Get("items"); n.Is(Array) {
		s.list("items", "prefixItems")
		if rest := s.from.Get("additionalItems"); rest != nil {
			s.to["items"] = s.below(rest, s.where+"[]")
		}
	} else {
		s.list("prefixItems", "prefixItems")
		if n != nil {
			s.to["items"] = s.below(n, s.where+"[]")
		}
	}
	s.contains()
}

func (s *rewriting) contains() {
	n := s.from.Get("contains")
	if n == nil {
		return
	}
	mended, out := s.schema(n, s.where+"[]")
	s.to["contains"] = mended
	s.out = s.out || out
	s.size("minContains")
	if !out { // else more items count than are meant
		s.size("maxContains")
	}
}

// logic rewrites what combines schemas. Where a part lets too much pass, what turns that
// into letting too little pass is left out.
func (s *rewriting) logic() {
	s.list("allOf", "allOf")
	s.list("anyOf", "anyOf")
	s.oneOf()
	if n := s.from.Get("not"); n != nil {
		if mended, out := s.schema(n, s.where); out {
			s.drop("not does not count, for a part of it is missing")
		} else {
			s.to["not"] = mended
		}
	}
	if n := s.from.Get("if"); n != nil {
		if mended, out := s.schema(n, s.where); out {
			s.drop("if does not count, for a part of it is missing")
		} else {
			s.to["if"] = mended
			s.child("then")
			s.child("else")
		}
	}
	for _, keyword := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		if s.from.Get(keyword) != nil && s.out {
			s.drop("%s does not count, for a part beside it is missing", keyword)
			continue
		}
		s.child(keyword)
	}
}

func (s *rewriting) oneOf() {
	before := s.out
	s.out = false
	s.list("oneOf", "oneOf")
	if one, ok := s.to["oneOf"]; ok && s.out {
		delete(s.to, "oneOf")
		if _, taken := s.to["anyOf"]; !taken {
			s.to["anyOf"] = one
		}
	}
	s.out = s.out || before
}

// definitions stay where references look for them.
func (s *rewriting) definitions() {
	out := s.out
	s.children("$defs")
	s.children("definitions")
	s.out = out // what is left out of them counts where they are used
	if s.where == "" && !s.loose {
		s.out = out || len(s.faults) > 0
	}
}

func (s *rewriting) below(n *Node, where string) any {
	mended, out := s.schema(n, where)
	s.out = s.out || out
	return mended
}

func (s *rewriting) child(keyword string) {
	if n := s.from.Get(keyword); n != nil {
		s.to[keyword] = s.below(n, s.where)
	}
}

func (s *rewriting) children(keyword string) {
	n := s.from.Get(keyword)
	if n == nil {
		return
	}
	if !n.Is(Object) {
		s.drop("%s is no object and does not count", keyword)
		return
	}
	kept := make(map[string]any, len(n.Members))
	for _, m := range n.Members {
		kept[m.Name] = s.below(m.Value, s.at(m.Name))
	}
	s.to[keyword] = kept
}

func (s *rewriting) list(from, to string) {
	n := s.from.Get(from)
	if n == nil {
		return
	}
	if !n.Is(Array) || len(n.Items) == 0 {
		s.drop("%s is no list of schemas and does not count", from)
		return
	}
	kept := make([]any, len(n.Items))
	for i, item := range n.Items {
		kept[i] = s.below(item, s.where)
	}
	s.to[to] = kept
}

func unescape(token string) string {
	if plain, err := url.PathUnescape(token); err == nil {
		return plain
	}
	return token
}
