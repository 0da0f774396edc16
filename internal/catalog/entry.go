package catalog

import (
	"slices"
	"strings"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/catalog/schema"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// Entry is one tool as a program and a model know it.
type Entry struct {
	Definition tool.Definition
	Module     string // of its server
	Python     string // its function there
	Parameters []Parameter
	// Open tells that arguments besides Parameters pass.
	Open bool
	// Returns is the type of its value; empty where nothing is known of it.
	Returns string
	Pin     execution.Digest
	// Trusted tells that the operator believes the hints, and Note is what the product
	// says of the tool.
	Trusted bool
	Note    string
	// Ambiguous tells that its server.tool reads as one of another server, as b.c of a and
	// c of a.b do: a rule for the tools of the one holds for the other.
	Ambiguous bool

	faults []string
	input  *checker
	// raw are the names of parameters by both of theirs.
	raw map[string]string
	// wraps tells that the structured value is taken out of {"result": …}.
	wraps bool
}

// Parameter is one argument of a tool.
type Parameter struct {
	Python   string
	Raw      string
	Type     string
	Required bool
	// Default is the value that the server takes where none is given; nil where it names
	// none.
	Default     *schema.Node
	Description string
	// Note is what Type leaves out.
	Note string

	schema *schema.Node
	// mandatory tells that the schema requires it, whether or not it has a default.
	mandatory bool
}

// Name is module.function, by which a program calls the tool.
func (e Entry) Name() string { return e.Module + "." + e.Python }

// Faults are what is wrong with the definition, and what that means for a call.
func (e Entry) Faults() []string {
	_, told := e.input.get()
	faults := append(slices.Clone(e.faults), told...)
	if e.Ambiguous {
		faults = append(faults, "Its server.tool reads as a tool of another server, so that a rule for the one holds for the other: it cannot be called until one of the servers has a name without a dot.")
	}
	return faults
}

// The bounds of what is listed of a tool's parameters.
const (
	maxParameters    = 128
	maxParameterName = 512 // bytes
)

func entryOf(d tool.Definition, module, python string, o Options) Entry {
	e := Entry{Definition: d, Module: module, Python: python, Pin: Pin(d)}
	e.Trusted = o.Trusted != nil && o.Trusted(d.Server)
	if o.Note != nil {
		e.Note = o.Note(d)
	}
	if before, ok := o.Previous.known(d, e.Pin); ok {
		before.Module, before.Python, before.Trusted, before.Note, before.Ambiguous = e.Module, e.Python, e.Trusted, e.Note, false
		return before
	}
	if d.Name == "" {
		e.faults = append(e.faults, "The tool has no name.")
	}
	if python != d.Name && len(d.Name) > maxName {
		e.faults = append(e.faults, "The name is longer than the protocol has it and is cut in Python.")
	}
	e.read(d)
	return e
}

// known is the entry of the catalog before for the same definition.
func (c *Catalog) known(d tool.Definition, pin execution.Digest) (Entry, bool) {
	if c == nil {
		return Entry{}, false
	}
	s, ok := c.named[d.Server]
	if !ok {
		return Entry{}, false
	}
	i, ok := slices.BinarySearchFunc(s.Entries, d.Name, func(e Entry, name string) int { return strings.Compare(e.Definition.Name, name) })
	if !ok || s.Entries[i].Pin != pin {
		return Entry{}, false
	}
	return s.Entries[i], true
}

// read takes parameters and the type of the result from the schemas.
func (e *Entry) read(d tool.Definition) {
	e.input, e.raw = &checker{}, map[string]string{}
	e.Open, e.wraps = true, d.Wrapped
	if len(d.Input) > 0 {
		root, err := schema.Parse(d.Input, schema.MaxBytes)
		if err != nil {
			e.faults = append(e.faults, "The input schema cannot be read ("+err.Error()+"), so that arguments are not checked here.")
		} else {
			e.input.root = root
			e.parameters(root)
		}
	}
	if len(d.Output) > 0 {
		root, err := schema.Parse(d.Output, schema.MaxBytes)
		if err != nil {
			e.faults = append(e.faults, "The output schema cannot be read ("+err.Error()+") and does not count.")
			return
		}
		e.wraps = wrapped(d, root)
		e.Returns = returned(root, e.wraps)
	}
}

func (e *Entry) parameters(root *schema.Node) {
	if root.Is(schema.Bool) {
		return
	}
	all := membersOf(root, root)
	members := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return len(m.name) > maxParameterName })
	members = members[:min(len(members), maxParameters)]
	if e.Open = open(root); len(members) < len(all) {
		e.Open = true
		e.faults = append(e.faults, "The tool has more parameters than are listed; the others may be given by their raw names.")
	}
	var raw []string
	for _, m := range members {
		raw = append(raw, m.name)
	}
	names := identify(raw, parameterTaken)
	for _, m := range members {
		p := Parameter{Python: names[m.name], Raw: m.name, Required: m.required, mandatory: m.required, schema: m.schema, Type: typeOf(root, m.schema)}
		target := follow(root, m.schema)
		p.Default = firstOf(m.schema.Get("default"), target.Get("default"))
		if p.Required && p.Default.Is(schema.Null) && !nullable(p.Type) {
			p.Default = nil // as some libraries write that there is none
		}
		if p.Required && p.Default != nil { // as some libraries write a parameter with a default
			p.Required = false
		}
		p.Description = firstOf(m.schema.Get("description"), target.Get("description")).Str()
		p.Note = limits(target)
		e.Parameters = append(e.Parameters, p)
		e.raw[p.Python], e.raw[p.Raw] = p.Raw, p.Raw
	}
	slices.SortStableFunc(e.Parameters, func(a, b Parameter) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
}

func nullable(name string) bool { return name == anything || strings.Contains(name, "None") }

func firstOf(nodes ...*schema.Node) *schema.Node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

// open reports whether arguments that are not listed pass, as far as that is meant: a schema
// that does not say so lets them pass, and means nothing by it.
func open(root *schema.Node) bool {
	n := follow(root, root)
	extra := n.Get("additionalProperties")
	if extra.Is(schema.Object) || extra.Is(schema.Bool) && extra.Text == "true" || n.Get("patternProperties") != nil {
		return true
	}
	return extra == nil && n.Get("properties") == nil && n.Get("type") == nil
}

// returned is the type of the value that a program gets.
func returned(root *schema.Node, wraps bool) string {
	n := root
	if wraps {
		n = root.Get("properties").Get("result")
	}
	if name := typeOf(root, n); name != anything {
		return name
	}
	return ""
}

// wrapped reports whether the server wraps its results in {"result": …}.
func wrapped(d tool.Definition, root *schema.Node) bool {
	if mark := root.Get("x-fastmcp-wrap-result"); mark.Is(schema.Bool) && mark.Text == "true" {
		return true
	}
	return d.Wrapped
}

// checker compiles an input schema when it is first needed, once.
type checker struct {
	root *schema.Node // nil where nothing can be checked

	once     sync.Once
	compiled *schema.Schema
	faults   []string
}

func (c *checker) get() (*schema.Schema, []string) {
	c.once.Do(func() {
		if c.root == nil {
			return
		}
		var told []string
		var err error
		c.compiled, told, err = schema.Compile(c.root)
		for _, text := range told {
			c.faults = append(c.faults, "A part of the input schema is not checked here: "+text+".")
		}
		if err != nil {
			c.faults = append(c.faults, "The input schema cannot be used ("+err.Error()+"), so that arguments are not checked here.")
		}
	})
	return c.compiled, c.faults
}
