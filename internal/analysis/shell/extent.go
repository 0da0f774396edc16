package shell

import "mvdan.cc/sh/v3/syntax"

// maxTree bounds the depth of the tree, which grows with each link of a chain
// (a && b && c) without nesting of the parser.
const maxTree = 4000

// extent is a piece of the text that runs from its first statement to its last:
// what certainly happened early in it has happened late in it.
type extent struct{ from, to uint }

func (e extent) holds(offset uint) bool { return offset >= e.from && offset < e.to }

// around is the extent in which the statement on top of the stack certainly runs
// once its beginning is reached; false when it may be skipped or runs elsewhere.
func (c *collector) around() (extent, bool) {
	i := len(c.stack) - 1
	for ; i >= 0; i-- {
		if stmt, ok := c.stack[i].(*syntax.Stmt); ok {
			if stmt.Background || stmt.Coprocess {
				return extent{}, false
			}
			break
		}
	}
	if i < 1 {
		return extent{}, false
	}
	at := c.stack[i].(*syntax.Stmt).Position.Offset()
	switch p := c.stack[i-1].(type) {
	case *syntax.File:
		return c.whole, true
	case *syntax.Block:
		return extent{p.Lbrace.Offset(), p.Rbrace.Offset()}, true
	case *syntax.Subshell:
		return extent{p.Lparen.Offset(), p.Rparen.Offset()}, true
	case *syntax.CmdSubst:
		return extent{p.Left.Offset(), p.Right.Offset()}, true
	case *syntax.ForClause:
		return extent{p.DoPos.Offset(), p.DonePos.Offset()}, true
	case *syntax.WhileClause:
		if at < p.DoPos.Offset() {
			return extent{p.WhilePos.Offset(), p.DonePos.Offset()}, true
		}
		return extent{p.DoPos.Offset(), p.DonePos.Offset()}, true
	case *syntax.CaseItem:
		return extent{at, p.OpPos.Offset()}, p.OpPos.IsValid()
	case *syntax.IfClause:
		return branch(p, at)
	}
	return extent{}, false
}

// branch is the part of an if that runs with the statement.
func branch(p *syntax.IfClause, at uint) (extent, bool) {
	end := p.FiPos.Offset()
	if p.Else != nil {
		end = p.Else.Position.Offset()
	}
	if p.ThenPos.IsValid() && at < p.ThenPos.Offset() {
		return extent{p.Position.Offset(), end}, true
	}
	return extent{at, end}, true
}
