package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// Each of these would take minutes or gigabytes if anything in it were looked at twice for
// each of its parts.
func TestHugeDefinitionsAreReadWithinBounds(t *testing.T) {
	list := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, input := range map[string]string{
		"many required names": `{"type":"object","required":[` + list(`"n%d"`, 100_000) + `]}`,
		"many parameters":     `{"type":"object","properties":{` + list(`"-%d":{}`, 60_000) + `}}`,
		"many alternatives":   `{"anyOf":[` + list(`{"required":["a%d"]}`, 3000) + `]}`,
		"many keywords":       `{` + list(`"k%d":1`, 80_000) + `}`,
		"many values":         `{"properties":{"a":{"enum":[` + list(`%d`, 120_000) + `]}}}`,
		"many references":     `{"properties":{` + list(`"a%d":{"$ref":"#/$defs/a"}`, 3000) + `},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string"}}}`,
		"a long pattern":      `{"properties":{"a":{"pattern":"` + strings.Repeat("(a|b)?", 100_000) + `"}}}`,
		"a long name":         `{"properties":{"` + strings.Repeat("n", 900_000) + `":{"type":"string"}}}`,
		"a long reference":    `{"$ref":"#` + strings.Repeat("/a", 400_000) + `"}`,
		"a big default":       `{"properties":{"a":{"default":[` + list(`%d`, 120_000) + `]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := one(tool.Definition{Name: "f", Description: strings.Repeat("w ", 400_000), Input: json.RawMessage(input)})
			e := entry(t, c, "s.f")
			stub, err := c.Stub("s")
			if err != nil || len(stub) > 200_000 {
				t.Errorf("a stub of %d bytes, %v", len(stub), err)
			}
			if _, err := e.Validate(json.RawMessage(`{"a":"x"}`)); err != nil && len(err.Error()) > 40_000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if module, err := c.Module("s"); err != nil || len(module) > 300_000 {
				t.Errorf("a descriptor of %d bytes, %v", len(module), err)
			}
			if _, err := c.Search(strings.Repeat("word ", 100_000), "", 0); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestManyToolsAreListedWithinBounds(t *testing.T) {
	s := tool.Server{Name: "s"}
	for i := range 5000 {
		s.Tools = append(s.Tools, tool.Definition{Name: fmt.Sprintf("tool-%d", i), Description: "Does a thing.", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)})
	}
	c := catalog.New([]tool.Server{s}, catalog.Options{})
	if text := c.Instructions(catalog.DefaultBudget); !strings.Contains(text, "s(5000)") {
		t.Error(text)
	}
	f, err := c.Search("thing", "", 1000)
	if err != nil || f.Total != 5000 || len(f.Entries) != catalog.MaxLimit {
		t.Errorf("%d of %d, %v", len(f.Entries), f.Total, err)
	}
	if _, err := c.Resolve("s.toool-17"); err == nil || !strings.Contains(err.Error(), "s.tool_17") {
		t.Error(err)
	}
}
