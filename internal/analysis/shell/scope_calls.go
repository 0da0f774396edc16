package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call notes what a command does to names: builtins that assign variables, and
// code that may assign any.
func (c *collector) call(call *syntax.CallExpr) {
	if len(call.Args) == 0 {
		return
	}
	c.ownArguments(call)
	name, plain := plainWord(call.Args[0])
	if len(c.names) == 0 {
		c.scope.ran = append(c.scope.ran, ran{name, call.Args[0].Pos().Offset()})
	}
	if !plain {
		return
	}
	arguments := call.Args[1:]
	for (name == "builtin" || name == "command") && len(arguments) > 0 {
		if name, plain = plainWord(arguments[0]); !plain {
			return
		}
		arguments = arguments[1:]
	}
	switch name {
	case "eval", "source", ".":
		c.scope.volatile = true
	case "trap":
		c.trap(arguments)
	case "read", "mapfile", "readarray", "getopts", "export", "declare", "typeset", "local", "readonly", "wait":
		c.assigning(name, arguments)
	case "printf":
		c.printf(arguments)
	case "unset":
		c.unset(arguments)
	case "cd", "pushd", "popd":
		c.scope.moves = true
	case "shift":
		c.shift(call)
	case "set":
		c.set(arguments)
	}
}

// assigning notes the names that read and its kind are given. Values of options
// are taken for names too, which costs nothing.
func (c *collector) assigning(name string, words []*syntax.Word) {
	if name == "getopts" && len(words) > 0 {
		words = words[1:]
		c.unknownName("OPTARG", placeOf(words))
	}
	for i, w := range words {
		text, plain := plainWord(w)
		switch {
		case plain || name == "wait":
			if plain && (name != "wait" || (i > 0 && strings.HasPrefix(text, "-"))) {
				c.assigningWord(w)
			}
		case i > 0 && takesValue(words[i-1]):
		default:
			c.assigningWord(w)
		}
	}
	if name == "read" {
		c.unknownName("REPLY", placeOf(words))
	}
}

// takesValue: read -p "$prompt", -d "$x", -t "$seconds" are not names.
func takesValue(w *syntax.Word) bool {
	text, _ := plainWord(w)
	return strings.HasPrefix(text, "-") && strings.ContainsAny(text[len(text)-1:], "ptnNduOscC")
}

// placeOf is where words begin.
func placeOf(words []*syntax.Word) uint {
	if len(words) == 0 {
		return 0
	}
	return words[0].Pos().Offset()
}

func (c *collector) printf(words []*syntax.Word) {
	if len(words) < 2 {
		return
	}
	option, plain := plainWord(words[0])
	switch {
	case plain && option == "-v":
		c.assigningWord(words[1])
	case plain && strings.HasPrefix(option, "-v"):
		name, _, _ := strings.Cut(option[2:], "[")
		c.unknownName(name, words[0].Pos().Offset())
	}
}

func (c *collector) unset(words []*syntax.Word) {
	for _, w := range words {
		name, plain := plainWord(w)
		if !plain {
			c.scope.volatile = true
			for _, f := range c.scope.functions {
				f.many = true
			}
			return
		}
		if f := c.scope.functions[name]; f != nil {
			f.many = true
		}
		c.variable(name).assigned += 2
	}
}

// trap: an innocent handler assigns nothing.
func (c *collector) trap(words []*syntax.Word) {
	if len(words) == 0 {
		return
	}
	text := literalText(words[0])
	for _, signal := range words[1:] {
		if name, _ := plainWord(signal); name != "EXIT" && name != "0" && name != "INT" && name != "TERM" && name != "HUP" {
			c.scope.ran = append(c.scope.ran, ran{"", signal.Pos().Offset()}) // DEBUG and ERR run in between
		}
	}
	for _, mark := range []string{"=", "read", "eval", "printf", "declare", "local", "export", "mapfile", "((", "let ", "unset", "source", ". "} {
		if strings.Contains(text, mark) {
			c.scope.volatile = true
			return
		}
	}
}

// literalText is whatever stands literally in a word.
func literalText(w *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(n.Value)
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		}
		return true
	})
	return b.String()
}

// ownArguments notes that a function runs the arguments that it is given.
func (c *collector) ownArguments(call *syntax.CallExpr) {
	w := call.Args[0]
	if len(c.names) == 0 {
		return
	}
	f := c.names[len(c.names)-1]
	at := w.Pos().Offset()
	name := parameterName(w)
	if len(call.Args) > 1 && (mayVanish(w) || name == "@" || name == "*") {
		return // without an argument the next word is the command
	}
	if n, ok := argumentNumber(name); ok {
		c.handsOver(f, handover{at: at, argument: n + len(f.shifts)})
	} else if n, ok := f.kept[name]; ok {
		c.handsOver(f, handover{at: at, argument: n, name: name})
	}
}

func (c *collector) handsOver(f *function, h handover) {
	f.runs = append(f.runs, h)
	c.scope.handovers[h.at] = handedBy{f, h}
}

// keeps notes fn=$1, for "$fn" to be followed.
func (c *collector) keeps(a *syntax.Assign) {
	if len(c.names) == 0 || a.Value == nil || a.Append || a.Index != nil {
		return
	}
	f := c.names[len(c.names)-1]
	within, certain := c.around()
	if n, ok := argumentNumber(parameterName(a.Value)); ok && certain && within == f.body {
		f.kept[a.Name.Value] = n + len(f.shifts)
	}
}

// argumentNumber is the argument that a parameter begins with, from 0.
func argumentNumber(name string) (int, bool) {
	switch {
	case name == "@" || name == "*":
		return 0, true
	case len(name) == 1 && name[0] >= '1' && name[0] <= '9':
		return int(name[0] - '1'), true
	}
	return 0, false
}

// shift drops one argument when the body certainly comes there, once.
func (c *collector) shift(call *syntax.CallExpr) {
	if len(c.names) == 0 {
		return
	}
	f := c.names[len(c.names)-1]
	within, certain := c.around()
	if !certain || within != f.body || len(call.Args) > 1 {
		f.rewrites = true
		return
	}
	f.shifts = append(f.shifts, call.Args[0].Pos().Offset())
}

// set -- a b replaces the arguments.
func (c *collector) set(words []*syntax.Word) {
	if len(c.names) == 0 {
		return
	}
	for i, w := range words {
		text, plain := plainWord(w)
		if !plain || text == "--" || (!strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+") && (i == 0 || !strings.HasSuffix(words[i-1].Lit(), "o"))) {
			c.names[len(c.names)-1].rewrites = true
		}
	}
}

// mayVanish reports whether a word may expand to nothing at all.
func mayVanish(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	_, bare := w.Parts[0].(*syntax.ParamExp)
	return bare
}

// parameterName is the parameter that is all there is in a word: $1, "$@", ${x}.
func parameterName(w *syntax.Word) string {
	if len(w.Parts) != 1 {
		return ""
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Exp != nil || p.Slice != nil || p.Repl != nil || p.Index != nil || p.Excl || p.Length {
		return ""
	}
	return p.Param.Value
}
