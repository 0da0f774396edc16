package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The compatibility profiles. Each adds one tool of another server, with that
// server's own arguments and answer, so that an agent written for it need not
// change.
const (
	ProfilePythonInterpreter = "python-interpreter"
	ProfileMCPRunPython      = "mcp-run-python"
	ProfileCodeMode          = "code-mode"
)

// Profiles lists the compatibility profiles.
func Profiles() []string {
	return []string{ProfilePythonInterpreter, ProfileMCPRunPython, ProfileCodeMode}
}

func profile(name string) (func(*service) tool, error) {
	switch name {
	case ProfilePythonInterpreter:
		return runScriptTool, nil
	case ProfileMCPRunPython:
		return runPythonCodeTool, nil
	case ProfileCodeMode:
		return executeCodeTool, nil
	}
	return nil, fmt.Errorf("unknown compatibility profile %q: use one of %s", name, strings.Join(Profiles(), ", "))
}

// compat runs the code of a profile's tool to its end: these tools know of no
// operation that one could come back to.
func (s *service) compat(ctx context.Context, req *mcp.CallToolRequest, args execution.Arguments) (execution.Result, error) {
	res, err := s.run(ctx, req, args, patience{most: execution.MaxWait, stays: true})
	if err == nil && res.Status == execution.StatusRunning {
		id := res.OperationID
		res, err = s.cancel(ctx, id)
		res = s.settled(ctx, id, res, err)
	}
	return res, err
}

// renamed speaks of an argument by the profile's own name for it.
func renamed(err error, names map[string]string) error {
	rejected, ok := errors.AsType[*execution.RejectedError](err)
	if !ok || names[rejected.Field] == "" {
		return err
	}
	e := *rejected
	e.Field = names[rejected.Field]
	return &e
}

// plainText answers with exactly one block of text.
func plainText(text string, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: isError}
}

// rejectedText answers a call that a profile's tool could not take.
func (s *service) rejectedText(ctx context.Context, err error) *mcp.CallToolResult {
	return plainText(s.text(s.settled(ctx, "", execution.Result{}, err)), true)
}

// never reports whether no line of the program was run.
func never(r execution.Result) bool {
	return slices.Contains([]execution.Status{
		execution.StatusDenied, execution.StatusRejected, execution.StatusPendingApproval, execution.StatusInternalError,
	}, r.Status)
}

type scriptArguments struct {
	Script *string `json:"script"`
	Code   *string `json:"code"`
}

// runScriptTool is the tool of bimalpaudels/python-interpreter-mcp, whose
// documentation names the argument code and whose program names it script.
func runScriptTool(s *service) tool {
	return tool{&mcp.Tool{
		Name:        "run_script",
		Description: "Run a Python script and return exactly what it prints.",
		Annotations: runs("Run a script"),
		InputSchema: object([]property{
			{"script", &jsonschema.Schema{Type: "string", Description: "The script to run."}},
			{"code", &jsonschema.Schema{Type: "string", Description: "Another name for script."}},
		}),
	}, s.runScript}
}

func (s *service) runScript(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args scriptArguments
	if err := decode(req.Params.Arguments, &args); err != nil {
		return s.rejectedText(ctx, err), nil
	}
	source := args.Script
	if source == nil {
		source = args.Code
	}
	if source == nil || (args.Script != nil && args.Code != nil) {
		return s.rejectedText(ctx, refuse("script", "give the source as script or as code, and once")), nil
	}
	res, err := s.compat(ctx, req, execution.Arguments{Code: *source})
	if err != nil {
		return s.rejectedText(ctx, renamed(err, map[string]string{"code": "script"})), nil
	}
	if never(res) {
		return plainText(s.text(res), failed(res.Status)), nil
	}
	out := cut(res.Stdout, perCopy, leftOut).text
	if !failed(res.Status) {
		return plainText(out, false), nil
	}
	var p page
	p.add(out)
	p.add(tail(res.Stderr, scriptTail))
	if res.Stderr == "" {
		p.add(ending(res, out))
	}
	return plainText(p.b.String(), true), nil
}

// scriptTail is enough for a traceback of a few frames.
const scriptTail = 4_000

// tail is the last n characters of s, from the start of a line where there is one.
func tail(s string, n int) string {
	t := suffix(s, n)
	if len(t) == len(s) {
		return s
	}
	if _, rest, ok := strings.Cut(t, "\n"); ok && rest != "" {
		return rest
	}
	return t
}
