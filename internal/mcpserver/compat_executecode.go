package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The bounds on source of the original, unless the gear has its own.
const (
	codeModeCharacters = 8_000
	codeModeLines      = 400
	codeModeTimeout    = 30.0 // seconds
)

type executeCodeArguments struct {
	Code      string                     `json:"code"`
	Timeout   *float64                   `json:"timeout"`
	Variables map[string]json.RawMessage `json:"variables"`
}

// executeCodeAnswer is the original's answer. Diagnostics is null after a success.
type executeCodeAnswer struct {
	Success     bool         `json:"success"`
	Stdout      string       `json:"stdout"`
	Stderr      string       `json:"stderr"`
	DurationMS  int64        `json:"duration_ms"`
	Diagnostics *diagnostics `json:"diagnostics"`
}

type diagnostics struct {
	ErrorType      string  `json:"error_type"`
	Message        string  `json:"message,omitempty"`
	Line           int     `json:"line,omitempty"`
	Traceback      string  `json:"traceback,omitempty"`
	TimeoutSeconds float64 `json:"timeout_seconds,omitempty"`
}

// executeCodeTool is the tool of draphonix/mcp-code-mode.
func executeCodeTool(s *service) tool {
	return tool{&mcp.Tool{
		Name:        "execute_code",
		Description: "Execute Python code in a sandbox, exactly as given, and return what it prints.",
		Annotations: runs("Execute code"),
		InputSchema: object([]property{
			{"code", &jsonschema.Schema{Type: "string", Description: "Python code to run."}},
			{"timeout", &jsonschema.Schema{Type: "number", Default: json.RawMessage("30"), Description: "Seconds that it may run."}},
			{"variables", &jsonschema.Schema{Type: "object", Description: "Values that are there by their names."}},
		}, "code"),
	}, s.executeCode}
}

// executeCode answers as the original does: whatever went wrong is an answer, and none is
// an error of the call.
func (s *service) executeCode(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := executeCodeArguments{}
	if err := decode(withoutNulls(req.Params.Arguments), &args); err != nil {
		return codeModeAnswer(codeModeRejected(err)), nil
	}
	timeout := codeModeTimeout
	if args.Timeout != nil {
		timeout = *args.Timeout
	}
	if !(timeout > 0) {
		return codeModeAnswer(codeModeRejected(refuse("timeout", "must be greater than zero seconds"))), nil
	}
	if why := s.tooLongForCodeMode(args.Code); why != "" {
		return codeModeAnswer(codeModeFailure("POLICY_VIOLATION", why)), nil
	}
	res, err := s.compat(ctx, req, execution.Arguments{Code: args.Code, TimeoutSeconds: &timeout, Variables: args.Variables})
	if err != nil {
		return codeModeAnswer(codeModeRejected(renamed(err, map[string]string{"timeout_seconds": "timeout"}))), nil
	}
	return codeModeAnswer(s.codeMode(res)), nil
}

// withoutNulls leaves out arguments that are null, which clients of the original send for
// what they do not give.
func withoutNulls(raw json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return raw // decode says what is wrong
	}
	var null bool
	for name, value := range all {
		if name != "code" && string(value) == "null" {
			delete(all, name)
			null = true
		}
	}
	if !null {
		return raw
	}
	out, err := json.Marshal(all)
	if err != nil {
		return raw
	}
	return out
}

func (s *service) tooLongForCodeMode(code string) string {
	if s.ownSourceLimits {
		return "" // the gear says how much
	}
	if n := utf8.RuneCountInString(code); n > codeModeCharacters {
		return fmt.Sprintf("Code exceeds maximum length of %d characters: it has %d.", codeModeCharacters, n)
	}
	if n := strings.Count(strings.TrimSuffix(code, "\n"), "\n") + 1; n > codeModeLines {
		return fmt.Sprintf("Code exceeds maximum of %d lines: it has %d.", codeModeLines, n)
	}
	return ""
}

// codeMode is a result in the original's form.
func (s *service) codeMode(r execution.Result) executeCodeAnswer {
	if never(r) {
		a := codeModeFailure(string(execution.CodePolicyViolation), s.text(r))
		if r.Error != nil {
			a.Diagnostics.ErrorType = r.Error.Code
		}
		if r.Error != nil && len(r.Error.Violations) > 0 {
			a.Diagnostics.Line = r.Error.Violations[0].Line
		}
		if r.Status == execution.StatusPendingApproval {
			a.Diagnostics.ErrorType = "PENDING_APPROVAL"
		}
		return a
	}
	r = fit(r)
	a := executeCodeAnswer{Success: r.Status == execution.StatusOK, Stdout: r.Stdout, Stderr: r.Stderr, DurationMS: int64(r.DurationMS)}
	if a.Success {
		return a
	}
	d := &diagnostics{ErrorType: string(execution.CodeInternal)}
	if r.Error != nil {
		d.ErrorType, d.Message, d.Traceback = r.Error.Code, r.Error.Message, strings.Join(r.Error.Traceback, "")
		d.Line = r.Error.Line
	}
	a.Diagnostics = d
	return a
}

func codeModeRejected(err error) executeCodeAnswer {
	var rejected *execution.RejectedError
	if !errors.As(err, &rejected) {
		return codeModeFailure(string(execution.CodeInternal), internalMessage)
	}
	return codeModeFailure(string(rejected.Code), rejected.Error())
}

func codeModeFailure(kind, message string) executeCodeAnswer {
	return executeCodeAnswer{Stderr: message, Diagnostics: &diagnostics{ErrorType: kind, Message: message}}
}

func codeModeAnswer(a executeCodeAnswer) *mcp.CallToolResult {
	text, err := json.Marshal(a)
	if err != nil {
		text = []byte(internalMessage) // cannot be: all of it is text and numbers
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: a}
}
