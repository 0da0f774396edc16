package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// variable is what the text says of one variable.
type variable struct {
	assigned int
	// The one assignment, when it is a statement of its own in the extent.
	assign *syntax.Assign
	within extent
	at     uint
	open   bool // an array that is appended to: only its beginning is known
	// The folded value, once it was asked for.
	value   []string
	known   bool
	folding bool
	folded  bool
}

// function is a function that the text defines.
type function struct {
	within extent
	at     uint
	body   extent
	many   bool // defined more than once or unset
	// shifts are the places where the body drops an argument; runs those where it
	// runs its own arguments as a command ("$@"); kept the variables that hold one.
	shifts []uint
	runs   []handover
	kept   map[string]int
	// rewrites is set when the arguments change in a way that is not followed.
	rewrites bool
}

// handover is a place where a function runs its arguments from one on. The name
// is that of the variable which holds it, if one does.
type handover struct {
	at       uint
	argument int
	name     string
}

type handedBy struct {
	function *function
	handover handover
}

// scope is what names mean in one text.
type scope struct {
	variables map[string]*variable
	functions map[string]*function
	// bodies are those of the outermost functions, in order; handovers the places
	// where functions run their arguments.
	bodies    []extent
	handovers map[uint]handedBy
	// ran are the commands outside all functions, which may call one.
	ran      []ran
	tampered []tampering
	// volatile is set when code that is not in this text may assign any variable.
	volatile bool
	deep     bool // the tree was not looked at to its end
	moves    bool // cd: relative paths and PWD mean something else

	// outer is the scope around nested code, which stands there at outerAt. It
	// shares variables with eval; code of a trap runs later than it stands.
	outer   *scope
	outerAt uint
	shares  bool
	later   bool
}

// ran is a command outside all functions; its name is empty when it is computed.
type ran struct {
	name string
	at   uint
}

// tampering is the assignment of a variable that changes what commands mean.
type tampering struct {
	name string
	at   uint
}

// collector gathers a scope in one walk. The stack holds the nodes around.
type collector struct {
	scope *scope
	stack []syntax.Node
	whole extent
	names []*function
}

func collect(file *syntax.File, size int) *scope {
	c := &collector{
		scope: &scope{variables: map[string]*variable{}, functions: map[string]*function{}, handovers: map[uint]handedBy{}},
		whole: extent{0, uint(size) + 1},
	}
	syntax.Walk(file, c.visit)
	return c.scope
}

func (c *collector) visit(n syntax.Node) bool {
	if n == nil {
		if f, ok := c.stack[len(c.stack)-1].(*syntax.FuncDecl); ok && f.Name != nil {
			c.names = c.names[:len(c.names)-1]
		}
		c.stack = c.stack[:len(c.stack)-1]
		return true
	}
	c.note(n)
	c.stack = append(c.stack, n)
	if len(c.stack) > maxTree {
		c.scope.deep = true
		c.stack = c.stack[:len(c.stack)-1]
		return false
	}
	return true
}

// note gathers what one node says.
func (c *collector) note(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.FuncDecl:
		c.function(n)
	case *syntax.Assign:
		c.assign(n)
	case *syntax.CallExpr:
		c.call(n)
	case *syntax.WordIter:
		c.unknown(n.Name)
	case *syntax.CoprocClause:
		c.unknownName("COPROC", n.Coproc.Offset())
		c.assigningWord(n.Name)
	case *syntax.Redirect:
		if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
			c.unknownName(strings.Trim(n.N.Value, "{}"), n.N.Pos().Offset())
		}
	case *syntax.ParamExp:
		if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			c.unknown(n.Param)
		}
	case *syntax.UnaryArithm:
		if n.Op == syntax.Inc || n.Op == syntax.Dec {
			c.arithmetic(n.X)
		}
	case *syntax.BinaryArithm:
		if assigns(n.Op) {
			c.arithmetic(n.X)
		}
	}
}

func assigns(op syntax.BinAritOperator) bool {
	s := op.String()
	return strings.HasSuffix(s, "=") && s != "==" && s != "!=" && s != "<=" && s != ">="
}

func (c *collector) arithmetic(x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || w.Lit() == "" {
		c.scope.volatile = true
		return
	}
	name, _, _ := strings.Cut(w.Lit(), "[")
	c.unknownName(name, w.Pos().Offset())
}

func (c *collector) function(f *syntax.FuncDecl) {
	if f.Name == nil {
		return
	}
	within, certain := c.around()
	known := c.scope.functions[f.Name.Value]
	start := f.Body.Position.Offset()
	body := extent{start, start}
	if b, ok := f.Body.Cmd.(*syntax.Block); ok {
		body = extent{b.Lbrace.Offset(), b.Rbrace.Offset()}
	}
	fn := &function{within: within, at: f.Position.Offset(), body: body, many: known != nil || !certain, kept: map[string]int{}}
	c.scope.functions[f.Name.Value] = fn
	if len(c.names) == 0 {
		c.scope.bodies = append(c.scope.bodies, body)
	}
	c.names = append(c.names, fn)
}

// assign notes an assignment. One before a command is for that command alone.
func (c *collector) assign(a *syntax.Assign) {
	at := a.Pos().Offset()
	if a.Name == nil {
		c.assigningWord(a.Value)
		return
	}
	if call, ok := c.stack[len(c.stack)-1].(*syntax.CallExpr); ok && len(call.Args) > 0 {
		c.prefix(a, call)
		return
	}
	decl, declares := c.stack[len(c.stack)-1].(*syntax.DeclClause)
	if declares && refers(decl) {
		c.scope.volatile = true // declare -n: another name for some variable
	}
	if a.Naked {
		if declares && decl.Variant.Value != "export" && decl.Variant.Value != "readonly" {
			c.variable(a.Name.Value).assigned += 2 // local x hides the x outside
		}
		return
	}
	c.tamper(a.Name.Value, a.Value, at)
	c.keeps(a)
	v := c.variable(a.Name.Value)
	if a.Append && a.Array != nil && v.assigned == 1 && v.assign != nil && v.assign.Array != nil {
		v.open = true
		return
	}
	v.assigned++
	within, certain := c.around()
	if certain && !a.Append && a.Index == nil && !(declares && converts(decl)) {
		v.assign, v.within, v.at = a, within, a.Pos().Offset()
	}
}

// prefix notes X=1 command. IFS=, read is how fields are read.
func (c *collector) prefix(a *syntax.Assign, call *syntax.CallExpr) {
	name := call.Args[0].Lit()
	if a.Name.Value == "IFS" && (name == "read" || name == "mapfile" || name == "readarray") {
		return
	}
	c.tamper(a.Name.Value, a.Value, a.Pos().Offset())
	if a.Name.Value != "IFS" {
		c.variable(a.Name.Value).assigned += 2
	}
}

// tamper notes variables that change what commands mean. An IFS of white space
// alone, as strict scripts set it, changes nothing.
func (c *collector) tamper(name string, value *syntax.Word, at uint) {
	if name == "IFS" && isBlank(value) {
		return
	}
	if changesCommands(name) {
		c.scope.tampered = append(c.scope.tampered, tampering{name, at})
	}
}

func isBlank(w *syntax.Word) bool {
	if w == nil {
		return true
	}
	for _, part := range w.Parts {
		q, ok := part.(*syntax.SglQuoted)
		if !ok || strings.Trim(q.Value, ` \nt`) != "" {
			return false
		}
	}
	return true
}

func (c *collector) variable(name string) *variable {
	v := c.scope.variables[name]
	if v == nil {
		v = &variable{}
		c.scope.variables[name] = v
	}
	return v
}

func (c *collector) unknown(name *syntax.Lit) {
	if name == nil {
		c.scope.volatile = true
		return
	}
	c.unknownName(name.Value, name.Pos().Offset())
}

func (c *collector) unknownName(name string, at uint) {
	c.variable(name).assigned += 2
	if changesCommands(name) {
		c.scope.tampered = append(c.scope.tampered, tampering{name, at})
	}
}

// assigningWord notes a word that a builtin takes as the name of a variable, with
// a value or without: export "$x" may set any.
func (c *collector) assigningWord(w *syntax.Word) {
	if w == nil {
		return
	}
	text, plain := plainWord(w)
	if !plain {
		c.scope.volatile = true
		c.scope.tampered = append(c.scope.tampered, tampering{"a computed name", w.Pos().Offset()})
		return
	}
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		return
	}
	name, _, _ := strings.Cut(text, "=")
	name, _, _ = strings.Cut(strings.TrimSuffix(name, "+"), "[")
	c.unknownName(name, w.Pos().Offset())
}

// plainWord is the text of a word of literals and quotations.
func plainWord(w *syntax.Word) (string, bool) {
	var b strings.Builder
	if !plainParts(&b, w.Parts) {
		return "", false
	}
	return b.String(), true
}

func plainParts(b *strings.Builder, parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			if p.Dollar && strings.Contains(p.Value, `\`) {
				return false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if !plainParts(b, p.Parts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func refers(d *syntax.DeclClause) bool { return d.Variant.Value == "nameref" || hasFlag(d, "n") }

// converts: -i, -l and -u change a value on its way in.
func converts(d *syntax.DeclClause) bool { return hasFlag(d, "ilucA") }

func hasFlag(d *syntax.DeclClause, letters string) bool {
	for _, a := range d.Args {
		if a.Name != nil || a.Value == nil {
			continue
		}
		if text, ok := plainWord(a.Value); ok && strings.HasPrefix(text, "-") && strings.ContainsAny(text, letters) {
			return true
		}
	}
	return false
}

// tampering reports the assignments that change what commands mean.
func (s *script) tampering() {
	for _, t := range s.scope.tampered {
		s.add(policy.Unsafe, environment, t.name, t.at)
	}
}
