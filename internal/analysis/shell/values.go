package shell

import (
	"sort"

	"mvdan.cc/sh/v3/syntax"
)

// value is the constant value of a variable at an offset of the text.
func (sc *scope) value(s *script, name string, at uint) (value []string, array, known bool) {
	v := sc.variables[name]
	switch {
	case sc.volatile:
		return nil, false, false
	case v == nil && sc.outer != nil && (sc.shares || name == "HOME"):
		return sc.outer.value(s.outward(), name, sc.outerAt)
	case v == nil:
		return sc.given(name)
	case v.assigned != 1 || v.assign == nil || v.folding || at <= v.at || !v.within.holds(at):
		return nil, false, false
	}
	if !v.folded {
		v.folding, v.folded = true, true
		v.value, v.known = s.assigned(v)
		v.folding = false
	}
	return v.value, v.assign.Array != nil, v.known && (v.assign.Array == nil || !v.open)
}

// mayKnow reports whether a variable can be constant at all, which spares most
// words the expansion.
func (sc *scope) mayKnow(name string) bool {
	switch v := sc.variables[name]; {
	case v != nil:
		return v.assigned == 1 && v.assign != nil && !sc.volatile
	case sc.outer != nil:
		return sc.outer.mayKnow(name)
	}
	return name == "HOME" || name == "PWD"
}

// outward is the script with the scope around it.
func (s *script) outward() *script {
	out := *s
	out.scope = s.scope.outer
	return &out
}

// given are the variables that every sandbox sets to the same.
func (sc *scope) given(name string) ([]string, bool, bool) {
	switch {
	case name == "HOME" && sc.outer == nil:
		return []string{"~"}, false, true
	case name == "PWD" && sc.outer == nil && !sc.moves:
		return []string{"/workspace"}, false, true
	}
	return nil, false, false
}

// assigned folds the value of an assignment.
func (s *script) assigned(v *variable) ([]string, bool) {
	a := v.assign
	if a.Array != nil {
		return s.elements(a.Array)
	}
	if a.Value == nil {
		return []string{""}, true
	}
	// An assignment is not split into fields: as one quoted word it folds to one.
	word := &syntax.Word{Parts: a.Value.Parts}
	for _, part := range word.Parts {
		if _, bare := part.(*syntax.ParamExp); bare {
			word = &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{part}}}}
			if len(a.Value.Parts) > 1 {
				return s.joined(a.Value.Parts, v.at)
			}
		}
	}
	fields, known := s.fold(word, v.at)
	if !known || len(fields) > 1 {
		return nil, false
	}
	if len(fields) == 0 {
		return []string{""}, true
	}
	return fields, len(fields[0]) <= maxValue
}

// joined folds the parts of an assignment one by one.
func (s *script) joined(parts []syntax.WordPart, at uint) ([]string, bool) {
	text := ""
	for _, part := range parts {
		if p, bare := part.(*syntax.ParamExp); bare {
			part = &syntax.DblQuoted{Parts: []syntax.WordPart{p}}
		}
		fields, known := s.fold(&syntax.Word{Parts: []syntax.WordPart{part}}, at)
		if !known || len(fields) > 1 || len(text) > maxValue {
			return nil, false
		}
		if len(fields) == 1 {
			text += fields[0]
		}
	}
	return []string{text}, len(text) <= maxValue
}

func (s *script) elements(a *syntax.ArrayExpr) ([]string, bool) {
	var out []string
	for _, e := range a.Elems {
		if e.Index != nil || e.Value == nil {
			return nil, false
		}
		fields, known := s.fold(e.Value, e.Value.Pos().Offset())
		if !known || len(out)+len(fields) > maxFields {
			return nil, false
		}
		for _, f := range fields {
			if len(f) > maxValue {
				return nil, false
			}
		}
		out = append(out, fields...)
	}
	return out, true
}

// splitsOddly reports whether words may split elsewhere than at white space.
func (sc *scope) splitsOddly() bool {
	for at := sc; at != nil; at = at.outer {
		for _, t := range at.tampered {
			if t.name == "IFS" {
				return true
			}
		}
	}
	return false
}

// function is the definition that a name certainly means at an offset. known is
// true when some text defines it, whether or not it is in force there.
func (sc *scope) function(name string, at uint) (fn *function, known bool) {
	f := sc.functions[name]
	if f == nil {
		if sc.outer == nil {
			return nil, false
		}
		fn, known = sc.outer.function(name, sc.outerAt)
		if f := sc.outer.functions[name]; fn == nil && f != nil && !f.many && sc.later && !sc.outer.ranBetween(sc.outerAt, f.at) {
			return f, true
		}
		return fn, known
	}
	if f.many {
		return nil, true
	}
	if at > f.at && f.within.holds(at) {
		return f, true
	}
	if sc.inBody(at) && !sc.ranBefore(f.at) {
		return f, true
	}
	return nil, true
}

func (sc *scope) inBody(at uint) bool {
	i := sort.Search(len(sc.bodies), func(i int) bool { return sc.bodies[i].to > at })
	return i < len(sc.bodies) && sc.bodies[i].holds(at)
}

// ranBefore reports whether some function may have been called by then.
func (sc *scope) ranBefore(at uint) bool {
	for _, r := range sc.ran {
		if r.at >= at {
			return false
		}
		if _, defined := sc.functions[r.name]; defined || r.name == "" {
			return true
		}
	}
	return false
}

// ranBetween reports whether any command ran between two places.
func (sc *scope) ranBetween(from, to uint) bool {
	for _, r := range sc.ran {
		if r.at > from && r.at < to {
			return true
		}
	}
	return false
}
