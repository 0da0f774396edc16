package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// operationScheme is what the URI of an operation begins with; its id follows.
const operationScheme = "operation://"

// mayAsk reports whether the caller may learn how its operations stand, by whatever way.
func (s *service) mayAsk() bool { return s.caller.MayCall(getOperationName) }

func (s *service) addOperationResource() {
	if !s.mayAsk() {
		return
	}
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: operationScheme + "{id}", Name: "operation", Title: "Operation", MIMEType: "application/json",
		Description: "How an operation stands, as the structured answer of get_operation. Subscribe to learn when that changes.",
	}, s.readOperation)
}

// readOperation answers at once, whatever the operation is waiting for.
func (s *service) readOperation(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id, ok := operationOf(uri)
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	res, err := s.engine.WaitUnlessAsked(ctx, s.caller.Principal, id, 0)
	if err != nil {
		return nil, s.unreadable(ctx, uri, id, err)
	}
	text, err := json.Marshal(fit(s.visibly(res)))
	if err != nil {
		return nil, s.unreadable(ctx, uri, id, err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}}, nil
}

// unreadable is the error for an operation that the caller has not, or that could not be
// read. The reason for the latter stays in the log.
func (s *service) unreadable(ctx context.Context, uri string, id execution.ID, err error) error {
	var rejected *execution.RejectedError
	if errors.As(err, &rejected) && rejected.Code == execution.CodeNotFound {
		return mcp.ResourceNotFoundError(uri)
	}
	s.logFailure(ctx, id, fmt.Errorf("read %s: %w", uri, err))
	return fmt.Errorf("read %s: %s", uri, internalMessage)
}

// operationOf is the id in the URI of an operation.
func operationOf(uri string) (execution.ID, bool) {
	id, ok := strings.CutPrefix(uri, operationScheme)
	return execution.ID(id), ok && id != "" && !strings.ContainsAny(id, "/?#")
}
