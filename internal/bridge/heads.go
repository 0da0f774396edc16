package bridge

import "encoding/json"

// Protocol is the version of the conversation that hello announces.
const Protocol = 1

// HelloHead says that the guest is sealed and parked.
type HelloHead struct {
	Protocol  int      `json:"protocol"`
	Python    string   `json:"python"`
	Abilities []string `json:"abilities"`
}

// AnalyseHead asks for the facts of the source in the frame's body.
type AnalyseHead struct {
	Language string `json:"language"`
	// Skip has the guest take the source unread: there are no facts, and what does
	// not parse fails when it is run. The host does so after an analysis that did
	// not finish, once somebody has decided about the source all the same.
	Skip bool `json:"skip,omitempty"`
}

// FactsHead is what the source would do. With Failure set the source does not
// parse and nothing will run; the failure is the program's answer.
type FactsHead struct {
	Facts   []Fact     `json:"facts"`
	Failure *Exception `json:"failure,omitempty"`
}

// Fact is one thing that the source would do: a policy kind, its target and the
// place. Line and Column count from 1; Column is in characters.
type Fact struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Via    string `json:"via,omitempty"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// ArmHead puts the last restrictions in force before any user code runs. The
// guest can only narrow what it was sealed with. Files lie in the frame's body,
// one after the other.
type ArmHead struct {
	Limits      ArmLimits         `json:"limits"`
	Environment map[string]string `json:"environment,omitempty"`
	Files       []ArmFile         `json:"files,omitempty"`
	// NoFork and NoExec stack a further filter that refuses new processes
	// (threads stay) or new programs.
	NoFork bool `json:"no_fork,omitempty"`
	NoExec bool `json:"no_exec,omitempty"`
}

// ArmLimits are resource limits in the kernel's own units; zero leaves a limit
// as it was sealed.
type ArmLimits struct {
	AddressSpace int64 `json:"address_space,omitempty"` // bytes
	CPUSeconds   int64 `json:"cpu_seconds,omitempty"`
	Processes    int64 `json:"processes,omitempty"`
	OpenFiles    int64 `json:"open_files,omitempty"`
	FileSize     int64 `json:"file_size,omitempty"` // bytes
}

// ArmFile is one file for the workspace. Path is relative to it.
type ArmFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// ArmedHead is the guest's answer to arm; an empty Error means that all is in force.
type ArmedHead struct {
	Error string `json:"error"`
}

// RunHead starts the source that was analysed.
type RunHead struct {
	Variables map[string]json.RawMessage `json:"variables,omitempty"`
	// Isolated says that a sandbox holds the program, so that the guest
	// explains what the program finds missing or refused there.
	Isolated bool `json:"isolated,omitempty"`
}

// Outcome is how the program ended, by its own account.
type Outcome string

// The outcomes.
const (
	OutcomeOK        Outcome = "ok"        // ran to its end
	OutcomeException Outcome = "exception" // an exception was not caught
	OutcomeExit      Outcome = "exit"      // SystemExit
)

// ResultHead is the program's account of how it ended.
type ResultHead struct {
	Outcome  Outcome `json:"outcome"`
	ExitCode int     `json:"exit_code"`
	// Value is the JSON value of the last expression; absent for None.
	Value     json.RawMessage `json:"value,omitempty"`
	ValueType string          `json:"value_type,omitempty"`
	Exception *Exception      `json:"exception,omitempty"`
	Warnings  []string        `json:"warnings,omitempty"`
	// Denied names the permissions that the program lacked while it ran.
	Denied []string `json:"denied,omitempty"`
}

// Exception is a Python exception, cut to the frames of the user's own source.
type Exception struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	Errno   int    `json:"errno,omitempty"`
	// Traceback holds the formatted frames; Text the whole report as the
	// program's stderr would show it.
	Traceback []string `json:"traceback,omitempty"`
	Text      string   `json:"text,omitempty"`
	// Hint is what the sandbox has to say about it; Text ends with it.
	Hint   string `json:"hint,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Want is what a program wants with a call frame.
type Want string

// The wants.
const (
	WantCall     Want = "call"     // call a tool; the body is the JSON object of its arguments
	WantModule   Want = "module"   // the functions of one server, or with no server the names of all
	WantSearch   Want = "search"   // search the tools: Query, Server, Limit, Detail
	WantDescribe Want = "describe" // describe tools: Names, Detail
	WantRead     Want = "read"     // read the resource URI of Server
)

// CallHead asks something of the tools of other servers. The program chooses the id of
// the frame; the answer has the same one. One id may not be used again while its answer
// is due.
type CallHead struct {
	Want   Want     `json:"want"`
	Server string   `json:"server,omitempty"`
	Tool   string   `json:"tool,omitempty"` // the raw name
	Query  string   `json:"query,omitempty"`
	Limit  int      `json:"limit,omitempty"`
	Detail string   `json:"detail,omitempty"`
	Names  []string `json:"names,omitempty"`
	URI    string   `json:"uri,omitempty"`
	// Timeout is how long the program is ready to wait, in seconds; 0 for as long as the
	// server's own limit is.
	Timeout float64 `json:"timeout,omitempty"`
}

// Form is how the body of an answer is to be read.
type Form string

// The forms.
const (
	FormNone  Form = "none"  // there is no value
	FormJSON  Form = "json"  // a JSON value
	FormText  Form = "text"  // a string
	FormParts Form = "parts" // Parts, one after the other
)

// AnswerHead answers a call frame, in a frame of the kind call.
type AnswerHead struct {
	Form  Form       `json:"form,omitempty"`
	Parts []Part     `json:"parts,omitempty"`
	Error *CallError `json:"error,omitempty"`
}

// Part is one part of a body.
type Part struct {
	Kind string `json:"kind"` // text, image, audio, blob, link
	Size int64  `json:"size"` // bytes of the body
	MIME string `json:"mime,omitempty"`
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
}

// CallError is why a call has no value.
type CallError struct {
	// Class is the Python class that is raised: ToolError, ToolNotFound, InvalidArguments,
	// ToolTimeout, ServerUnavailable, ApprovalDenied, PolicyDenied, CallLimitExceeded.
	Class   string `json:"class"`
	Message string `json:"message"`
	Server  string `json:"server,omitempty"`
	Tool    string `json:"tool,omitempty"`
	// Problems are what is wrong with arguments, one sentence each.
	Problems []string `json:"problems,omitempty"`
	// Form and Parts say what the body holds of the server's own error.
	Form  Form   `json:"form,omitempty"`
	Parts []Part `json:"parts,omitempty"`
}
