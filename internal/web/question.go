package web

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// standing is where a question stands.
type standing string

const (
	standsOpen      standing = "open"
	standsApproved  standing = "approved"
	standsDenied    standing = "denied"
	standsExpired   standing = "expired"
	standsWithdrawn standing = "withdrawn"
)

// question is one thing that humans are asked, in brief. All text in it that somebody else
// has written is as [visible] shows it.
type question struct {
	ID   execution.ID     `json:"operation_id"`
	Hash execution.Digest `json:"hash"`
	// State is where the question stands, and not the operation.
	State   standing `json:"state"`
	Summary string   `json:"summary"`
	// Permissions are the first of what is asked for; Asked is the number of all.
	Permissions []permission        `json:"permissions"`
	Asked       int                 `json:"permissions_total"`
	Principal   execution.Principal `json:"principal"`
	Client      program             `json:"client"`
	Gear        string              `json:"gear"`
	Language    execution.Language  `json:"language"`
	// Run is the operation whose program waits for the call of a tool that is asked about.
	Run       execution.ID `json:"run,omitempty"`
	AskedAt   time.Time    `json:"asked_at"`
	ExpiresAt time.Time    `json:"expires_at"`
	// Again says why the operation is asked about another time; absent the first time.
	Again  string `json:"asked_again,omitempty"`
	Answer *given `json:"answer,omitempty"`
}

// permission is one effect that needs a yes. There is one answer to all of a question.
type permission struct {
	Number     int    `json:"number"` // from 1
	Permission string `json:"permission"`
	// Line and Column count from 1.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Source is that line, in the full form alone.
	Source string `json:"source,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Always is the rule that a yes for always would write; absent where there is none.
	Always string `json:"always,omitempty"`
}

// program is what the agent's program says of itself.
type program struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// given is the answer that was given.
type given struct {
	Decision execution.Verdict `json:"decision"`
	Scope    execution.Scope   `json:"scope,omitempty"`
	Message  string            `json:"message,omitempty"`
	By       string            `json:"by"`
	At       time.Time         `json:"at"`
}

// brief are the permissions in the brief form: a program may need very many.
const brief = 20

// overview is a question in brief, as it stands now.
func overview(r execution.Record, now time.Time) question {
	a := r.Approval
	call, _ := execution.CallOf(r.Request)
	q := question{
		ID: r.ID, Hash: a.Hash, State: stateOf(r, now), Summary: visible.Line(a.Summary), Permissions: numbered(a.Asked[:min(len(a.Asked), brief)]), Asked: len(a.Asked),
		Principal: r.Request.Principal, Client: program{visible.Line(r.Request.Client.Name), visible.Line(r.Request.Client.Version)},
		Gear: r.Gear, Language: r.Request.Language, Run: call.Run, AskedAt: a.Created, ExpiresAt: a.Expires, Again: a.Again,
	}
	for i := range q.Permissions {
		q.Permissions[i].Source = "" // a line may be as long as a program
	}
	if a.Answer != nil {
		q.Answer = &given{a.Answer.Verdict, a.Answer.Scope, visible.Text(a.Answer.Message), visible.Line(a.Answer.By), a.Answer.At}
	}
	return q
}

func stateOf(r execution.Record, now time.Time) standing {
	switch a := r.Approval; {
	case a.Answer != nil && a.Answer.Verdict == execution.Approved:
		return standsApproved
	case a.Answer != nil && a.Answer.Verdict == execution.Refused:
		return standsDenied
	case r.State == execution.StatePending && now.Before(a.Expires):
		return standsOpen
	case r.State == execution.StateStale || r.State == execution.StateResumed || r.State == execution.StateFinished && r.Result.Status == execution.StatusCancelled:
		return standsWithdrawn
	}
	return standsExpired
}

func numbered(asked []execution.Asked) []permission {
	out := make([]permission, 0, len(asked))
	for i, one := range asked {
		out = append(out, permission{
			Number: i + 1, Permission: visible.Line(one.String()), Line: one.Line, Column: one.Column, Source: visible.Line(one.Source), Reason: visible.Line(one.Reason), Always: visible.Line(one.Allow),
		})
	}
	return out
}

// fullQuestion is all that a person has to see before deciding.
type fullQuestion struct {
	question

	// Code is exactly what would be run, and CodeVisible what to show of it.
	Code        string `json:"code"`
	CodeVisible string `json:"code_visible"`
	// CodeSHA256 is the SHA-256 of the code alone.
	CodeSHA256 execution.Digest `json:"code_sha256"`
	// Call is what the code says, where the operation is the call of a tool.
	Call *call `json:"call,omitempty"`
	// Timeout is in seconds; absent for the gear's own.
	Timeout   float64 `json:"timeout_seconds,omitempty"`
	Stdin     *input  `json:"stdin,omitempty"`
	Variables []input `json:"variables"`
	Files     []input `json:"files"`
	// Always are the rules that a yes for always would write; empty where it cannot be.
	Always []string `json:"always"`
}

// call is the call of a tool of another server.
type call struct {
	Tool string `json:"tool"` // server.tool
	// Arguments are those that are sent, and ArgumentsVisible what to show of them.
	Arguments        json.RawMessage `json:"arguments"`
	ArgumentsVisible string          `json:"arguments_visible"`
}

// input is something that the program finds.
type input struct {
	// Name is that of a variable or the path of a file.
	Name   string           `json:"name,omitempty"`
	Size   int              `json:"size_bytes"`
	SHA256 execution.Digest `json:"sha256"`
	// Head is how it begins if it is text, and Complete tells that this is all of it.
	Head     string `json:"head,omitempty"`
	Complete bool   `json:"complete"`
}

// headBytes bounds [input.Head].
const headBytes = 1000

func inFull(r execution.Record, always []string, now time.Time) fullQuestion {
	f := fullQuestion{
		question: overview(r, now), Code: r.Request.Code, CodeVisible: visible.Text(r.Request.Code), CodeSHA256: sha256.Sum256([]byte(r.Request.Code)),
		Timeout: r.Request.Timeout.Seconds(), Variables: []input{}, Files: []input{}, Always: append([]string{}, always...),
	}
	f.Permissions = numbered(r.Approval.Asked)
	if c, ok := execution.CallOf(r.Request); ok {
		f.Call = &call{visible.Line(c.Tool), c.Arguments, visible.Text(c.Lines())}
	}
	if len(r.Request.Stdin) > 0 {
		f.Stdin = new(inputOf("", r.Request.Stdin))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Request.Variables)) {
		f.Variables = append(f.Variables, inputOf(name, r.Request.Variables[name]))
	}
	for _, file := range r.Request.Files {
		f.Files = append(f.Files, inputOf(file.Path, file.Data))
	}
	return f
}

func inputOf(name string, data []byte) input {
	in := input{Name: visible.Line(name), Size: len(data), SHA256: sha256.Sum256(data)}
	head := data[:min(len(data), headBytes)]
	for len(head) < len(data) && len(head) > 0 && !utf8.RuneStart(data[len(head)]) { // a character is not cut
		head = head[:len(head)-1]
	}
	if utf8.Valid(head) {
		in.Head, in.Complete = visible.Text(string(head)), len(head) == len(data)
	}
	return in
}
