package pool

import (
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Stats is how a pool stands, and what it has done since it was made.
type Stats struct {
	// Live children are at work or being made for a caller; parked ones wait for one.
	Live   int `json:"live"`
	Parked int `json:"parked"`
	// Waiting callers have no turn yet.
	Waiting int `json:"waiting"`
	// Sources are open, those included that only wait for their last child.
	Sources int `json:"sources"`
	// Most and MaxParked are the bounds of live and parked children.
	Most      int `json:"most"`
	MaxParked int `json:"max_parked"`
	// Pressed says that memory is short: nothing is parked.
	Pressed bool `json:"pressed"`

	// Counts are of all kinds together, and Kinds of each that was ever used.
	Counts
	Kinds []KindStats `json:"kinds"`

	// Templates are those in use, the one used last first.
	Templates []TemplateStats `json:"templates"`
}

// Counts are what a pool has done. They never go down.
type Counts struct {
	// FromParked and OnDemand count the children handed out; the latter were made
	// while the caller waited.
	FromParked uint64 `json:"from_parked"`
	OnDemand   uint64 `json:"on_demand"`
	// Wait is how long callers waited for their child: for a turn, for a source and
	// for the making. What they had waited before is in it, see [Pool.After].
	Wait Durations `json:"wait"`

	// Refills are the children made to be parked; Warmed are those of them that were
	// warmed up; LetGo were parked and ended unused because fewer were wanted; Died
	// ended while parked although nobody wanted it.
	Refills uint64 `json:"refills"`
	Warmed  uint64 `json:"warmed"`
	LetGo   uint64 `json:"let_go"`
	Died    uint64 `json:"died"`

	// Opened counts sources; Recycled were replaced for their age or their work;
	// Lost ended by themselves.
	Opened   uint64 `json:"opened"`
	Recycled uint64 `json:"recycled"`
	Lost     uint64 `json:"lost"`

	// Ended counts the children that had been handed out, by why they were killed
	// (a [sandbox.Cause]); "exited" are those that nobody killed.
	Ended map[string]uint64 `json:"ended"`
}

// Kind is what is told apart in counts. Kinds are few and outlive the templates of
// which they tell.
type Kind struct {
	Language execution.Language `json:"language"`
	Programs ProgramSet         `json:"programs"`
}

// ProgramSet is how many of the host's programs the sandboxes of a kind hold.
type ProgramSet string

// The sets.
const (
	NoPrograms     ProgramSet = "none"
	ListedPrograms ProgramSet = "listed"
	AllPrograms    ProgramSet = "all"
)

// KindStats are the counts of one kind.
type KindStats struct {
	Kind
	Counts
}

// TemplateStats is how the pool stands with one template.
type TemplateStats struct {
	Language    execution.Language `json:"language"`
	Class       execution.Class    `json:"class"`
	Interpreter string             `json:"interpreter"`
	Preload     string             `json:"preload,omitempty"`
	Programs    string             `json:"programs,omitempty"`
	// Level is empty while no source is open.
	Level execution.Level `json:"level"`

	Live   int `json:"live"`
	Parked int `json:"parked"`
	Warm   int `json:"warm"`   // of the parked ones
	Target int `json:"target"` // how many are wanted parked
	// Made counts the children of the source that is open, and Opened is when it
	// was: zero while there is none.
	Made   int       `json:"made"`
	Opened time.Time `json:"opened,omitzero"`
	// Used is the last time that somebody asked for a child: zero before the first.
	Used time.Time `json:"used,omitzero"`
}

// Kind is the kind that the template is counted under.
func (t TemplateStats) Kind() Kind { return Kind{Language: t.Language, Programs: setOf(t.Programs)} }

// Durations is a histogram of times in seconds.
type Durations struct {
	Count uint64  `json:"count"`
	Sum   float64 `json:"sum"`
	Max   float64 `json:"max"`
	// Buckets count the times up to a bound, those of the smaller bounds included.
	// Longer times than the last bound are in Count alone.
	Buckets []Bucket `json:"buckets"`
}

// Bucket counts the times of at most UpTo seconds.
type Bucket struct {
	UpTo  float64 `json:"up_to"`
	Count uint64  `json:"count"`
}
