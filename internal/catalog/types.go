package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/catalog/schema"
)

// The bounds of a type that is written out. Beyond them it is dict, list or Any, and the
// level schema has the rest.
const (
	maxNesting  = 3   // of objects
	maxLiterals = 16  // values of an enumeration
	maxLiteral  = 60  // characters of one of them
	maxMembers  = 24  // of an object
	maxNodes    = 200 // schemas visited for one type
	maxHops     = 16  // references after one another
)

const anything = "Any"

// typer writes schemas as Python types: dict displays for objects, Literal for constants.
type typer struct {
	root *schema.Node
	left int // schemas that may still be visited
}

// typeOf is the type of one schema within root.
func typeOf(root, n *schema.Node) string {
	t := &typer{root: root, left: maxNodes}
	return t.of(n, 0)
}

func (t *typer) of(n *schema.Node, depth int) string {
	if t.left--; t.left < 0 {
		return anything
	}
	n = follow(t.root, n)
	if !n.Is(schema.Object) {
		return anything
	}
	base := t.base(n, depth)
	if nullable := n.Get("nullable"); nullable.Is(schema.Bool) && nullable.Text == "true" {
		return union([]string{base, "None"})
	}
	return base
}

func (t *typer) base(n *schema.Node, depth int) string {
	if list := n.Get("enum"); list.Is(schema.Array) && len(list.Items) > 0 {
		return enumeration(list.Items)
	}
	if c := n.Get("const"); c != nil {
		return enumeration([]*schema.Node{c})
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list := n.Get(keyword); list.Is(schema.Array) && len(list.Items) > 0 && n.Get("properties") == nil {
			return t.union(list.Items, depth)
		}
	}
	if list := n.Get("allOf"); list.Is(schema.Array) && n.Get("type") == nil && n.Get("properties") == nil {
		return t.all(n, depth)
	}
	kind := n.Get("type")
	if kind.Is(schema.Array) {
		var all []string
		for _, k := range kind.Items {
			all = append(all, t.named(n, k.Str(), depth))
		}
		return union(all)
	}
	return t.named(n, kind.Str(), depth)
}

func (t *typer) named(n *schema.Node, name string, depth int) string {
	switch {
	case name == "string":
		return "str"
	case name == "integer":
		return "int"
	case name == "number":
		return "float"
	case name == "boolean":
		return "bool"
	case name == "null":
		return "None"
	case name == "array" || name == "" && n.Get("items") != nil:
		if items := n.Get("items"); items.Is(schema.Object) {
			if item := t.of(items, depth); item != anything {
				return "list[" + item + "]"
			}
		}
		return "list"
	case name == "object" || name == "" && n.Get("properties") != nil:
		return t.object(n, depth)
	}
	return anything
}

func (t *typer) object(n *schema.Node, depth int) string {
	members := membersOf(t.root, n)
	if len(members) == 0 {
		if extra := n.Get("additionalProperties"); extra.Is(schema.Object) {
			if value := t.of(extra, depth); value != anything {
				return "dict[str, " + value + "]"
			}
		}
		return "dict"
	}
	if depth == maxNesting || len(members) > maxMembers {
		return "dict"
	}
	var b strings.Builder
	for i, m := range members {
		if i > 0 {
			b.WriteString(", ")
		}
		name := m.name
		if !m.required {
			name += "?"
		}
		b.WriteString(quoted(name) + ": " + t.of(m.schema, depth+1))
	}
	return "{" + b.String() + "}"
}

func (t *typer) union(list []*schema.Node, depth int) string {
	var all []string
	for _, n := range list {
		all = append(all, t.of(n, depth))
	}
	return union(all)
}

// all is what allOf comes to: the object of all members, or the first type that says one.
func (t *typer) all(n *schema.Node, depth int) string {
	if len(membersOf(t.root, n)) > 0 {
		return t.object(n, depth)
	}
	for _, part := range n.Get("allOf").Items {
		if name := t.of(part, depth); name != anything {
			return name
		}
	}
	return anything
}

func union(all []string) string {
	var names []string
	for _, name := range all {
		if name == anything {
			return anything
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return anything
	}
	return strings.Join(names, " | ")
}

// enumeration is Literal, or the types of the values where they are many or no constants.
func enumeration(values []*schema.Node) string {
	var texts, kinds []string
	whole := len(values) <= maxLiterals
	for _, v := range values {
		text, ok := literal(v, maxLiteral)
		whole = whole && ok && v.Kind != schema.Array && v.Kind != schema.Object
		texts = append(texts, text)
		kinds = append(kinds, kindName(v))
	}
	if whole {
		return "Literal[" + strings.Join(texts, ", ") + "]"
	}
	return union(kinds)
}

func kindName(n *schema.Node) string {
	switch n.Kind {
	case schema.String:
		return "str"
	case schema.Bool:
		return "bool"
	case schema.Null:
		return "None"
	case schema.Array:
		return "list"
	case schema.Object:
		return "dict"
	case schema.Number:
		if strings.ContainsAny(n.Text, ".eE") {
			return "float"
		}
		return "int"
	}
	return anything
}

// member is one property of an object.
type member struct {
	name     string
	schema   *schema.Node
	required bool
}

// membersOf are the properties of a schema, those of references, allOf and alternatives
// among them, required ones first. What only an alternative requires is not required.
func membersOf(root, n *schema.Node) []member {
	c := &gathering{root: root, at: map[string]int{}, left: maxNodes}
	c.add(n, true)
	slices.SortStableFunc(c.found, func(a, b member) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return c.found
}

type gathering struct {
	root  *schema.Node
	found []member
	at    map[string]int
	left  int
}

func (c *gathering) add(n *schema.Node, certain bool) {
	if c.left--; c.left < 0 {
		return
	}
	if n = follow(c.root, n); !n.Is(schema.Object) {
		return
	}
	if properties := n.Get("properties"); properties != nil {
		for _, m := range properties.Members {
			if _, known := c.at[m.Name]; known {
				continue
			}
			c.at[m.Name] = len(c.found)
			c.found = append(c.found, member{name: m.Name, schema: m.Value})
		}
	}
	c.alternatives(n, "allOf", certain)
	c.alternatives(n, "anyOf", false)
	c.alternatives(n, "oneOf", false)
	if list := n.Get("required"); certain && list.Is(schema.Array) {
		for _, item := range list.Items {
			if i, ok := c.at[item.Text]; ok && item.Is(schema.String) {
				c.found[i].required = true
			}
		}
	}
}

func (c *gathering) alternatives(n *schema.Node, keyword string, certain bool) {
	if list := n.Get(keyword); list.Is(schema.Array) {
		for _, part := range list.Items {
			c.add(part, certain)
		}
	}
}

// follow goes where local references lead. What they lead nowhere is nil.
func follow(root, n *schema.Node) *schema.Node {
	for range maxHops {
		ref := n.Get("$ref")
		if ref == nil {
			return n
		}
		n = lookup(root, ref.Str())
	}
	return nil
}

func lookup(root *schema.Node, ref string) *schema.Node {
	if ref == "#" {
		return root
	}
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	n := root
	for token := range strings.SplitSeq(pointer, "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if n.Is(schema.Array) {
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil
			}
			n = n.Items[i]
			continue
		}
		n = n.Get(token)
	}
	return n
}
