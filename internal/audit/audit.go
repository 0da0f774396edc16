// Package audit holds the events that make up the record of what was asked,
// decided and done. It is pure: it knows what an event is, not where it is kept.
package audit

import (
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Type is what happened.
type Type string

// The types of event.
const (
	Requested Type = "requested"
	Decided   Type = "decided"
	Started   Type = "started"
	Finished  Type = "finished"
	Refused   Type = "refused"
)

// Event is one entry of the record. Only the fields that say something are set.
type Event struct {
	Time      time.Time
	Type      Type
	Operation execution.ID
	Principal execution.Principal
	Client    execution.Client
	Gear      string
	// Code is the digest of the source, never the source.
	Code       execution.Digest
	Permission string
	Decision   string
	Rule       string
	Reason     string
	Status     execution.Status
	ExitCode   int
	Usage      execution.Usage
}
