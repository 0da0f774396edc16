package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Answer is what came of a task.
type Answer struct {
	// Status is how the last program ended, empty if none ran.
	Status execution.Status `json:"status"`
	// Sentence is how the model ended the task in words; often empty.
	Sentence string `json:"sentence,omitempty"`
	// Stopped is why the task came to no end; empty if it did.
	Stopped string `json:"stopped,omitempty"`
	// Code is the last program, and Result its answer.
	Code   string           `json:"code"`
	Result execution.Result `json:"result"`
	// Programs is how many ran.
	Programs int   `json:"programs"`
	Usage    Usage `json:"usage"`
}

func (a *Answer) take(code string, r execution.Result) {
	a.Status, a.Code, a.Result = r.Status, code, r
}

// Text is the answer as people and models read it, in the form of the code mode server
// whose run_agent this takes the place of: output, errors, program, each under its heading.
func (a Answer) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", a.headline())
	for _, text := range []string{a.Sentence, a.Stopped} {
		if text != "" {
			fmt.Fprintf(&b, "\n%s\n", text)
		}
	}
	section(&b, "Execution Output", "", a.output())
	if errs := a.errors(); errs != "" {
		section(&b, "Errors", "", errs)
	}
	section(&b, "Generated Code", "python", a.Code)
	return b.String()
}

// Failed reports whether the task was not done. Waiting is not failing.
func (a Answer) Failed() bool {
	return a.Stopped != "" || a.Status != execution.StatusOK && a.Status.Final()
}

func (a Answer) headline() string {
	if a.Stopped != "" {
		return "❌ **Task Failed**"
	}
	switch a.Status {
	case execution.StatusOK:
		return "✅ **Task Complete**"
	case execution.StatusPendingApproval:
		return "⏳ **Waiting for approval** of operation " + string(a.Result.OperationID)
	case execution.StatusRunning:
		if a.Result.AsksWithin() {
			return "⏳ **Waiting for approval** of a tool call, in the middle of operation " + string(a.Result.OperationID)
		}
		return "⏳ **Still running** as operation " + string(a.Result.OperationID)
	default:
		return "❌ **Task Failed**"
	}
}

// output is what the program printed and the value of its last expression.
func (a Answer) output() string {
	out := strings.TrimRight(a.Result.Stdout, "\n")
	if value := valueText(a.Result.Value); value != "" {
		out = strings.TrimLeft(out+"\n"+value, "\n")
	}
	if out == "" {
		return "(No output)"
	}
	return out
}

// valueText is a value without the quotes of a string.
func valueText(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil && string(v) != "null" {
		return s
	}
	return string(v)
}

func (a Answer) errors() string {
	errs := strings.TrimRight(a.Result.Stderr, "\n")
	if a.Result.Error != nil {
		if text := errorText(a.Result); text != "" {
			errs += "\n" + text
		}
		for _, v := range a.Result.Error.Violations {
			errs += "\nnot permitted: " + violationText(v)
			if v.Allow != "" {
				errs += "; an operator permits it with --allow '" + v.Allow + "'"
			}
		}
	}
	if a.Result.ApproveHint != "" {
		errs += "\n" + strings.TrimLeft(a.Result.Summary+"\n", "\n") + a.Result.ApproveHint
	}
	return strings.Trim(errs, "\n")
}

// section writes text in a fence that nothing in it can close.
func section(b *strings.Builder, title, language, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "\n### %s\n%s%s\n%s\n%s\n", title, fence, language, strings.TrimRight(text, "\n"), fence)
}
