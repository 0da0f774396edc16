package cli

import (
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// show prints a result for a person: the program's output on its own streams,
// and what is to be said about it on standard error.
func (a *app) show(r execution.Result) error {
	value, err := valueText(r)
	if err != nil {
		return err
	}
	a.printf("%s", r.Stdout)
	if value != "" {
		a.printf("%s%s\n", lineBreak(r.Stdout), value)
	}
	if r.Status == execution.StatusDenied {
		a.showDenied(r)
	} else {
		a.showStderr(r)
	}
	a.showNotes(r)
	return nil
}

// lineBreak ends an unfinished line.
func lineBreak(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return ""
	}
	return "\n"
}

func (a *app) showStderr(r execution.Result) {
	a.sayf("%s", r.Stderr)
	if r.Status == execution.StatusOK {
		return
	}
	a.sayf("%s", lineBreak(r.Stderr))
	if text := traceback(r); text != "" {
		a.sayf("%s\n", text)
	}
}

// tracebackHead is how Python begins to report an exception.
const tracebackHead = "Traceback (most recent call last):"

// traceback is the program's exception, unless its stderr ends in it already.
func traceback(r execution.Result) string {
	if r.Error == nil || strings.Contains(r.Stderr, tracebackHead) {
		return ""
	}
	last := r.Error.Message
	if len(r.Error.Traceback) > 0 {
		last = strings.TrimSuffix(r.Error.Code+": "+r.Error.Message, ": ")
	}
	if last == "" || strings.Contains(r.Stderr, last) {
		return ""
	}
	if len(r.Error.Traceback) == 0 {
		return last
	}
	return tracebackHead + "\n" + strings.Join(r.Error.Traceback, "") + last
}

// showDenied tells each violation with its place, what to do instead, and the
// option that would permit it.
func (a *app) showDenied(r execution.Result) {
	a.notef("%s", visible.Text(strings.TrimSpace(r.Stderr))) // it quotes the program
	if r.Error == nil {
		return
	}
	for _, v := range r.Error.Violations {
		a.sayf("\n")
		if v.Line > 0 {
			a.sayf("line %d, column %d: ", v.Line, v.Column)
		}
		a.sayf("%s is not permitted (rule: %s)\n", visible.Line(v.Permission), visible.Line(v.Rule))
		if v.Source != "" {
			a.sayf("    %s\n", visible.Line(strings.TrimSpace(v.Source)))
		}
		if v.Hint != "" {
			a.sayf("  hint: %s\n", visible.Line(v.Hint))
		}
		if v.Allow != "" {
			a.sayf("  to permit it: --allow %s\n", visible.Line(shellQuote(v.Allow)))
		}
	}
}

func (a *app) showNotes(r execution.Result) {
	for _, name := range []string{"stdout", "stderr"} {
		if t, ok := r.Truncated[name]; ok {
			a.notef("%s: %d of %d bytes were kept", name, t.KeptBytes, t.TotalBytes)
		}
	}
	if r.Lossy {
		a.notef("bytes that are not UTF-8 were replaced")
	}
	if r.Status != execution.StatusDenied && len(r.Denied) > 0 {
		a.notef("refused while running: %s", visible.Line(strings.Join(r.Denied, ", ")))
	}
	if len(r.UnsupportedSyscalls) > 0 {
		a.notef("the sandbox does not have the system calls %s", strings.Join(r.UnsupportedSyscalls, ", "))
	}
	if r.ApproveHint != "" {
		a.notef("%s", r.ApproveHint)
	}
	for _, w := range r.Warnings {
		a.notef("warning: %s", visible.Text(w))
	}
}

// shellQuote writes s as one word of a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
