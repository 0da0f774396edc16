package schema

import (
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema checks values. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	// mu is held while a value is checked: steps counts for one check at a time.
	mu    sync.Mutex
	steps int // that are left
}

// Compile makes a schema ready. faults are what does not count of it, one sentence each. An
// error means that nothing can be checked by it.
func Compile(root *Node) (s *Schema, faults []string, err error) {
	if !root.Is(Object) && !root.Is(Bool) {
		return nil, nil, errors.New("it is no JSON Schema, which would be an object")
	}
	doc, faults, err := mend(root)
	if err != nil {
		return nil, nil, err
	}
	const name = "arguments:schema"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	if err := c.AddResource(name, doc); err != nil {
		return nil, faults, fmt.Errorf("compile the schema: %w", err)
	}
	s = &Schema{}
	if s.compiled, err = c.Compile(name); err != nil {
		return nil, faults, fmt.Errorf("compile the schema: %w", err)
	}
	s.meter(s.compiled, map[*jsonschema.Schema]bool{})
	return s, faults, nil
}

// nowhere loads nothing: what a schema says has nobody fetch anything.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is another document", quote(url))
}

// meter has every visit of a schema counted. The library takes neither a context nor a
// bound, and a few lines of allOf and $ref make for 2^100 visits; the check of a format is
// the one step of it that is ours to define and comes before a schema's parts are visited.
// Formats themselves are annotations in draft 2020-12, and the server's to check.
func (s *Schema) meter(sch *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if sch == nil || seen[sch] {
		return
	}
	seen[sch] = true
	weight := 1 + len(sch.PatternProperties)
	extra := len(sch.Properties)/8 + len(sch.Required)/8
	if sch.Enum != nil {
		extra += len(sch.Enum.Values)
	}
	sch.Format = &jsonschema.Format{Name: "steps", Validate: func(v any) error {
		s.spend(1 + extra + weight*size(v))
		return nil
	}}
	for _, below := range parts(sch) {
		s.meter(below, seen)
	}
}

func (s *Schema) spend(steps int) {
	if s.steps -= steps; s.steps < 0 {
		panic(ErrSteps) // recovered by run: there is no other way out of the library
	}
}

// size is how much of a value a schema may look at without visiting another one.
func size(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	case string:
		return len(v) / 64
	}
	return 0
}

// parts are the schemas that a schema consists of.
func parts(sch *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{
		sch.Ref, sch.Not, sch.If, sch.Then, sch.Else, sch.PropertyNames, sch.UnevaluatedProperties,
		sch.Contains, sch.Items2020, sch.UnevaluatedItems,
	}
	for _, list := range [][]*jsonschema.Schema{sch.AllOf, sch.AnyOf, sch.OneOf, sch.PrefixItems} {
		all = append(all, list...)
	}
	for _, named := range []map[string]*jsonschema.Schema{sch.Properties, sch.DependentSchemas} {
		for _, below := range named {
			all = append(all, below)
		}
	}
	for _, below := range sch.PatternProperties {
		all = append(all, below)
	}
	if below, ok := sch.AdditionalProperties.(*jsonschema.Schema); ok {
		all = append(all, below)
	}
	return all
}

// Validate tells what is wrong with a value, as [Node.Any] has it. The error wraps
// [ErrSteps] where finding out would take too long; then nothing is known.
func (s *Schema) Validate(v any) ([]Problem, error) {
	err := s.run(v)
	if err == nil {
		return nil, nil
	}
	if wrong, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return problems(wrong, v), nil
	}
	return nil, err
}

func (s *Schema) run(v any) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		switch r := recover(); r {
		case nil:
		case ErrSteps:
			err = fmt.Errorf("%w: more than %d", ErrSteps, steps(v))
		default:
			err = fmt.Errorf("check a value: %v", r)
		}
	}()
	s.steps = steps(v)
	return s.compiled.Validate(v)
}

// steps are those that checking a value may take. The slowest of steps, deep in references,
// take some microseconds, so that a small value is done with within a second.
func steps(v any) int {
	const least, each = 1 << 17, 8
	return min(least+each*count(v), MaxSteps)
}

// count is the number of values in a value.
func count(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, inside := range v {
			n += count(inside)
		}
	case []any:
		for _, inside := range v {
			n += count(inside)
		}
	}
	return n
}
