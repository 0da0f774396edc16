package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// Tools are those of other servers. It is safe for concurrent use.
type Tools interface {
	// Prepare finds a tool and checks what it is to be called with. Nothing is sent. With
	// no server the name is server.tool. It waits for a server that is still being started.
	// The error is a *[tool.Error].
	Prepare(ctx context.Context, server, name string, arguments json.RawMessage) (Prepared, error)
	// Perform makes the call that the permit is for, and uses the permit up. The error is
	// a *[tool.Error], also when the tool says that it failed: then there is an answer too.
	Perform(ctx context.Context, p Prepared, permit authz.Permit) (Answered, error)
	// Ask answers whatever else a program asks about tools: none of it has an effect.
	Ask(ctx context.Context, head bridge.CallHead) (bridge.AnswerHead, []byte)
}

// Prepared is a call that can be made.
type Prepared struct {
	// Entry is the tool, as the arguments were checked against.
	Entry catalog.Entry
	// Arguments are those for the server, by its own names.
	Arguments json.RawMessage
	// ReadOnly tells that the operator trusts the server, which says so of the tool.
	ReadOnly bool
	// Changed says what is different from the definition that was accepted before. Until
	// a human has seen it nobody calls the tool.
	Changed string
	// Before is the pin of that definition, where Changed says something.
	Before execution.Digest
	// Subject is the digest of exactly this call, which the permit has to be for.
	Subject execution.Digest
}

// ID is the tool's, server.tool.
func (p Prepared) ID() string { return p.Entry.Definition.ID() }

func (p Prepared) failed(c tool.Class, message string) *tool.Error {
	return &tool.Error{Class: c, Message: message, Server: p.Entry.Definition.Server, Tool: p.Entry.Definition.Name}
}

// maxRecorded bounds arguments in the records, in bytes.
const maxRecorded = 2_000

// recorded are the arguments as they stand in the records, where secrets are masked.
func (p Prepared) recorded() string {
	var line bytes.Buffer
	if len(p.Arguments) > 4*maxRecorded || json.Compact(&line, p.Arguments) != nil {
		line.Reset()
		line.Write(p.Arguments)
	}
	if line.Len() <= maxRecorded {
		return line.String()
	}
	return fmt.Sprintf("%s … (%d bytes)", strings.ToValidUTF8(string(line.Bytes()[:maxRecorded]), ""), len(p.Arguments))
}

// Answered is what a call answered.
type Answered struct {
	Result tool.Result
	// Head and Body are the answer to a program.
	Head bridge.AnswerHead
	Body []byte
}

// noTools are those where no server is configured.
type noTools struct{}

const noServers = "no MCP servers are configured: the operator starts Gearbox with --mcp-servers FILE to have some"

func (noTools) Prepare(_ context.Context, server, name string, _ json.RawMessage) (Prepared, error) {
	return Prepared{}, &tool.Error{Class: tool.Unavailable, Message: noServers, Server: server, Tool: name}
}

func (noTools) Perform(_ context.Context, p Prepared, _ authz.Permit) (Answered, error) {
	d := p.Entry.Definition
	return Answered{}, &tool.Error{Class: tool.Unavailable, Message: noServers, Server: d.Server, Tool: d.Name}
}

func (noTools) Ask(_ context.Context, head bridge.CallHead) (bridge.AnswerHead, []byte) {
	return failure(&tool.Error{Class: tool.Unavailable, Message: noServers, Server: head.Server, Tool: head.Tool}), nil
}

// failure is the answer to a program whose call has no value.
func failure(e *tool.Error) bridge.AnswerHead {
	return bridge.AnswerHead{Error: &bridge.CallError{
		Class: string(e.Class), Message: e.Message, Server: e.Server, Tool: e.Tool, Problems: e.Problems,
	}}
}
