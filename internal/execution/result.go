package execution

import "encoding/json"

// Result is the answer: what a client reads as structured content and what
// `gearbox exec --json` prints. The first five fields are always present; every
// other one only when it says something. Fields are only ever added.
//
// ExitCode is 0 only with [StatusOK], 128+n after signal n, and -1 when the
// program did not end by itself or never ran; Stderr then ends with a line that
// says why.
type Result struct {
	Status      Status `json:"status"`
	OperationID ID     `json:"operation_id"`
	ExitCode    int    `json:"exit_code"`
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`

	Signal     string               `json:"signal,omitempty"`
	Value      json.RawMessage      `json:"value,omitempty"`
	ValueType  string               `json:"value_type,omitempty"`
	Error      *Error               `json:"error,omitempty"`
	DurationMS float64              `json:"duration_ms,omitempty"`
	CPUMS      float64              `json:"cpu_ms,omitempty"`
	MemoryPeak Bytes                `json:"memory_peak_bytes,omitempty"`
	Truncated  map[string]Truncated `json:"truncated,omitempty"`
	Lossy      bool                 `json:"lossy,omitempty"`

	Artifacts           []Artifact `json:"artifacts,omitempty"`
	ToolCalls           []ToolCall `json:"tool_calls,omitempty"`
	Connections         []string   `json:"connections,omitempty"`
	Denied              []string   `json:"denied,omitempty"`
	UnsupportedSyscalls []string   `json:"unsupported_syscalls,omitempty"`

	SessionID string `json:"session_id,omitempty"`
	Cached    bool   `json:"cached,omitempty"`

	Summary     string   `json:"summary,omitempty"`
	Permissions []string `json:"permissions,omitempty"`
	ApproveHint string   `json:"approve_hint,omitempty"`
	ExpiresAt   string   `json:"expires_at,omitempty"`
	// Question tells one question about the operation from another. Agents do not see it.
	Question Digest `json:"-"`

	Gear      string   `json:"gear,omitempty"`
	Isolation Level    `json:"isolation,omitempty"`
	Backend   string   `json:"backend,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`

	// Attachments are what the answer of a tool holds beside text. They are no part of the
	// structured answer; records keep them beside it.
	Attachments []Attachment `json:"-"`
}

// AsksWithin reports whether it is that of a program that runs and waits for a human to
// decide about a call of a tool.
func (r Result) AsksWithin() bool { return r.Status == StatusRunning && r.ApproveHint != "" }

// Error says why a run did not end well.
type Error struct {
	// Code is a [Code], or the class name of the program's own exception.
	Code       string      `json:"code"`
	Message    string      `json:"message"`
	Violations []Violation `json:"violations,omitempty"`
	// Traceback holds the program's own frames, one formatted entry each.
	Traceback []string `json:"traceback,omitempty"`
	// Line is where in the source the exception was raised, from 1.
	Line int `json:"line,omitempty"`
	// Hint says what the sandbox has to do with it and what works instead.
	Hint string `json:"hint,omitempty"`
	// Field is the argument at fault and RetryAfter the seconds to wait; both
	// belong to rejected calls only.
	Field      string  `json:"field,omitempty"`
	RetryAfter float64 `json:"retry_after_seconds,omitempty"`
}

// Violation is one permission that was refused, with what an operator would
// write to grant it. Line and Column count from 1, Column in characters.
type Violation struct {
	Rule       string `json:"rule"`
	Permission string `json:"permission"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Source     string `json:"source,omitempty"`
	Hint       string `json:"hint,omitempty"`
	Allow      string `json:"allow,omitempty"`
}

// Truncated tells how much of a stream was kept.
type Truncated struct {
	TotalBytes Bytes `json:"total_bytes"`
	KeptBytes  Bytes `json:"kept_bytes"`
}

// Artifact is a file that came out of a run.
type Artifact struct {
	Name     string `json:"name"`
	URI      string `json:"uri"`
	MIMEType string `json:"mime_type"`
	Size     Bytes  `json:"size"`
	SHA256   string `json:"sha256"`
	Change   string `json:"change"`
}

// ToolCall is one call of an upstream tool made by the program.
type ToolCall struct {
	Tool       string  `json:"tool"`
	Status     string  `json:"status"`
	DurationMS float64 `json:"duration_ms"`
	Error      string  `json:"error,omitempty"`
}

// Attachment is a picture, a sound or a file in the answer of a tool, or with a URI alone
// the name of one that its server has.
type Attachment struct {
	Data []byte `json:"data,omitempty"`
	MIME string `json:"mime,omitempty"`
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
}
