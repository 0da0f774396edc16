package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

type getArguments struct {
	OperationID  string   `json:"operation_id"`
	WaitSeconds  *float64 `json:"wait_seconds"`
	Stream       *string  `json:"stream"`
	OutputOffset *int64   `json:"output_offset"`
}

func (a getArguments) check() error {
	switch {
	case a.OperationID == "":
		return refuse("operation_id", "required: take it from the answer of execute")
	case a.Stream == nil && a.OutputOffset != nil:
		return refuse("output_offset", "goes with stream: say stdout or stderr")
	case a.Stream != nil && !slices.Contains(streams[:], *a.Stream):
		return refuse("stream", "must be stdout or stderr")
	case a.OutputOffset != nil && *a.OutputOffset < 0:
		return refuse("output_offset", "%d: must be from 0", *a.OutputOffset)
	}
	return nil
}

func (s *service) getOperation(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args getArguments
	if err := decode(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	if err := args.check(); err != nil {
		return nil, err
	}
	wait, err := execution.WaitSeconds(args.WaitSeconds)
	if err != nil {
		return nil, err
	}
	id := execution.ID(args.OperationID)
	if args.Stream != nil {
		if args.WaitSeconds == nil {
			wait = 0
		}
		return s.output(ctx, req, id, args, wait)
	}
	// Giving up on this call is not giving up on the operation.
	p := patience{most: wait, people: args.WaitSeconds != nil, asks: s.canOpenPages(req), again: true}
	res, _, err := s.wait(ctx, req, id, p)
	if err == nil && p.asks && asksInResult(req) && s.offers.fresh(res, p.again) {
		return s.askWith(res, string(id)), nil
	}
	return s.answer(s.settled(ctx, id, res, err)), nil
}

// output reads on where an answer left off.
func (s *service) output(ctx context.Context, req *mcp.CallToolRequest, id execution.ID, args getArguments, wait time.Duration) (*mcp.CallToolResult, error) {
	if wait > 0 {
		if _, _, err := s.wait(ctx, req, id, patience{most: wait, people: true}); err != nil {
			return nil, err
		}
	}
	var offset int64
	if args.OutputOffset != nil {
		offset = *args.OutputOffset
	}
	chunk, err := s.engine.Output(ctx, s.caller.Principal, id, *args.Stream, offset, perCopy)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: chunkText(id, chunk)}},
		StructuredContent: chunk,
	}, nil
}

func chunkText(id execution.ID, c execution.Chunk) string {
	var p page
	p.add(c.Data)
	if c.EOF {
		p.addf("[bytes %d to %d of %s: the end]", c.Offset, c.NextOffset, c.Stream)
	} else {
		p.addf("[bytes %d to %d of %s: read on with get_operation(operation_id=%q, stream=%q, output_offset=%d)]",
			c.Offset, c.NextOffset, c.Stream, string(id), c.Stream, c.NextOffset)
	}
	return p.b.String()
}

type cancelArguments struct {
	OperationID string `json:"operation_id"`
}

func (s *service) cancelOperation(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args cancelArguments
	if err := decode(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	if args.OperationID == "" {
		return nil, refuse("operation_id", "required: take it from the answer of execute")
	}
	id := execution.ID(args.OperationID)
	res, err := s.cancel(ctx, id)
	out := s.answer(s.settled(ctx, id, res, err))
	// The operation may have failed; this call, which ends it, did not.
	out.IsError = err != nil
	return out, nil
}

type packagesArguments struct {
	Query string `json:"query"`
}

func (s *service) listPackages(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args packagesArguments
	if err := decode(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	list, err := s.environment.Packages(ctx, args.Query)
	if err != nil {
		return nil, err
	}
	if list.Packages == nil {
		list.Packages = []Package{} // an empty list, not null
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: packagesText(list)}},
		StructuredContent: list,
	}, nil
}

func packagesText(l PackageList) string {
	var p page
	p.addf("Python %s and its standard library; packages beside it: %d", l.Python, len(l.Packages))
	for _, one := range l.Packages {
		line := fmt.Sprintf("- %s %s", one.Name, one.Version)
		if len(one.ImportNames) > 0 && !slices.Equal(one.ImportNames, []string{one.Name}) {
			line += fmt.Sprintf(" (import %s)", one.ImportNames[0])
		}
		p.add(line)
	}
	return p.b.String()
}
