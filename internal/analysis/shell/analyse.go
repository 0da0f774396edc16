package shell

import (
	"errors"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Version is raised whenever equal sources may give other facts than before.
const Version = "bash 1"

// The bounds of one analysis. Scripts that people and models write stay far below.
const (
	maxSource = 64 << 10  // bytes of the source
	maxNested = 256 << 10 // bytes of all code found in constants together
	perParse  = 64        // what a parse costs, in bytes
	maxDepth  = 4         // code in constants in code in constants
	maxFacts  = 2000
	maxSteps  = 100_000   // commands and words looked at
	maxFolded = 512 << 10 // bytes of variables put into words
)

// budget is what is left of the bounds that all nested code shares.
type budget struct {
	nested int
	steps  int
	folded int
}

// Analyse says what the source would do. It never fails and never panics: what
// it cannot finish is unsafe(unanalysable), and what does not parse is a Failure
// of class SyntaxError.
func Analyse(source string) (head bridge.FactsHead) {
	r := newReport(source)
	defer func() {
		// A fault of the analyser must not become a hole in it.
		if recover() != nil {
			r.unanalysable("analyser")
			head = bridge.FactsHead{Facts: r.sorted()}
		}
	}()
	if len(source) > maxSource {
		r.unanalysable("source")
		return bridge.FactsHead{Facts: r.sorted()}
	}
	file, err := parse(source)
	var broken syntax.ParseError
	switch {
	case errors.As(err, &broken):
		return bridge.FactsHead{Facts: r.sorted(), Failure: r.failure(broken)}
	case err != nil:
		r.unanalysable("nesting")
		return bridge.FactsHead{Facts: r.sorted()}
	}
	r.hidden()
	s := &script{report: r, budget: &budget{nested: maxNested, steps: maxSteps, folded: maxFolded}, scope: collect(file, len(source))}
	s.walk(file)
	return bridge.FactsHead{Facts: r.sorted()}
}

// script is one text being analysed: the source, or code in one of its constants.
type script struct {
	report *report
	budget *budget
	scope  *scope
	// at is where nested code stands in the source; via what runs it.
	nested bool
	at     uint
	via    string
	depth  int
}

// add reports a fact at an offset of this text.
func (s *script) add(kind policy.Kind, target, via string, offset uint) {
	if s.nested {
		offset, via = s.at, s.via+": "+via
	}
	s.report.add(kind, target, via, offset)
}

func (s *script) unsafe(what, via string, offset uint) { s.add(policy.Unsafe, what, via, offset) }

// step spends from the budget; at its end the analysis is incomplete.
func (s *script) step() bool {
	if s.budget.steps--; s.budget.steps < 0 {
		s.report.unanalysable("size")
		return false
	}
	return true
}

// spend accounts for folded text; false when there was too much of it.
func (s *script) spend(n int) bool {
	if s.budget.folded -= n; s.budget.folded < 0 {
		s.report.unanalysable("expansion")
		return false
	}
	return true
}

// surroundings say what nested code sees of the shell around it: its variables
// with shares (eval, trap), functions always (export -f), and with later those too
// that are defined after it stands there.
type surroundings struct{ shares, later bool }

// code analyses code that stands in a constant.
func (s *script) code(text, via string, offset uint, shares bool) {
	s.codeIn(text, via, offset, surroundings{shares: shares})
}

func (s *script) codeIn(text, via string, offset uint, around surroundings) {
	if s.depth >= maxDepth || len(text) > s.budget.nested {
		s.report.unanalysable("nested code")
		return
	}
	s.budget.nested -= len(text) + perParse
	file, err := parse(text)
	var broken syntax.ParseError
	if errors.As(err, &broken) {
		// A shell runs every line before the one that does not parse.
		s.unsafe(dynamicCode, via, offset)
		return
	}
	if err != nil {
		s.report.unanalysable("nesting")
		return
	}
	inner := &script{
		report: s.report, budget: s.budget, scope: collect(file, len(text)),
		nested: true, at: offset, via: via, depth: s.depth + 1,
	}
	if s.nested {
		inner.at = s.at
	}
	inner.scope.outer, inner.scope.outerAt = s.scope, offset
	inner.scope.shares, inner.scope.later = around.shares, around.later
	inner.walk(file)
}
