package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
)

// turnedAway turns the door's no, and its question, into an answer. Any other error is
// our own.
func (op *operation) turnedAway(err error) (execution.Result, error) {
	var denied *authz.DeniedError
	if pending, ok := errors.AsType[*authz.PendingError](err); ok {
		op.question, op.decided = &pending.Question, pending.Events
		return pendingOn(op.base(execution.StatusPendingApproval), op.question), nil
	}
	if !errors.As(err, &denied) {
		return execution.Result{}, err
	}
	return op.denied(violations(denied, op.request.Code)), nil
}

// denied is the answer to what the policy refused. Nothing has run.
func (op *operation) denied(e *execution.Error) execution.Result {
	r := op.base(execution.StatusDenied)
	r.Stderr, r.Error = e.Message, e
	for _, v := range e.Violations {
		r.Denied = append(r.Denied, v.Permission)
	}
	return r
}

func violations(d *authz.DeniedError, code string) *execution.Error {
	e := &execution.Error{Code: string(execution.CodePolicyViolation), Message: d.Reason}
	for _, r := range d.Refusals {
		p := r.Decision.Permission
		v := execution.Violation{
			Rule: r.Decision.Rule, Permission: p.String(), Line: p.Line, Column: p.Column, Hint: r.Hint, Allow: r.Allow,
		}
		if p.Line > 0 {
			v.Source = analysis.SourceLine(code, p.Line)
		}
		e.Violations = append(e.Violations, v)
	}
	if e.Message == "" {
		e.Message = "Not permitted: " + strings.Join(names(d.Refusals), ", ") + ". Nothing was run."
	}
	return e
}

func names(refusals []authz.Verdict) []string {
	out := make([]string, 0, len(refusals))
	for _, r := range refusals {
		out = append(out, r.Decision.Permission.String())
	}
	return out
}

func languageRefused(g gear.Frozen, l execution.Language) *execution.Error {
	return &execution.Error{
		Code:    string(execution.CodePolicyViolation),
		Message: fmt.Sprintf("The gear %s does not run %s. Nothing was run.", g.Name(), l),
		Violations: []execution.Violation{{
			Rule: "languages", Permission: "language(" + string(l) + ")",
			Hint: "Use one of the gear's languages: " + languages(g) + ".",
		}},
	}
}

func languages(g gear.Frozen) string {
	out := make([]string, 0, 2)
	for _, l := range g.Languages() {
		out = append(out, string(l))
	}
	return strings.Join(out, ", ")
}

// sourceRefused applies the gear's own bounds on the size of the source.
func sourceRefused(g gear.Frozen, code string) *execution.Error {
	s := g.Source()
	v := analysis.SourceLimits(code, s.Characters, s.Lines)
	if v == nil {
		return nil
	}
	return &execution.Error{
		Code:       string(execution.CodePolicyViolation),
		Message:    fmt.Sprintf("The source is longer than the gear %s accepts. Nothing was run.", g.Name()),
		Violations: []execution.Violation{*v},
	}
}
