package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// Sort is what a caller may want to say more about than the sentence does.
type Sort int

// The sorts.
const (
	Wrong   Sort = iota // the value at Path
	Missing             // there is none at Path
	Unknown             // nothing may be at Path
)

// Problem is one thing that is wrong with a value: where, and what as the rest of a sentence
// of which the place is the subject.
type Problem struct {
	Sort Sort
	Path []string
	Text string
}

const (
	maxProblems    = 10
	maxAlternative = 3
	maxShown       = 80 // characters of a value in a sentence
)

// problems are what a report of the library comes to, by place.
func problems(err *jsonschema.ValidationError, root any) []Problem {
	c := &collector{root: root}
	c.collect(err)
	slices.SortStableFunc(c.found, func(a, b Problem) int { return slices.Compare(a.Path, b.Path) })
	c.found = slices.CompactFunc(c.found, func(a, b Problem) bool { return a.Text == b.Text && slices.Equal(a.Path, b.Path) })
	if more := len(c.found) - maxProblems; more > 0 {
		c.found = append(c.found[:maxProblems], Problem{Text: fmt.Sprintf("have %d more problems", more)})
	}
	return c.found
}

type collector struct {
	root  any
	found []Problem
}

func (c *collector) add(sort Sort, path []string, format string, args ...any) {
	c.found = append(c.found, Problem{Sort: sort, Path: slices.Clone(path), Text: fmt.Sprintf(format, args...)})
}

func (c *collector) collect(err *jsonschema.ValidationError) {
	path := err.InstanceLocation
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range err.Causes {
			c.collect(cause)
		}
	case *kind.RefCycle: // the schema refers to itself alone, which says nothing of the value
	case *kind.AnyOf:
		c.alternatives(err)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			c.add(Wrong, path, "fits more than one of the alternatives, and must fit exactly one")
			return
		}
		c.alternatives(err)
	case *kind.Required:
		for _, name := range k.Missing {
			c.add(Missing, below(path, name), "is missing")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			c.add(Missing, below(path, name), "is missing, and is needed together with %s", shown(k.Prop))
		}
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		for _, name := range k.Properties {
			c.add(Unknown, below(path, name), "is not known")
		}
	case *kind.FalseSchema:
		c.add(Unknown, path, "must not be given")
	case *kind.PropertyNames:
		c.add(Wrong, path, "must not have the name %s", shown(k.Property))
	default:
		c.add(Wrong, path, "%s", sentence(err.ErrorKind, value(c.root, path)))
	}
}

func below(path []string, name string) []string { return append(slices.Clone(path), name) }

// alternatives tells why a value fits none of several schemas. Those of another type than
// the value are not what its writer meant, unless all of them are.
func (c *collector) alternatives(err *jsonschema.ValidationError) {
	var meant, all [][]Problem
	for _, cause := range err.Causes {
		branch := &collector{root: c.root}
		branch.collect(cause)
		if len(branch.found) == 0 {
			return // as far as can be told it fits
		}
		all = append(all, branch.found)
		if !offType(cause, err.InstanceLocation) {
			meant = append(meant, branch.found)
		}
	}
	if len(meant) == 0 {
		meant = all
	}
	if len(meant) == 1 {
		c.found = append(c.found, meant[0]...)
		return
	}
	var texts []string
	for _, branch := range meant {
		first := branch[0]
		text := Place(first.Path[min(len(first.Path), len(err.InstanceLocation)):])
		if text = strings.TrimSpace(text + " " + first.Text); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if more := len(texts) - maxAlternative; more > 0 {
		texts = append(texts[:maxAlternative], fmt.Sprintf("%d more", more))
	}
	if len(texts) == 1 {
		c.add(Wrong, err.InstanceLocation, "%s", texts[0])
		return
	}
	c.add(Wrong, err.InstanceLocation, "fits none of the alternatives: %s", strings.Join(texts, "; or "))
}

// offType reports whether an alternative fails at once, by its type or by a constant.
func offType(err *jsonschema.ValidationError, at []string) bool {
	if !slices.Equal(err.InstanceLocation, at) {
		return false
	}
	switch err.ErrorKind.(type) {
	case *kind.Type, *kind.Const:
		return true
	case *kind.Reference, *kind.Group:
		return slices.ContainsFunc(err.Causes, func(cause *jsonschema.ValidationError) bool { return offType(cause, at) })
	}
	return false
}

// sentence tells what a value must be.
func sentence(k jsonschema.ErrorKind, v any) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + typeNames(k.Want) + ", not " + described(v)
	case *kind.Enum:
		return "must be " + oneOf(k.Want) + ", not " + shown(v)
	case *kind.Const:
		return "must be " + shown(k.Want) + ", not " + shown(v)
	case *kind.Not:
		return "must not be what is excluded here: " + shown(v)
	case *kind.UniqueItems:
		return fmt.Sprintf("must not hold the same twice, as at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Pattern:
		return "must match the pattern " + shown(k.Want) + ", which " + shown(k.Got) + " does not"
	case *kind.Contains, *kind.MinContains:
		return "must hold more items of the kind that it needs"
	case *kind.MaxContains:
		return "must hold fewer items of a kind"
	}
	return amount(k)
}

// amount tells about bounds.
func amount(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters, not %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters, not %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, not %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, not %d", k.Want, k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d members, not %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d members, not %d", k.Want, k.Got)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString() + ", not " + k.Got.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString() + ", not " + k.Got.RatString()
	case *kind.ExclusiveMinimum:
		return "must be more than " + k.Want.RatString() + ", not " + k.Got.RatString()
	case *kind.ExclusiveMaximum:
		return "must be less than " + k.Want.RatString() + ", not " + k.Got.RatString()
	case *kind.MultipleOf:
		return "must be a multiple of " + k.Want.RatString() + ", not " + k.Got.RatString()
	}
	return "does not fit: " + strings.Join(k.KeywordPath(), " ")
}

// pythonic are the types by the names that a Python program knows.
var pythonic = map[string]string{
	"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict", "null": "None",
}

func typeNames(want []string) string {
	names := make([]string, len(want))
	for i, name := range want {
		names[i] = pythonic[name]
	}
	return strings.Join(names, " or ")
}

func described(v any) string {
	name := "None"
	switch v := v.(type) {
	case nil:
		return name
	case bool:
		name = "bool"
	case string:
		name = "str"
	case json.Number:
		name = "int"
		if strings.ContainsAny(string(v), ".eE") {
			name = "float"
		}
	case []any:
		name = "list"
	case map[string]any:
		name = "dict"
	}
	return "the " + name + " " + shown(v)
}

func oneOf(values []any) string {
	const most = 12
	var texts []string
	for _, v := range values[:min(len(values), most)] {
		texts = append(texts, shown(v))
	}
	if more := len(values) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

// shown is a value on one line, cut.
func shown(v any) string {
	text, err := json.Marshal(abridged(v, 3))
	if err != nil {
		return "a value"
	}
	line := visible.Line(string(text))
	if utf8.RuneCountInString(line) > maxShown {
		line = string([]rune(line)[:maxShown]) + "…"
	}
	return line
}

// abridged is enough of a value to show the beginning of it.
func abridged(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return strings.ToValidUTF8(v[:min(len(v), 4*maxShown)], "")
	case []any:
		if depth == 0 {
			return []any{}
		}
		list := []any{}
		for _, item := range v[:min(len(v), maxShown)] {
			list = append(list, abridged(item, depth-1))
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v))[:min(len(v), maxShown)] {
			if depth > 0 {
				object[name] = abridged(v[name], depth-1)
			}
		}
		return object
	}
	return v
}

// value is what lies at a path.
func value(v any, path []string) any {
	for _, token := range path {
		switch inside := v.(type) {
		case map[string]any:
			v = inside[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(inside) {
				return nil
			}
			v = inside[i]
		}
	}
	return v
}

// Place writes a path as a program would: labels[2].name.
func Place(path []string) string {
	var b strings.Builder
	for _, token := range path {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + visible.Line(token))
		default:
			b.WriteString(visible.Line(token))
		}
	}
	return b.String()
}
