package catalog

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/catalog/schema"
	"github.com/gearbox-mcp/gearbox/internal/tool"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// Difference is one thing that is not as it was, for a human to read.
type Difference struct {
	What string // description, parameter path, hint destructive, …
	Old  string // empty where there was none
	New  string // empty where there is none any more
}

func (d Difference) String() string {
	switch {
	case d.Old == "" && d.New == "":
		return d.What
	case d.Old == "":
		return d.What + " added: " + d.New
	case d.New == "":
		return d.What + " removed: " + d.Old
	}
	return d.What + ": " + d.Old + " → " + d.New
}

// Changed tells what a definition says now that it did not say before. It is empty if and
// only if the pins of the two are equal.
func Changed(before, after tool.Definition) []Difference {
	c := &comparison{}
	c.text("server", before.Server, after.Server)
	c.text("name", before.Name, after.Name)
	c.text("title", before.Title, after.Title)
	c.text("description", before.Description, after.Description)
	c.input(before, after)
	if !bytes.Equal(canonical(before.Output), canonical(after.Output)) {
		c.changed("result", entryOf(before, "", "", Options{}).Returns, entryOf(after, "", "", Options{}).Returns, "of the output schema")
	}
	c.hint("read-only", before.Hints.ReadOnly, after.Hints.ReadOnly)
	c.hint("destructive", before.Hints.Destructive, after.Hints.Destructive)
	c.hint("idempotent", before.Hints.Idempotent, after.Hints.Idempotent)
	c.hint("open world", before.Hints.OpenWorld, after.Hints.OpenWorld)
	if before.Wrapped != after.Wrapped {
		c.found = append(c.found, Difference{"wrapping of results", fmt.Sprint(before.Wrapped), fmt.Sprint(after.Wrapped)})
	}
	return c.found
}

type comparison struct{ found []Difference }

// maxSpoken bounds each side of a difference, in characters.
const maxSpoken = 1000

func (c *comparison) text(what, before, after string) {
	if before == after {
		return
	}
	d := Difference{what, prose(before, maxSpoken), prose(after, maxSpoken)}
	if d.Old == d.New { // beyond what is shown, or in spaces
		d.Old, d.New = visible.Line(around(before, after)), visible.Line(around(after, before))
	}
	c.found = append(c.found, d)
}

// around is the part of s that begins where it differs from other.
func around(s, other string) string {
	i := 0
	for i < len(s) && i < len(other) && s[i] == other[i] {
		i++
	}
	start := strings.LastIndexFunc(s[:i], func(r rune) bool { return r == '\n' }) + 1
	return "…" + cut(s[max(start, min(i, i-40)):], maxParameter) + "…"
}

func (c *comparison) hint(what string, before, after *bool) {
	told := func(b *bool) string {
		if b == nil {
			return "not said"
		}
		return fmt.Sprint(*b)
	}
	if told(before) != told(after) {
		c.found = append(c.found, Difference{"hint " + what, told(before), told(after)})
	}
}

// changed is a difference that may not show in the summaries of both sides.
func (c *comparison) changed(what, before, after, rest string) {
	if before == after {
		what, before, after = what+": details "+rest, "", ""
	}
	c.found = append(c.found, Difference{what, before, after})
}

func (c *comparison) input(before, after tool.Definition) {
	if bytes.Equal(canonical(before.Input), canonical(after.Input)) {
		return
	}
	n := len(c.found)
	was, is := entryOf(before, "", "", Options{}), entryOf(after, "", "", Options{})
	for _, p := range was.Parameters {
		now, still := is.parameter(p.Raw)
		if !still {
			c.found = append(c.found, Difference{"parameter " + visible.Line(p.Raw), p.spoken(), ""})
			continue
		}
		c.parameter(p, now)
	}
	for _, p := range is.Parameters {
		if _, already := was.parameter(p.Raw); !already {
			c.found = append(c.found, Difference{"parameter " + visible.Line(p.Raw), "", p.spoken()})
		}
	}
	if was.Open != is.Open {
		c.found = append(c.found, Difference{"further arguments", passing(was.Open), passing(is.Open)})
	}
	if len(c.found) == n || rest(before.Input, was) != rest(after.Input, is) {
		c.found = append(c.found, Difference{What: "details of the input schema"})
	}
}

func passing(open bool) string {
	if open {
		return "pass"
	}
	return "are not listed"
}

// rest is what a schema says besides its properties.
func rest(text []byte, e Entry) string {
	if e.input.root == nil {
		return string(text)
	}
	clean := *e.input.root
	clean.Members = nil
	for _, m := range e.input.root.Members {
		if m.Name != "properties" && m.Name != "required" {
			clean.Members = append(clean.Members, m)
		}
	}
	return written(&clean)
}

func (e Entry) parameter(raw string) (Parameter, bool) {
	for _, p := range e.Parameters {
		if p.Raw == raw {
			return p, true
		}
	}
	return Parameter{}, false
}

// spoken is a parameter in a few words.
func (p Parameter) spoken() string {
	text := p.Type
	if p.Required {
		text += ", required"
	} else if s := p.defaultText(); s != "..." {
		text += " = " + s
	}
	if p.Note != "" {
		text += " (" + p.Note + ")"
	}
	if p.Description != "" {
		text += ": " + visible.Line(strings.Join(strings.Fields(cut(p.Description, maxParameter)), " "))
	}
	return text
}

func (c *comparison) parameter(before, after Parameter) {
	old, now := before.spoken(), after.spoken()
	if old != now {
		c.found = append(c.found, Difference{"parameter " + visible.Line(before.Raw), old, now})
		return
	}
	if written(before.schema) != written(after.schema) {
		c.found = append(c.found, Difference{What: "parameter " + visible.Line(before.Raw) + ": details of its schema"})
	}
}

// written is a value as canonical JSON.
func written(n *schema.Node) string {
	if n == nil {
		return ""
	}
	text, err := marshal(n.Any())
	if err != nil {
		return ""
	}
	return string(canonical(text))
}
