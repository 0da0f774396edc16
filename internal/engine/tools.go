package engine

import (
	"context"
	"encoding/json"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// Tools are those of other servers. It is safe for concurrent use.
type Tools interface {
	// Prepare finds a tool and checks what it is to be called with. Nothing is sent. It
	// waits for a server that is still being started. The error is a *[tool.Error].
	Prepare(ctx context.Context, c Caller, name string, arguments json.RawMessage) (Prepared, error)
	// Perform makes the call that the permit is for, and uses the permit up. The error is
	// a *[tool.Error], also when the tool says that it failed.
	Perform(ctx context.Context, c Caller, p Prepared, permit authz.Permit) (Answered, error)
	// Answer answers whatever else a program asks about tools: none of it has an effect.
	Answer(ctx context.Context, c Caller, head bridge.CallHead) (bridge.AnswerHead, []byte)
}

// Caller is in whose name tools are asked for.
type Caller struct {
	Operation execution.ID
	Principal execution.Principal
	Client    execution.Client
	Gear      gear.Frozen
}

// Prepared is a call that can be made.
type Prepared struct {
	Tool tool.Definition
	// Pin is the digest of the definition that the arguments were checked against.
	Pin       execution.Digest
	Arguments json.RawMessage
	// ReadOnly tells that the operator trusts the server, which says so of the tool.
	ReadOnly bool
	// Changed says what is different from the definition that was accepted before. Until
	// a human has seen it nobody calls the tool.
	Changed string
	// Recorded are the arguments as they may stand in the records.
	Recorded string
	// Subject is the digest of exactly this call, which the permit has to be for.
	Subject execution.Digest
}

// Answered is what a call answered.
type Answered struct {
	// Head and Body are the answer to a program.
	Head bridge.AnswerHead
	Body []byte
	// Text and Structured are the answer to a model, and Attachments what it holds beside.
	Text        string
	Structured  json.RawMessage
	Attachments []execution.Attachment
}

// failure is the answer to a program whose call has no value.
func failure(e *tool.Error) bridge.AnswerHead {
	return bridge.AnswerHead{Error: &bridge.CallError{
		Class: string(e.Class), Message: e.Message, Server: e.Server, Tool: e.Tool, Problems: e.Problems,
	}}
}
