package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// questionShown is a question in the form of --json.
type questionShown struct {
	Operation execution.ID        `json:"operation_id"`
	State     execution.State     `json:"state"`
	Summary   string              `json:"summary"`
	Asked     []execution.Asked   `json:"permissions"`
	Hash      execution.Digest    `json:"hash"`
	Created   time.Time           `json:"created"`
	Expires   time.Time           `json:"expires_at"`
	Principal execution.Principal `json:"principal"`
	Client    string              `json:"client,omitempty"`
	Gear      string              `json:"gear"`
	Language  execution.Language  `json:"language"`
	Run       execution.ID        `json:"run,omitempty"`         // whose program waits for the call
	Again     string              `json:"asked_again,omitempty"` // why
	Answer    *execution.Answer   `json:"answer,omitempty"`
}

// questionWhole is a question with all that would be run.
type questionWhole struct {
	questionShown

	Code string `json:"code"`
	// Call is what the code says, where the operation is the call of a tool.
	Call      *callShown     `json:"call,omitempty"`
	Timeout   float64        `json:"timeout_seconds,omitempty"`
	Stdin     string         `json:"stdin,omitempty"`
	Variables map[string]any `json:"variables,omitempty"`
	Files     []fileHashed   `json:"files,omitempty"`
	// Always are the rules that the answer "always" would write, and Never is why it
	// cannot be given.
	Always []string `json:"always,omitempty"`
	Never  string   `json:"always_refused,omitempty"`
}

// callShown is the call of a tool of another server.
type callShown struct {
	Tool      string          `json:"tool"` // server.tool
	Arguments json.RawMessage `json:"arguments"`
}

type fileHashed struct {
	fileShown

	SHA256 string `json:"sha256"`
}

func shownQuestion(r execution.Record) questionShown {
	q := r.Approval
	call, _ := execution.CallOf(r.Request)
	return questionShown{
		Operation: r.ID, Run: call.Run, State: r.State, Summary: q.Summary, Asked: q.Asked, Hash: q.Hash, Created: q.Created, Expires: q.Expires,
		Principal: r.Request.Principal, Client: clientName(r.Request.Client), Gear: r.Gear, Language: r.Request.Language, Again: q.Again, Answer: q.Answer,
	}
}

func wholeQuestion(r execution.Record) questionWhole {
	plain := shownRequest(r.Request)
	w := questionWhole{questionShown: shownQuestion(r), Code: plain.Code, Timeout: plain.TimeoutSeconds, Stdin: plain.Stdin, Variables: plain.Variables}
	if c, ok := execution.CallOf(r.Request); ok {
		w.Call = &callShown{c.Tool, c.Arguments}
	}
	for i, f := range plain.Files {
		w.Files = append(w.Files, fileHashed{f, hashOf(r.Request.Files[i].Data)})
	}
	var err error
	if w.Always, err = sidecar.Lasting(r.Approval); err != nil {
		w.Never = err.Error()
	}
	return w
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// mostInput is how much of standard input and of variables is printed. Their size and hash
// tell of the rest, and --json has it all. Code is printed whole.
const mostInput = 8 << 10

// picture prints questions for a person: everything that came with a call passes through
// [visible], behind a margin that no text of a program can forge.
type picture struct {
	w io.Writer
	// columns is the width of a terminal, which breaks longer lines at the left edge, where
	// they would look like lines of their own; 0 where nothing does.
	columns   int
	rulesFile string
}

func (p picture) printf(format string, args ...any) { _, _ = fmt.Fprintf(p.w, format, args...) }

// question prints everything about a question.
func (p picture) question(r execution.Record, now time.Time) {
	q, whole := r.Approval, wholeQuestion(r)
	p.field("operation", string(r.ID))
	p.field("asks", q.Summary)
	p.field("principal", string(whole.Principal))
	p.field("client", whole.Client)
	p.field("gear", whole.Gear)
	p.field("language", string(whole.Language))
	p.field("run", waitingRun(whole.Run))
	if r.Request.Timeout > 0 {
		p.field("timeout", r.Request.Timeout.String())
	}
	p.field("asked", clock(q.Created)+becauseAgain(q))
	p.field("expires", clock(q.Expires)+left(q.Expires, now))
	p.field("hash", q.Hash.String())
	if state := decided(r); state != "" {
		p.field("state", state)
	}
	p.permissions(q.Asked, strings.Split(whole.Code, "\n"))
	if call, ok := execution.CallOf(r.Request); ok {
		p.lines("arguments of "+visible.Line(call.Tool), call.Lines(), false)
	} else {
		p.lines("code", whole.Code, true)
	}
	p.inputs(r.Request, whole)
	p.always(whole)
}

// waitingRun says for whom a call would be made, if for a program.
func waitingRun(id execution.ID) string {
	if id == "" {
		return ""
	}
	return string(id) + ", whose program waits for this call, and its time stands still"
}

// becauseAgain says why a question is not the first about its operation.
func becauseAgain(q *execution.Approval) string {
	if q.Again == "" {
		return ""
	}
	return ", again because " + q.Again
}

// left says how long a question stands yet.
func left(expires, now time.Time) string {
	if d := expires.Sub(now).Round(time.Second); d > 0 {
		return ", in " + d.String()
	}
	return ""
}

// decided says how a question ended; it is empty while it is open.
func decided(r execution.Record) string {
	switch a := r.Approval.Answer; {
	case a != nil && a.Message != "":
		return fmt.Sprintf("%s by %s: %s", a.Verdict, a.By, a.Message)
	case a != nil:
		return fmt.Sprintf("%s by %s", a.Verdict, a.By)
	case r.State == execution.StateStale || r.State == execution.StateResumed:
		return "withdrawn: " + execution.AgainRules + ", and decide anew"
	case r.State == execution.StateFinished:
		return "ended without an answer"
	}
	return ""
}

// field prints one line of the head, if there is something to say.
func (p picture) field(name, value string) {
	if value != "" {
		p.wrapped(fmt.Sprintf("%-10s ", name), strings.Repeat(" ", 11), visible.Line(value))
	}
}

// permissions prints what is asked for, each with its line as it is in the code, and, where
// that was not kept, as it was noted.
func (p picture) permissions(asked []execution.Asked, code []string) {
	p.printf("\nit needs:\n")
	for _, one := range asked {
		place := ""
		if one.Line > 0 {
			place = fmt.Sprintf("line %d, column %d: ", one.Line, one.Column)
		}
		p.wrapped("  ", "    ", place+visible.Line(one.String()))
		source := one.Source
		if 0 < one.Line && one.Line <= len(code) {
			source = code[one.Line-1]
		}
		if source != "" {
			p.wrapped("    | ", "    : ", visible.Line(source))
		}
		if one.Reason != "" {
			p.wrapped("    ", "    ", visible.Line(one.Reason))
		}
	}
}

func (p picture) inputs(q execution.Request, whole questionWhole) {
	p.input("standard input", string(q.Stdin))
	for i, name := range sortedKeys(q.Variables) {
		if i == 0 {
			p.printf("\nvariables:\n")
		}
		p.wrapped("  ", "  : ", visible.Line(name)+" = "+cut(visible.Line(string(q.Variables[name]))))
	}
	for i, f := range whole.Files {
		if i == 0 {
			p.printf("\nfiles (gearbox approvals show %s --file PATH prints one):\n", whole.Operation)
		}
		p.wrapped("  ", "  : ", fmt.Sprintf("%s, %v, sha256:%s", visible.Line(f.Path), f.Size, f.SHA256))
	}
}

func (p picture) input(name, text string) {
	if text == "" {
		return
	}
	p.lines(fmt.Sprintf("%s, %d bytes, sha256:%s", name, len(text), hashOf([]byte(text))), text[:min(len(text), mostInput)], false)
	if more := len(text) - mostInput; more > 0 {
		p.printf("  and %d bytes more: --json has them\n", more)
	}
}

// cut bounds the value of a variable, which has been made visible.
func cut(s string) string {
	if len(s) <= mostInput {
		return s
	}
	at := mostInput
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return fmt.Sprintf("%s and %d bytes more: --json has them", s[:at], len(s)-at)
}

// lines prints text behind a margin, with line numbers if they mean something.
func (p picture) lines(name, text string, numbered bool) {
	p.printf("\n%s:\n", name)
	all := strings.Split(strings.TrimSuffix(visible.Text(text), "\n"), "\n")
	digits := len(strconv.Itoa(len(all)))
	for i, line := range all {
		first, more := "  | ", "  : "
		if numbered {
			first = fmt.Sprintf("  %*d | ", digits, i+1)
			more = "  " + strings.Repeat(" ", digits) + " : "
		}
		p.wrapped(first, more, line)
	}
}

// always says what the answer "always" would do.
func (p picture) always(whole questionWhole) {
	if whole.Never != "" {
		p.printf("\nno \"always\": ")
		p.wrapped("", "    ", visible.Line(whole.Never))
		return
	}
	p.printf("\n\"always\" adds to %s:\n", visible.Line(p.rulesFile))
	for _, rule := range whole.Always {
		p.wrapped("  allow ", "      : ", visible.Line(rule))
	}
}

// wrapped prints one line, broken so that a terminal does not break it.
func (p picture) wrapped(first, more, text string) {
	room := p.columns - len(first)
	if p.columns == 0 || room < 10 {
		p.printf("%s%s\n", first, text)
		return
	}
	margin := first
	for {
		n := prefixOf(text, room)
		p.printf("%s%s\n", margin, text[:n])
		if text = text[n:]; text == "" {
			return
		}
		margin = more
	}
}

// prefixOf is how many bytes of text surely find room: what is not ASCII may be two columns
// wide.
func prefixOf(text string, room int) int {
	for i, r := range text {
		if room--; r >= utf8.RuneSelf {
			room--
		}
		if room < 0 && i > 0 {
			return i
		}
	}
	return len(text)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
