package shell

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// The bounds on folding. Expansion is the library's; they keep it from being
// made to multiply texts.
const (
	maxValue   = 1024 // bytes of a variable's value
	maxFields  = 256  // fields of one word
	maxBraces  = 32   // braces in one word
	maxParams  = 32   // expansions in one word
	maxBraced  = 1024 // bytes of a word with braces
	maxReplace = 16   // bytes put in place by ${x//a/b}
)

var errComputed = errors.New("known only while the program runs")

// arg is one word of a command after expansion.
type arg struct {
	text string
	// known is false for a word that is computed; then text is how it begins.
	known bool
	word  *syntax.Word
	at    uint
}

// many reports whether a computed word may become more than one.
func (a arg) many() bool {
	if a.known {
		return false
	}
	if a.word == nil || len(a.word.Parts) != 1 {
		return true
	}
	q, quoted := a.word.Parts[0].(*syntax.DblQuoted)
	if !quoted {
		return true
	}
	return slices.ContainsFunc(q.Parts, func(part syntax.WordPart) bool {
		p, ok := part.(*syntax.ParamExp)
		return ok && (p.Param == nil || p.Param.Value == "@" || p.Index != nil || p.Names != 0)
	})
}

// args expands words. A computed word is one arg, though it may become none or many.
func (s *script) args(words []*syntax.Word) []arg {
	var out []arg
	for _, w := range words {
		at := w.Pos().Offset()
		fields, known := s.fold(w, at)
		if !known {
			out = append(out, arg{s.beginning(w, at), false, w, at})
			continue
		}
		for _, f := range fields {
			out = append(out, arg{f, true, w, at})
		}
	}
	return out
}

// text is the word as one text without splitting: the target of a redirection.
func (s *script) text(w *syntax.Word) (string, bool) {
	fields, known := s.fold(w, w.Pos().Offset())
	if !known || len(fields) != 1 {
		return s.beginning(w, w.Pos().Offset()), false
	}
	return fields[0], true
}

// fold expands a word that is used at an offset; false when it is computed.
func (s *script) fold(w *syntax.Word, at uint) ([]string, bool) {
	if lit := w.Lit(); lit != "" && !strings.ContainsAny(lit, `\{~`) {
		return []string{lit}, true
	}
	if !s.step() || !s.foldable(w) {
		return nil, false
	}
	env := &foldEnv{s: s, at: at, replaces: replaces(w)}
	var fields []string
	for f, err := range expand.FieldsSeq(env.config(), w) {
		if err != nil || env.computed || len(fields) >= maxFields {
			return nil, false
		}
		fields = append(fields, f)
	}
	return fields, !env.computed
}

// document expands the body of a here-document.
func (s *script) document(w *syntax.Word, at uint) (string, bool) {
	if !s.step() || !s.foldable(w) {
		return "", false
	}
	env := &foldEnv{s: s, at: at, ready: true, replaces: replaces(w)}
	text, err := expand.Document(env.config(), w)
	return text, err == nil && !env.computed
}

// foldable reports whether expanding the word stays within the bounds and has no
// effects of its own.
func (s *script) foldable(w *syntax.Word) bool {
	braces, params, size, ok := 0, 0, 0, true
	split := s.scope.splitsOddly()
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ExtGlob:
			ok = false
		case *syntax.Lit:
			size += len(n.Value)
			braces += strings.Count(n.Value, "{")
		case *syntax.ParamExp:
			params++
			ok = ok && plainExpansion(n) && s.scope.mayKnow(n.Param.Value)
		}
		return ok
	})
	if split && params > 0 && !quoted(w) {
		return false
	}
	return ok && braces <= maxBraces && params <= maxParams && (braces == 0 || size <= maxBraced)
}

// plainExpansion excludes what assigns, evaluates or multiplies.
func plainExpansion(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Excl || p.Names != 0 {
		return false
	}
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.OtherParamOps, syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			return false
		default:
		}
	}
	if p.Repl != nil && p.Repl.With != nil {
		text, plain := plainWord(p.Repl.With)
		return plain && len(text) <= maxReplace
	}
	return true
}

func replaces(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		p, ok := n.(*syntax.ParamExp)
		found = found || (ok && p.Repl != nil)
		return !found
	})
	return found
}

func quoted(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if _, bare := part.(*syntax.ParamExp); bare {
			return false
		}
	}
	return true
}

// beginning is how a computed word certainly begins.
func (s *script) beginning(w *syntax.Word, at uint) string {
	var b strings.Builder
	s.begin(&b, w.Parts, at)
	return b.String()
}

// begin writes the parts up to the first that is computed.
func (s *script) begin(b *strings.Builder, parts []syntax.WordPart, at uint) bool {
	for i, part := range parts {
		if q, ok := part.(*syntax.DblQuoted); ok {
			if !s.begin(b, q.Parts, at) {
				return false
			}
			continue
		}
		if lit, ok := part.(*syntax.Lit); ok && i > 0 {
			b.WriteString(lit.Value)
			continue
		}
		fields, known := s.fold(&syntax.Word{Parts: parts[i : i+1]}, at)
		if !known || len(fields) != 1 {
			return false
		}
		b.WriteString(fields[0])
	}
	return true
}

// foldEnv gives the library the variables that are constant, and notes when it
// asks for another.
type foldEnv struct {
	s        *script
	at       uint
	ready    bool
	computed bool
	// replaces is set for ${x//a/b}, which may cost the size of b for each byte of x.
	replaces bool
}

func (e *foldEnv) cost(value []string) int {
	n := 1
	for _, v := range value {
		n += len(v)
	}
	if e.replaces {
		n *= 2 * maxReplace
	}
	return n
}

func (e *foldEnv) config() *expand.Config {
	return &expand.Config{Env: e, ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", errComputed }}
}

// Each is asked for names by their beginning, which [plainExpansion] excludes.
func (e *foldEnv) Each(func(string, expand.Variable) bool) { e.computed = true }

// Get implements [expand.Environ]. The library asks for IFS and PWD on its own
// account before it expands; "HOME name" is its word for ~name, which it would
// otherwise look up on this machine.
func (e *foldEnv) Get(name string) expand.Variable {
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		return textVariable(homeOf(user))
	}
	switch {
	case name == "IFS":
		return expand.Variable{}
	case name == "PWD" && !e.ready:
		e.ready = true
		return expand.Variable{}
	}
	value, array, known := e.s.scope.value(e.s, name, e.at)
	switch {
	case !known:
		e.computed = true
		return expand.Variable{}
	case !e.s.spend(e.cost(value)):
		e.computed = true
		return expand.Variable{}
	case array:
		return expand.Variable{Set: true, Kind: expand.Indexed, List: value}
	}
	return textVariable(value[0])
}

func textVariable(text string) expand.Variable {
	return expand.Variable{Set: true, Kind: expand.String, Str: text}
}

// homeOf is where the home of a user is by custom. It is a path outside the
// sandbox, which is all that matters.
func homeOf(user string) string {
	if user == "root" {
		return "/root"
	}
	return "/home/" + user
}
