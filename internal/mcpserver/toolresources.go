package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// toolScheme is what the URI of a stub file begins with: the server's name and .pyi
// follow, or nothing for the list of servers.
const toolScheme = "tools://"

// addToolResources has the stub files of other servers read. They say what search_tools
// says, so that the right to it is the right to them.
func (s *service) addToolResources() {
	if s.toolbox == nil || !s.caller.MayCall(searchToolsName) {
		return
	}
	s.mcp.AddResource(&mcp.Resource{
		URI: toolScheme, Name: "tools", Title: "Servers with tools", MIMEType: plain,
		Description: "The MCP servers whose tools Python code can call, and where their stub files are.",
	}, s.reader(s.toolServers))
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: toolScheme + "{server}.pyi", Name: "stub", Title: "Stub file", MIMEType: "text/x-python",
		Description: "The tools of one server as a Python stub file.",
	}, s.readStub)
}

func (s *service) toolServers(context.Context) (string, error) {
	var p page
	for _, one := range s.toolbox.Servers() {
		line := toolScheme + one.Name + ".pyi"
		if one.Description != "" {
			line += "  " + one.Description
		}
		p.add(line)
	}
	return p.b.String() + "\n", nil
}

func (s *service) readStub(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	rest, ok := strings.CutPrefix(uri, toolScheme)
	name, isStub := strings.CutSuffix(rest, ".pyi")
	if !ok || !isStub || name == "" {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	text, err := s.toolbox.Stub(ctx, name)
	var rejected *execution.RejectedError
	switch {
	case errors.As(err, &rejected) && rejected.Code == execution.CodeNotFound:
		return nil, mcp.ResourceNotFoundError(uri)
	case errors.As(err, &rejected):
		return nil, fmt.Errorf("read %s: %s", uri, rejected.Message)
	case err != nil:
		s.logFailure(ctx, "", fmt.Errorf("read %s: %w", uri, err))
		return nil, fmt.Errorf("read %s: %s", uri, internalMessage)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/x-python", Text: text}}}, nil
}
