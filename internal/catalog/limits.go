package catalog

import (
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/catalog/schema"
)

// limits tells what a type does not: bounds, patterns, formats, long enumerations.
func limits(n *schema.Node) string {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	for _, bound := range []struct{ keyword, text string }{
		{"minimum", "at least"},
		{"exclusiveMinimum", "more than"},
		{"maximum", "at most"},
		{"exclusiveMaximum", "less than"},
		{"multipleOf", "a multiple of"},
		{"minLength", "characters at least"},
		{"maxLength", "characters at most"},
		{"minItems", "items at least"},
		{"maxItems", "items at most"},
	} {
		if v := n.Get(bound.keyword); v.Is(schema.Number) && len(v.Text) <= maxLiteral {
			say("%s %s", bound.text, v.Text)
		}
	}
	for _, keyword := range []string{"format", "pattern"} {
		if v := n.Get(keyword); v.Is(schema.String) {
			if text, ok := literal(v, maxLiteral); ok {
				say("%s %s", keyword, text)
			}
		}
	}
	if list := n.Get("enum"); list.Is(schema.Array) && !strings.HasPrefix(enumeration(list.Items), "Literal") {
		say("one of %d values, see the level schema", len(list.Items))
	}
	return strings.Join(said, "; ")
}
