package mcpserver

import (
	"context"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Engine takes executions on and tells how they stand. It is safe for concurrent
// use. An error that is a *[execution.RejectedError] is the caller's fault or a
// lack of room and is shown to it; every other error is a failure of Gearbox and
// only logged.
type Engine interface {
	// Submit returns at once. The execution goes on when ctx ends.
	Submit(context.Context, execution.Request) (execution.ID, error)
	// Wait waits for the end, at most that long, and tells how the execution
	// stands. When ctx ends it tells at once.
	Wait(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error)
	// WaitUnlessAsked is Wait for a caller that does not wait for humans: it tells at once
	// when one is asked.
	WaitUnlessAsked(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error)
	// Cancel returns when the whole process tree is gone. Cancelling what has
	// ended changes nothing.
	Cancel(context.Context, execution.Principal, execution.ID) (execution.Result, error)
	// Output reads at most max bytes of "stdout" or "stderr" from a byte offset.
	Output(ctx context.Context, p execution.Principal, id execution.ID, stream string, offset int64, max int) (execution.Chunk, error)
}

// Records tell where operations stand, whichever process has them, and cheaply: they are
// asked again and again. They are safe for concurrent use. The error is a
// *[execution.RejectedError] when the principal has no such operation.
type Records interface {
	State(context.Context, execution.Principal, execution.ID) (execution.State, error)
	Standing(context.Context, execution.Principal, execution.ID) (execution.Standing, error)
}

// Environment tells what code would find. Its methods do not wait for anything
// that is still being prepared.
type Environment interface {
	// Info describes what the principal's code finds.
	Info(context.Context, execution.Principal) (Info, error)
	// Packages lists the installed packages whose name or import name contains
	// the query, without regard to case; all of them for an empty query.
	Packages(ctx context.Context, query string) (PackageList, error)
	// GearText is the gear in force for the principal, in the file format, with its
	// overlays.
	GearText(context.Context, execution.Principal) (string, error)
}

// Info describes the place where code runs.
type Info struct {
	Python          string // version, such as 3.14.6
	Gear            string
	GearDescription string
	Languages       []execution.Language
	WorkDir         string
	Isolation       execution.Level
	Backend         string
	Limits          execution.Limits
	Packages        int
	Warnings        []string
}

// PackageList is the answer of list_packages.
type PackageList struct {
	Python   string    `json:"python"`
	Packages []Package `json:"packages"`
}

// Package is one installed distribution.
type Package struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	ImportNames []string `json:"import_names"`
}

// Observer is told what came of calls. It is safe for concurrent use.
type Observer interface {
	// ToolCall is told of each call that was answered.
	ToolCall(tool string, isError bool, took time.Duration)
	// Rejected is told of each call that was turned away before there was an operation.
	Rejected(context.Context, execution.Principal, execution.Client, *execution.RejectedError)
}

// unobserved is nobody.
type unobserved struct{}

func (unobserved) ToolCall(string, bool, time.Duration) {}

func (unobserved) Rejected(context.Context, execution.Principal, execution.Client, *execution.RejectedError) {
}
