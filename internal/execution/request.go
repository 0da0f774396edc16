package execution

import (
	"encoding/json"
	"time"
)

// Request is one well-formed call: the host has decoded the text, checked every
// range and resolved the language. It is immutable once submitted.
type Request struct {
	Principal Principal
	Client    Client
	Code      string
	Language  Language
	// Timeout is zero when the caller named none: the gear's default holds.
	Timeout time.Duration
	Stdin   []byte
	// Variables become Python globals.
	Variables map[string]json.RawMessage
	Files     []File
	// Gear is the gear that the call named, or empty.
	Gear string
	// Snippet is the saved script that the code is of; zero for code that came with the call.
	// It is for people and the record: what is decided on is the code.
	Snippet Snippet
}

// Snippet names a saved script and exactly what it holds.
type Snippet struct {
	Name string
	Pin  Digest
}

// Client is what the other end says of itself. It is a claim, for records only.
type Client struct {
	Name, Version, Session string
}

// File is one file placed in the workspace before the run. Path is relative,
// slash-separated, clean, and never leaves the workspace.
type File struct {
	Path string
	Data []byte
}
