package schema

import "net/url"

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
	list, seen := []any{}, map[string]bool{}
	for _, item := range n.Items {
		if !item.Is(String) {
			return nil, false
		}
		if !seen[item.Text] {
			seen[item.Text] = true
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
