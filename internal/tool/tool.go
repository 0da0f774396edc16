// Package tool holds the nouns of code mode: what a tool of another MCP server is, and
// what a call of it answers. upstream fills them from the protocol, catalog turns
// definitions into Python, gateway passes results on.
//
// What belongs here: plain data, without a word of the protocol's own library. What does
// not: anything that decides, searches, connects or converts.
package tool

import "encoding/json"

// Definition is a tool as its server described it. All of it is a stranger's word.
type Definition struct {
	Server string `json:"server"` // by the operator's name for it
	Name   string `json:"name"`   // as the server spells it
	Title  string `json:"title,omitempty"`
	// Description may hold anything, instructions to a model among it.
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input_schema,omitempty"`
	Output      json.RawMessage `json:"output_schema,omitempty"`
	Hints       Hints           `json:"hints,omitzero"`
	// Wrapped says that the server marks its results as wrapped in {"result": …}.
	Wrapped bool `json:"wrapped,omitempty"`
}

// ID is the name by which an operator and a model know the tool: server.tool, with the
// raw name of the tool.
func (d Definition) ID() string { return d.Server + "." + d.Name }

// Hints are what a server says of the effects of its tool: claims that no decision rests
// on, unless the operator trusts the server. nil is not said.
type Hints struct {
	ReadOnly    *bool `json:"read_only,omitempty"`
	Destructive *bool `json:"destructive,omitempty"`
	Idempotent  *bool `json:"idempotent,omitempty"`
	OpenWorld   *bool `json:"open_world,omitempty"`
}

// Server is one upstream server with its tools, as they are known now.
type Server struct {
	Name         string
	Alias        string // the name that programs import, as the operator would have it; empty for Name
	Description  string // the operator's
	Instructions string // the server's own
	Tools        []Definition
}

// Result is what a call answered.
type Result struct {
	IsError    bool
	Structured json.RawMessage // nil when there is none
	Blocks     []Block
}

// Kind is the kind of a block.
type Kind string

// The kinds.
const (
	Text  Kind = "text"  // Text, also of an embedded resource that is text
	Image Kind = "image" // Data, MIME
	Audio Kind = "audio" // Data, MIME
	Blob  Kind = "blob"  // Data, MIME and URI of an embedded resource
	Link  Kind = "link"  // URI, Name, MIME: the server has it, and was not asked for it
)

// Block is one part of a result.
type Block struct {
	Kind Kind
	Text string
	Data []byte
	MIME string
	Name string
	URI  string
}
