package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// text is what a person would want to read of a result. It needs nothing else
// beside it.
func text(r execution.Result) string {
	switch r.Status {
	case execution.StatusDenied:
		return denied(r)
	case execution.StatusRejected:
		return rejected(r)
	case execution.StatusPendingApproval:
		return pending(r)
	case execution.StatusInternalError:
		return broken(r)
	default:
		return ran(r)
	}
}

// page collects the parts of a text, each on lines of its own.
type page struct{ b strings.Builder }

func (p *page) add(s string) {
	if s == "" {
		return
	}
	if n := p.b.Len(); n > 0 && p.b.String()[n-1] != '\n' {
		p.b.WriteByte('\n')
	}
	p.b.WriteString(s)
}

func (p *page) addf(format string, args ...any) { p.add(fmt.Sprintf(format, args...)) }

// ran tells of a program that ran, or still does.
func ran(r execution.Result) string {
	var p page
	p.add(r.Stdout)
	value := valueText(r)
	switch {
	case value == "":
	case r.Stdout == "" && r.Stderr == "":
		p.add(value)
	default:
		p.addf("Value: %s", value)
	}
	switch {
	case r.Stderr == "":
	case r.Error != nil && r.Stderr == r.Error.Message:
		p.add(r.Stderr) // the reason alone: the program itself wrote nothing there
	default:
		p.addf("stderr:\n%s", r.Stderr)
	}
	p.add(traceback(r))
	files(&p, r.Artifacts)
	footnotes(&p, r)
	p.add(ending(r, p.b.String()))
	if p.b.Len() == 0 {
		return "(no output)"
	}
	return p.b.String()
}

// valueText is the value as a REPL would show it: a representation as it is,
// everything else as JSON.
func valueText(r execution.Result) string {
	if r.Value == nil {
		return ""
	}
	var s string
	if r.ValueType != "str" && json.Unmarshal(r.Value, &s) == nil {
		return s
	}
	return string(r.Value)
}

// traceback is shown when stderr does not end in it already.
func traceback(r execution.Result) string {
	if r.Error == nil || len(r.Error.Traceback) == 0 {
		return ""
	}
	last := strings.TrimSuffix(r.Error.Code+": "+r.Error.Message, ": ")
	if strings.Contains(r.Stderr, prefix(last, 200)) || strings.Contains(r.Stderr, "Traceback (most recent call last)") {
		return ""
	}
	return "Traceback (most recent call last):\n" + strings.Join(r.Error.Traceback, "") + last
}

// ending says how a run stands when that is not simply well. What was said
// before is not said again.
func ending(r execution.Result, before string) string {
	switch {
	case r.Status == execution.StatusOK:
		return ""
	case r.AsksWithin():
		return asksWithin(r)
	case r.Status == execution.StatusRunning:
		return fmt.Sprintf("%s Call get_operation(operation_id=%q) to wait for the end, or cancel_operation to end it.", cmp.Or(r.Summary, "Still running."), string(r.OperationID))
	}
	s := fmt.Sprintf("Status: %s, exit code %d", r.Status, r.ExitCode)
	if r.Signal != "" {
		s += ", signal " + r.Signal
	}
	if r.Error != nil && r.Error.Message != "" && !strings.Contains(before, r.Error.Message) {
		s += ". " + r.Error.Message
	}
	return s
}

func files(p *page, artifacts []execution.Artifact) {
	if len(artifacts) == 0 {
		return
	}
	p.add("Files:")
	for _, a := range artifacts {
		p.addf("- %s (%s, %v, %s) %s", a.Name, a.MIMEType, a.Size, a.Change, a.URI)
	}
}

// footnotes are what one should know of a run beside its output.
func footnotes(p *page, r execution.Result) {
	if r.Lossy {
		p.add("Note: bytes that are not UTF-8 were replaced by U+FFFD.")
	}
	for _, c := range r.ToolCalls {
		if c.Error != "" {
			p.addf("Tool call %s: %s: %s", c.Tool, c.Status, c.Error)
		}
	}
	if len(r.Denied) > 0 {
		p.addf("Refused while running: %s", strings.Join(r.Denied, ", "))
	}
	if len(r.UnsupportedSyscalls) > 0 {
		p.addf("System calls that the sandbox does not offer: %s", strings.Join(r.UnsupportedSyscalls, ", "))
	}
	for _, w := range r.Warnings {
		p.addf("Warning: %s", w)
	}
}

// denied tells what to change, first to the model and then to the operator.
func denied(r execution.Result) string {
	if len(r.Permissions) > 0 {
		return unapproved(r)
	}
	if r.Error != nil && r.Error.Code == string(execution.CodeUnavailable) {
		return r.Error.Message // nothing is wrong with the code
	}
	var p page
	p.addf("Denied by the gear %q. Nothing was run.", r.Gear)
	if r.Error == nil {
		p.add(r.Stderr)
		return p.b.String()
	}
	if len(r.Error.Violations) == 0 {
		p.add(r.Error.Message)
	}
	permitted := false
	for _, v := range r.Error.Violations {
		violation(&p, v)
		permitted = permitted || v.Allow != ""
	}
	for _, w := range r.Warnings {
		p.addf("Warning: %s", w)
	}
	p.add("Change the code so that it does without this.")
	if permitted {
		p.add("Only the operator can permit it, with the option named above.")
	}
	return p.b.String()
}

func violation(p *page, v execution.Violation) {
	place := ""
	if v.Line > 0 {
		place = fmt.Sprintf("line %d, column %d: ", v.Line, v.Column)
	}
	p.addf("- %s%s is not permitted (rule: %s)", place, v.Permission, v.Rule)
	if v.Source != "" {
		p.addf("    %s", cut(strings.TrimSpace(v.Source), maxMessage, leftOut).text)
	}
	if v.Hint != "" {
		p.addf("  Hint: %s", v.Hint)
	}
	if v.Allow != "" {
		p.addf("  The operator would permit it with: --allow '%s'", v.Allow)
	}
}

func rejected(r execution.Result) string {
	var p page
	p.addf("Rejected (%s): %s", r.Error.Code, r.Stderr)
	if r.Error.RetryAfter > 0 {
		p.addf("Try again in %v seconds.", r.Error.RetryAfter)
	}
	if r.Error.Code != string(execution.CodeNotFound) {
		p.add("Nothing was run.")
	}
	return p.b.String()
}

func broken(r execution.Result) string {
	var p page
	p.add(r.Stdout)
	p.addf("Internal error: %s", r.Stderr)
	if r.OperationID != "" {
		p.addf("The operation is %s.", r.OperationID)
	}
	return p.b.String()
}

// unapproved tells what a human was asked for and how that ended, with their own words
// if they left any.
func unapproved(r execution.Result) string {
	var p page
	p.add("Not approved:")
	for _, permission := range r.Permissions {
		p.addf("- %s", permission)
	}
	p.add(r.Stderr)
	return p.b.String()
}

// pending tells a model what its user is asked. Nothing in it leads to a decision: how the
// user decides is named for the user, who has to be told.
func pending(r execution.Result) string {
	var p page
	p.add("Waiting for your user's approval. Nothing was run yet.")
	question(&p, r)
	p.addf("Tell your user what is asked for and how to decide, and go on with what does not need it. You cannot decide this yourself. "+
		"After a yes the code runs by itself: call get_operation(operation_id=%q) later, with wait_seconds to wait for the decision.", string(r.OperationID))
	return p.b.String()
}

// asksWithin tells the same of a program that waits for the answer in the middle of its run.
func asksWithin(r execution.Result) string {
	var p page
	p.add("The program is running and waits for your user's approval of a tool call.")
	question(&p, r)
	p.addf("Tell your user what is asked for and how to decide. You cannot decide this yourself. "+
		"After the decision the program goes on by itself: call get_operation(operation_id=%q) later, with wait_seconds to wait for the end, or cancel_operation to end it.", string(r.OperationID))
	return p.b.String()
}

// question tells what is asked and how the user decides.
func question(p *page, r execution.Result) {
	p.add(r.Summary)
	for _, permission := range r.Permissions {
		p.addf("- %s", permission)
	}
	p.add(r.ApproveHint)
	if r.ExpiresAt != "" {
		p.addf("The request expires at %s.", r.ExpiresAt)
	}
}
