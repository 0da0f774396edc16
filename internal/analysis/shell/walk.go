package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// walk reports what the statements of the text do, wherever they stand.
func (s *script) walk(file *syntax.File) {
	if s.scope.deep {
		s.report.unanalysable("depth")
		return
	}
	s.tampering()
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			s.statement(n)
		case *syntax.ParamExp:
			s.parameter(n)
		case *syntax.Assign:
			s.assignment(n)
		case *syntax.UnaryTest:
			s.test(n)
		case *syntax.BinaryTest:
			s.compare(n)
		case *syntax.LetClause, *syntax.ArithmCmd, *syntax.ArithmExp:
			s.arithmetic(n)
		}
		return s.budget.steps > 0
	})
}

func (s *script) statement(stmt *syntax.Stmt) {
	if !s.step() {
		return
	}
	for _, r := range stmt.Redirs {
		s.redirection(r)
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	for _, a := range call.Assigns {
		s.prefixed(a)
	}
	if s.handsOver(call.Args[0].Pos().Offset()) {
		return // each call of the function is looked at instead
	}
	s.command(command{args: s.args(call.Args), redirections: stmt.Redirs, via: "command", at: call.Args[0].Pos().Offset(), shell: true})
}

// handsOver reports whether the place is where a function runs its own arguments.
func (s *script) handsOver(at uint) bool {
	by, ok := s.scope.handovers[at]
	return ok && !by.function.many && !by.function.rewrites && s.scope.followed(by.handover)
}

// followed reports whether a handover is what it seems: the variable that holds
// the argument is assigned nothing else.
func (sc *scope) followed(r handover) bool {
	if r.name == "" {
		return true
	}
	v := sc.variables[r.name]
	return v != nil && v.assigned == 1 && !sc.volatile
}

// follows looks at a handover in the scope that defines the function.
func (sc *scope) follows(name string, r handover) bool {
	for sc.functions[name] == nil && sc.outer != nil {
		sc = sc.outer
	}
	return sc.followed(r)
}

// prefixed reports the value of a variable that names a command for the program
// that it is given to.
func (s *script) prefixed(a *syntax.Assign) {
	if a.Name == nil || a.Value == nil || !namesCommand(a.Name.Value) {
		return
	}
	s.codeWord(a.Value, a.Name.Value)
}

// codeWord looks at a word that some program will hand to a shell.
func (s *script) codeWord(w *syntax.Word, via string) {
	at := w.Pos().Offset()
	if text, known := s.text(w); known {
		s.code(text, via, at, false)
		return
	}
	s.unsafe(dynamicCode, via, at)
}

func (s *script) parameter(p *syntax.ParamExp) {
	if p.Param == nil {
		return
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil && p.Exp.Word.Lit() == "P" {
		s.unsafe(dynamicCode, "${…@P}", p.Pos().Offset()) // a prompt runs the substitutions in it
	}
	name := p.Param.Value
	if isEnvironmentName(name) && !s.scope.sets(name) {
		s.add(policy.Env, name, "$"+name, p.Pos().Offset())
	}
}

func (sc *scope) sets(name string) bool {
	for at := sc; at != nil; at = at.outer {
		if at.variables[name] != nil {
			return true
		}
	}
	return false
}

// assignment looks for substitutions in a text that arithmetic may evaluate:
// x='a[$(id)]'; ((x)) runs id.
func (s *script) assignment(a *syntax.Assign) {
	if a.Value != nil && hidesSubstitution(a.Value) {
		s.unsafe(dynamicCode, "assignment", a.Value.Pos().Offset())
	}
}

// test: [[ -v 'a[$(id)]' ]] runs id.
func (s *script) test(t *syntax.UnaryTest) {
	if w, ok := t.X.(*syntax.Word); ok && t.Op == syntax.TsVarSet && hidesSubstitution(w) {
		s.unsafe(dynamicCode, "[[ -v ]]", w.Pos().Offset())
	}
}

// compare: [[ 'a[$(id)]' -eq 1 ]] runs id.
func (s *script) compare(t *syntax.BinaryTest) {
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
	default:
		return
	}
	for _, x := range []syntax.TestExpr{t.X, t.Y} {
		if w, ok := x.(*syntax.Word); ok && hidesSubstitution(w) {
			s.unsafe(dynamicCode, "[[ "+t.Op.String()+" ]]", w.Pos().Offset())
		}
	}
}

// arithmetic: quoted text in it is evaluated all the same.
func (s *script) arithmetic(n syntax.Node) {
	syntax.Walk(n, func(inner syntax.Node) bool {
		q, ok := inner.(*syntax.SglQuoted)
		if ok && (strings.Contains(q.Value, "$(") || strings.Contains(q.Value, "`")) {
			s.unsafe(dynamicCode, "arithmetic", q.Left.Offset())
		}
		_, statement := inner.(*syntax.Stmt)
		return !statement
	})
}

func hidesSubstitution(w *syntax.Word) bool {
	if len(w.Parts) == 1 {
		if _, ok := w.Parts[0].(*syntax.ParamExp); ok {
			return false
		}
	}
	text, plain := plainWord(w)
	return plain && subscripted(text)
}

// subscripted reports whether a text holds a substitution within a subscript.
func subscripted(text string) bool {
	_, inner, ok := strings.Cut(text, "[")
	return ok && strings.Contains(inner, "]") && (strings.Contains(inner, "$(") || strings.Contains(inner, "`"))
}

func (s *script) redirection(r *syntax.Redirect) {
	if r.Word == nil {
		return
	}
	at := r.OpPos.Offset()
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if lit := r.Word.Lit(); lit != "" && strings.Trim(lit, "0123456789-") == "" {
			return
		}
	default:
	}
	target, known := s.text(r.Word)
	switch {
	case s.device(target, known, at):
	case !known || target == "":
	case r.Op == syntax.RdrIn || r.Op == syntax.DplIn:
		s.add(policy.Read, target, "redirection", at)
	default:
		s.add(policy.Write, target, "redirection", at)
	}
}

// device reports a connection that bash makes itself: /dev/tcp/host/port.
func (s *script) device(target string, known bool, at uint) bool {
	rest, tcp := strings.CutPrefix(target, "/dev/tcp/")
	if !tcp {
		if rest, tcp = strings.CutPrefix(target, "/dev/udp/"); !tcp {
			return false
		}
	}
	host, port, _ := strings.Cut(rest, "/")
	endpoint := ""
	if known {
		endpoint = hostPort(host, port)
	}
	if endpoint == "" {
		endpoint = computed
	}
	s.add(policy.Net, endpoint, "redirection", at)
	return true
}
