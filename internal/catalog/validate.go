package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/catalog/schema"
	"github.com/gearbox-mcp/gearbox/internal/visible"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxArguments bounds the arguments of one call, in bytes.
const MaxArguments = 16 << 20

// Validate checks the arguments of a call against the input schema and returns them as they
// are to be sent: names in Python replaced by raw ones, and a default where the schema
// requires what has one. No arguments (nothing, or null) are the empty object. The error is
// an [*InvalidArgumentsError].
//
// What the schema says and cannot be checked here ([Entry.Faults]) passes.
func (e Entry) Validate(args json.RawMessage) (json.RawMessage, error) {
	members, problem := e.arguments(args)
	if problem != "" {
		return nil, e.invalid(problem)
	}
	members = e.filled(members)
	compiled, _ := e.input.get()
	if compiled != nil {
		found, err := compiled.Validate((&schema.Node{Kind: schema.Object, Members: members.parsed()}).Any())
		if err != nil {
			return nil, e.invalid(fmt.Sprintf("The arguments cannot be checked against the schema of this tool (%v), and nothing was sent. Send less, or ask the server's author for a simpler schema.", err))
		}
		if len(found) > 0 {
			return nil, e.invalid(e.sentences(found)...)
		}
	}
	return members.object(), nil
}

func (e Entry) invalid(problems ...string) error {
	return &InvalidArgumentsError{Tool: e.Name(), Problems: problems, Signature: e.Module + "." + e.Signature()}
}

// argument is one member of the arguments, by its raw name.
type argument struct {
	name  string
	text  jsontext.Value
	value *schema.Node
}

type arguments []argument

// arguments splits an object without losing a byte of its values.
func (e Entry) arguments(text []byte) (arguments, string) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return nil, ""
	}
	if text[0] != '{' {
		return nil, "The arguments must be one JSON object of names and values."
	}
	root, err := schema.Parse(text, MaxArguments)
	if err != nil {
		return nil, unsendable(err)
	}
	d := jsontext.NewDecoder(bytes.NewReader(text)) // strict: one member of each name, and UTF-8
	if _, err := d.ReadToken(); err != nil {
		return nil, unsendable(err)
	}
	all, seen := make(arguments, 0, len(root.Members)), make(map[string]bool, len(root.Members))
	for d.PeekKind() != '}' {
		a, err := readArgument(d)
		if err != nil {
			return nil, unsendable(err)
		}
		// As no name came twice so far, members stand in the same order here and there.
		a.value = root.Members[len(all)].Value
		if raw, ok := e.raw[a.name]; ok {
			a.name = raw
		}
		if seen[a.name] {
			return nil, fmt.Sprintf("%s is given twice, by its name in Python and by the server's: give one of them.", shownName(a.name))
		}
		seen[a.name] = true
		all = append(all, a)
	}
	return all, ""
}

func unsendable(err error) string {
	return "The arguments are no JSON object that can be sent: " + visible.Line(err.Error()) + "."
}

// readArgument reads a name and a value.
func readArgument(d *jsontext.Decoder) (argument, error) {
	name, err := d.ReadToken()
	if err != nil {
		return argument{}, err
	}
	a := argument{name: name.String()}
	value, err := d.ReadValue()
	a.text = value.Clone()
	return a, err
}

// filled adds defaults of parameters that the schema requires: some libraries list a
// parameter with a default as required, and a model rightly leaves it out.
func (e Entry) filled(all arguments) arguments {
	if e.input.root == nil {
		return all
	}
	given := make(map[string]bool, len(all))
	for _, a := range all {
		given[a.name] = true
	}
	for _, p := range e.Parameters {
		if !p.mandatory || p.Default == nil || given[p.Raw] {
			continue
		}
		if text, err := marshal(p.Default.Any()); err == nil {
			all = append(all, argument{name: p.Raw, text: text, value: p.Default})
		}
	}
	return all
}

func (all arguments) parsed() []schema.Member {
	members := make([]schema.Member, len(all))
	for i, a := range all {
		members[i] = schema.Member{Name: a.name, Value: a.value}
	}
	return members
}

func (all arguments) object() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, a := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := jsontext.AppendQuote(nil, a.name)
		if err != nil {
			continue // the decoder has read the name, so that it is valid
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(a.text)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// sentences tell problems by the names that a program knows, and how to mend them.
func (e Entry) sentences(found []schema.Problem) []string {
	var all []string
	for _, p := range found {
		subject, top := "The arguments", Parameter{}
		known := false
		if len(p.Path) > 0 {
			path := slices.Clone(p.Path)
			if top, known = e.parameter(path[0]); known {
				path[0] = top.Python
			}
			subject = schema.Place(path)
			if subject == "" {
				subject = `""`
			}
		}
		text := subject + " " + p.Text
		switch {
		case p.Sort == schema.Missing && len(p.Path) == 1 && known:
			text += ": give " + top.Python + ": " + top.Type
		case p.Sort == schema.Unknown && len(p.Path) == 1:
			text += e.instead(p.Path[0])
		}
		all = append(all, text+".")
	}
	return all
}

// instead names the parameters that there are.
func (e Entry) instead(name string) string {
	const most = 20
	var all []string
	for _, p := range e.Parameters {
		all = append(all, p.Python)
	}
	if len(all) == 0 {
		return "; the tool takes no arguments"
	}
	text := ""
	if like := closest(name, all, 1, resembling); len(like) > 0 {
		text = "; did you mean " + like[0] + "?"
	}
	return text + " (parameters: " + strings.Join(all[:min(len(all), most)], ", ") + ")"
}

func shownName(name string) string { return visible.Line(cut(name, maxLiteral)) }
