package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// Detail is how much is told of a tool.
type Detail string

// The levels, each telling more than the one before.
const (
	DetailName      Detail = "name"
	DetailBrief     Detail = "brief"     // and a sentence
	DetailSignature Detail = "signature" // and how it is called
	DetailFull      Detail = "full"      // and all that is written about it
	DetailSchema    Detail = "schema"    // the definition itself, as JSON
)

// Details are all levels.
func Details() []Detail {
	return []Detail{DetailName, DetailBrief, DetailSignature, DetailFull, DetailSchema}
}

// Valid reports whether d is a level.
func (d Detail) Valid() bool { return slices.Contains(Details(), d) }

// The bounds of what is shown of one text, in characters. The level schema has all of it.
const (
	maxProse      = 2000 // a tool's description
	maxParameter  = 400  // a parameter's
	maxReturns    = 400  // the type of a result
	maxReturnsSig = 160  // the same at the level signature
)

// Render shows tools at a level, in order, those of one server that follow each other under
// one heading. The text is Python, but for the level schema, which is JSON, one object a line.
func Render(entries []Entry, detail Detail) string {
	var b strings.Builder
	for i, e := range entries {
		if i == 0 || entries[i-1].Module != e.Module {
			heading(&b, e, detail, i > 0)
		} else if detail == DetailName {
			b.WriteString(", ")
		}
		e.render(&b, detail)
	}
	if detail == DetailName && len(entries) > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

func heading(b *strings.Builder, e Entry, detail Detail, again bool) {
	switch detail {
	case DetailName:
		if again {
			b.WriteByte('\n')
		}
		b.WriteString(e.Module + ": ")
	case DetailSchema:
	default:
		fmt.Fprintf(b, "# from tools import %s\n", e.Module)
	}
}

func (e Entry) render(b *strings.Builder, detail Detail) {
	switch detail {
	case DetailName:
		b.WriteString(e.Python)
	case DetailBrief:
		b.WriteString(e.Python)
		if text := e.brief(); text != "" {
			b.WriteString(": " + said(text))
		}
		b.WriteByte('\n')
	case DetailSignature:
		b.WriteString("def " + e.signature(maxReturnsSig) + ":")
		b.WriteString(remark(e.remarks()...))
		if text := e.brief(); text != "" {
			b.WriteString("\n    " + said(text) + "\n")
		} else {
			b.WriteString("\n    ...\n")
		}
	case DetailFull:
		b.WriteString("def " + e.signature(maxReturns) + ":")
		b.WriteString(remark(e.remarks()...) + "\n    " + docstring(e.doc(), "    ") + "\n")
	case DetailSchema:
		b.Write(e.definition())
		b.WriteByte('\n')
	}
}

// brief is one sentence about the tool.
func (e Entry) brief() string {
	if text := sentence(e.Definition.Description); text != "" {
		return text
	}
	return sentence(e.Definition.Title)
}

// Signature is how a program calls the tool: create_issue(*, title: str) -> dict.
func (e Entry) Signature() string { return e.signature(maxReturns) }

func (e Entry) signature(most int) string {
	var all []string
	for _, p := range e.Parameters {
		text := p.Python + ": " + p.Type
		if p.Type == anything {
			text = p.Python
		}
		if !p.Required {
			text += " = " + p.defaultText()
		}
		all = append(all, text)
	}
	list := ""
	if len(all) > 0 {
		list = "*, " + strings.Join(all, ", ")
	}
	if e.Open {
		if list != "" {
			list += ", "
		}
		list += "**" + e.rest()
	}
	returns := e.Returns
	if len([]rune(returns)) > most {
		returns, _, _ = strings.Cut(returns, "[")
		if strings.HasPrefix(returns, "{") {
			returns = "dict"
		}
		if !plainName(returns) {
			returns = anything
		}
	}
	if returns != "" {
		returns = " -> " + returns
	}
	return e.Python + "(" + list + ")" + returns
}

func plainName(s string) bool { return s == identifier(s) }

// rest is a name for further arguments that no parameter has.
func (e Entry) rest() string {
	name := "more"
	for slices.ContainsFunc(e.Parameters, func(p Parameter) bool { return p.Python == name }) {
		name += "_"
	}
	return name
}

// defaultText is a default where it can be written shortly, else three dots.
func (p Parameter) defaultText() string {
	const most = 40
	if p.Default != nil {
		if text, ok := literal(p.Default, most); ok {
			return text
		}
	}
	return "..."
}

// remarks are what is to be known before a call: effects, and what the product says. That a
// server which is not trusted claims to write is nothing new.
func (e Entry) remarks() []string {
	effect, hints := "", e.Definition.Hints
	switch {
	case hints.ReadOnly != nil && *hints.ReadOnly:
		effect = "read-only"
	case hints.Destructive != nil && *hints.Destructive:
		effect = "destructive"
	case e.Trusted && (hints.ReadOnly != nil || hints.Destructive != nil):
		effect = "writes"
	}
	if effect != "" && !e.Trusted {
		effect = "claims: " + effect
	}
	return []string{effect, e.Note}
}

// doc is everything that is written about a tool, as text.
func (e Entry) doc() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if title := words(cut(e.Definition.Title, maxIndexed)); len(title) > 0 && !slices.Equal(title, words(e.Definition.Name)) {
		add("%s", prose(e.Definition.Title, maxParameter))
	}
	if text := prose(e.Definition.Description, maxProse); text != "" {
		add("%s", text)
	}
	var lines []string
	for _, p := range e.Parameters {
		if line := p.doc(); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		add("%s", strings.Join(lines, "\n"))
	}
	if e.Python != e.Definition.Name {
		add("The server calls it %s.", quoted(cut(e.Definition.Name, maxName)))
	}
	for _, fault := range e.Faults() {
		add("%s", visible.Line(fault))
	}
	return strings.Join(parts, "\n\n")
}

func (p Parameter) doc() string {
	var parts []string
	if text := visible.Line(strings.Join(strings.Fields(cutBytes(p.Description, maxParameter)), " ")); text != "" {
		parts = append(parts, text)
	}
	if p.Note != "" {
		parts = append(parts, "("+p.Note+")")
	}
	if p.Python != p.Raw {
		parts = append(parts, "The server calls it "+quoted(cut(p.Raw, maxName))+".")
	}
	if len(parts) == 0 {
		return ""
	}
	return p.Python + ": " + strings.Join(parts, " ")
}

// definition is the definition as JSON, with a name to call it by and its faults.
func (e Entry) definition() []byte {
	type shown struct {
		Name        string          `json:"name"`
		Server      string          `json:"server"`
		Tool        string          `json:"tool"`
		Title       string          `json:"title,omitempty"`
		Description string          `json:"description,omitempty"`
		Input       json.RawMessage `json:"input_schema,omitempty"`
		Output      json.RawMessage `json:"output_schema,omitempty"`
		Hints       any             `json:"hints,omitempty"`
		Faults      []string        `json:"faults,omitempty"`
	}
	d := e.Definition
	s := shown{Name: e.Name(), Server: d.Server, Tool: d.Name, Title: d.Title, Description: d.Description, Input: valid(d.Input), Output: valid(d.Output), Faults: e.Faults()}
	if d.Hints.ReadOnly != nil || d.Hints.Destructive != nil || d.Hints.Idempotent != nil || d.Hints.OpenWorld != nil {
		s.Hints = d.Hints
	}
	text, err := marshal(s)
	if err != nil {
		return []byte(`{}`)
	}
	return visible.JSON(text)
}

// valid is a schema as it can stand in JSON: what is none stands there as a string.
func valid(text json.RawMessage) json.RawMessage {
	if len(text) == 0 || json.Valid(text) {
		return text
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		return nil
	}
	return quoted
}

// Text is what a search answers to a model: the tools at a level, under a line that says
// what was found.
func (f Found) Text(query string, detail Detail) string {
	var counts []string
	for _, name := range slices.Sorted(maps.Keys(f.Servers)) {
		counts = append(counts, fmt.Sprintf("%s(%d)", name, f.Servers[name]))
	}
	servers := strings.Join(counts, ", ")
	query = quoted(cut(query, 80))
	switch {
	case len(counts) == 0:
		return "No server is connected.\n"
	case f.Total == 0:
		return fmt.Sprintf("Nothing matches %s; servers: %s\n", query, servers)
	}
	guess := ""
	if f.Guessed {
		guess = fmt.Sprintf("Nothing matches %s; similar: ", query)
	}
	return fmt.Sprintf("%sshowing %d of %d; servers: %s\n%s", guess, len(f.Entries), f.Total, servers, Render(f.Entries, detail))
}
