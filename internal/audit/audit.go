// Package audit is the record of what was asked, decided and done: what an event is,
// how events are chained, and how a chain is checked. It is pure: it does not know
// where events are kept or what time it is.
//
// # The chain
//
// Events are numbered from 1 without gaps. Each has a text and a hash:
//
//	text = the event as JSON in the canonical form of RFC 8785, its number included
//	hash = SHA-256(hash of the event before || text)
//
// The event before the first has a hash of 32 zero bytes. Canonical JSON was chosen
// over a binary encoding because it is a standard that every language has a library
// for, because one and the same text is what is stored, hashed, exported and read, so
// that an event of a later version is checked without knowing its fields, and because
// an export that a tool has formatted anew still proves the same. Numbers in it stay
// below 2^53, where JSON is exact.
//
// Whoever can write the whole record can make a new chain. An [Anchor], the number and
// the hash of one event, kept where that is not possible, fixes everything up to it.
//
// # What belongs here
//
// Event, Entry, Anchor, the two directions of their encoding, and [Verify]. Storing,
// querying and following events is a matter of the store.
package audit

import (
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Type is what happened.
type Type string

// The types of event.
const (
	Requested Type = "requested" // an operation was taken on
	Decided   Type = "decided"   // the policy's word on one permission
	Started   Type = "started"   // user code is about to run
	Finished  Type = "finished"  // an operation has ended, however it did
	Refused   Type = "refused"   // a call or an action was turned away
	Approval  Type = "approval"  // a human was asked or has answered
	ToolCall  Type = "tool_call" // a tool of another server is about to be called, or has answered
	Login     Type = "login"     // someone showed a credential, or failed to
	Config    Type = "config"    // the configuration or the records were changed, or the operator stepped in
)

// Types lists every type.
func Types() []Type {
	return []Type{Requested, Decided, Started, Finished, Refused, Approval, ToolCall, Login, Config}
}

// Event is one entry of the record. Only the fields that say something are set.
type Event struct {
	Time      time.Time
	Type      Type
	Operation execution.ID
	Principal execution.Principal
	// Client is what the other end says of itself, its session included.
	Client execution.Client
	// Instance is the process that recorded the event.
	Instance string
	Gear     string
	// Code is the digest of the source, never the source.
	Code       execution.Digest
	Permission string
	Decision   string
	Rule       string
	Reason     string
	Status     execution.Status
	ExitCode   int // of a Finished event
	Usage      execution.Usage
	// Details are what else a Requested, Approval, ToolCall, Login, Config or Refused event has to say. They
	// hold no secret and no source.
	Details map[string]string
}
