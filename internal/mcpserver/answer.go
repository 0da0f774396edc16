package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Shown is how many characters of one stream an answer holds, in its text and
// its structured content together: some clients show a model both. Claude Code
// cuts a tool's output at 25,000 tokens, so both streams and the rest fit.
const Shown = 24_000

// perCopy is the share of each of the two.
const perCopy = Shown / 2

// answer maps a result to what a client gets. The text stands alone, and so
// does the structured content.
func answer(r execution.Result) *mcp.CallToolResult {
	r = fit(r)
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: text(r)}},
		StructuredContent: r,
		IsError:           failed(r.Status),
	}
}

// answer is [answer] with all that is shown of the program and its wishes made visible.
func (s *service) answer(r execution.Result) *mcp.CallToolResult {
	return withAttachments(answer(s.visibly(r)), r.Attachments)
}

// text is the text of an answer alone.
func (s *service) text(r execution.Result) string { return text(fit(s.visibly(r))) }

// visibly has what a program asks for look like what it is: a path or a line of source may
// hold characters that do not show, or show as others.
func (s *service) visibly(r execution.Result) execution.Result {
	r.Summary = s.visible(r.Summary)
	r.Permissions = slices.Clone(r.Permissions)
	for i, p := range r.Permissions {
		r.Permissions[i] = s.visible(p)
	}
	if r.Error != nil && len(r.Error.Violations) > 0 {
		e := *r.Error
		e.Violations = slices.Clone(e.Violations)
		for i := range e.Violations {
			v := &e.Violations[i]
			v.Permission, v.Source = s.visible(v.Permission), s.visible(v.Source)
		}
		r.Error = &e
	}
	return r
}

// failed reports whether program or policy failed or the call was rejected.
// Waiting is not failing.
func failed(s execution.Status) bool { return s != execution.StatusOK && s.Final() }

// fit cuts what a program may make as long as it likes.
func fit(r execution.Result) execution.Result {
	r.Truncated = maps.Clone(r.Truncated)
	r.Stdout = fitStream(&r, "stdout", r.Stdout)
	r.Stderr = fitStream(&r, "stderr", r.Stderr)
	fitValue(&r)
	if r.Error != nil {
		e := *r.Error
		e.Message = cut(e.Message, maxMessage, leftOut).text
		e.Traceback = fitTraceback(e.Traceback)
		r.Error = &e
	}
	return r
}

func fitStream(r *execution.Result, name, s string) string {
	total := execution.Bytes(len(s))
	if t, ok := r.Truncated[name]; ok {
		total = t.TotalBytes
	}
	c := cut(s, perCopy, func(missing, next int) string {
		missing += int(total) - len(s)
		if r.Lossy {
			next -= 2 * strings.Count(s[:next], "\ufffd")
		}
		return fmt.Sprintf("\n[… %d bytes of %s are not shown here: read them with get_operation(operation_id=%q, stream=%q, output_offset=%d) …]\n",
			missing, name, string(r.OperationID), name, max(next, 0))
	})
	if _, known := r.Truncated[name]; c.missing > 0 && !known {
		if r.Truncated == nil {
			r.Truncated = map[string]execution.Truncated{}
		}
		r.Truncated[name] = execution.Truncated{TotalBytes: total, KeptBytes: total}
	}
	return c.text
}

// fitValue makes sure that the value is JSON that every client can read. Half a
// surrogate pair, which Python strings may hold, makes strict parsers refuse the
// whole message, and so does deep nesting. A value that is too long or too deep
// becomes a string of its beginning and end.
func fitValue(r *execution.Result) {
	if r.Value == nil {
		return
	}
	v := jsontext.Value(r.Value).Clone()
	if err := v.Format(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		r.Value = nil
		warn(r, "the value was not JSON and is left out")
		return
	}
	if c := cut(string(v), perCopy, leftOut); c.missing > 0 || tooDeep(v) {
		quoted, err := json.Marshal(c.text)
		if err != nil {
			r.Value = nil // cannot be: a string is always JSON
			return
		}
		v = quoted
		warn(r, "the value is too long or too deep to be shown as it is: print or return the part that you need")
	}
	r.Value = []byte(v)
}

// maxDepth is well below what any client's parser gives up at; the Go SDK's
// does at 1,000.
const maxDepth = 100

func tooDeep(v jsontext.Value) bool {
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		if d.StackDepth() > maxDepth {
			return true
		}
	}
}

func warn(r *execution.Result, w string) {
	r.Warnings = append(r.Warnings[:len(r.Warnings):len(r.Warnings)], w)
}

func leftOut(missing, _ int) string { return fmt.Sprintf("[… %d bytes left out …]", missing) }

// The bounds on what an exception says of itself.
const (
	maxMessage = 2_000
	maxFrames  = 20
	maxFrame   = 1_000
)

// fitTraceback keeps the outermost and the innermost frames.
func fitTraceback(frames []string) []string {
	out := make([]string, 0, min(len(frames), maxFrames+1))
	for i, f := range frames {
		switch gap := len(frames) - maxFrames; {
		case gap <= 0 || i < maxFrames/2 || i >= maxFrames/2+gap:
			out = append(out, cut(f, maxFrame, leftOut).text)
		case i == maxFrames/2:
			out = append(out, fmt.Sprintf("  [… %d frames left out …]\n", gap))
		}
	}
	return out
}

// rejection is the answer to a call that made no operation.
func rejection(e *execution.RejectedError) execution.Result {
	return execution.Result{
		Status: execution.StatusRejected, ExitCode: -1, Stderr: e.Error(),
		Error: &execution.Error{
			Code: string(e.Code), Message: e.Message, Field: e.Field, RetryAfter: e.RetryAfter.Seconds(),
		},
	}
}

const internalMessage = "Gearbox failed to do this; its log has the reason."

// internalError is the answer to a failure of our own. The reason may hold what
// the caller must not see, so it stays in the log.
func internalError(id execution.ID) execution.Result {
	return execution.Result{
		Status: execution.StatusInternalError, OperationID: id, ExitCode: -1, Stderr: internalMessage,
		Error: &execution.Error{Code: string(execution.CodeInternal), Message: internalMessage},
	}
}
