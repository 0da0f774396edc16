package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

type runPythonArguments struct {
	PythonCode      string                     `json:"python_code"`
	GlobalVariables map[string]json.RawMessage `json:"global_variables"`
}

// runPythonCodeTool is the tool of pydantic/mcp-run-python.
func runPythonCodeTool(s *service) tool {
	return tool{&mcp.Tool{
		Name: "run_python_code",
		Description: "Tool to execute Python code and return stdout, stderr, and return value. " +
			"The code may be async, and the value on the last line will be returned as the return value.",
		Annotations: runs("Run Python code"),
		InputSchema: object([]property{
			{"python_code", &jsonschema.Schema{Type: "string", Description: "Python code to run"}},
			{"global_variables", &jsonschema.Schema{
				Type: "object", Default: json.RawMessage(`{}`),
				Description: "Map of global variables in context when the code is executed",
			}},
		}, "python_code"),
	}, s.runPythonCode}
}

// runPythonCode answers as the original does. A program that fails is no error
// of the call there: clients of it raise one, and give up after a few.
func (s *service) runPythonCode(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args runPythonArguments
	if err := decode(req.Params.Arguments, &args); err != nil {
		return s.rejectedText(ctx, err), nil
	}
	res, err := s.compat(ctx, req, execution.Arguments{Code: args.PythonCode, Variables: args.GlobalVariables})
	if err != nil {
		return s.rejectedText(ctx, renamed(err, map[string]string{"code": "python_code", "variables": "global_variables"})), nil
	}
	if never(res) {
		return plainText(runPythonText("run-error", "", "error", s.text(res)), res.Status == execution.StatusInternalError), nil
	}
	res = fit(res)
	if res.Status == execution.StatusOK {
		return plainText(runPythonText("success", joined(res.Stdout, res.Stderr), "return_value", returnValue(res)), false), nil
	}
	stderr, report := splitReport(res)
	return plainText(runPythonText("run-error", joined(res.Stdout, stderr), "error", report), false), nil
}

// runPythonText is the original's asXml: elements on lines of their own, empty
// ones left out, and inside an element only its own tag escaped.
func runPythonText(status, output, lastName, last string) string {
	var p page
	p.addf("<status>%s</status>", status)
	for _, e := range []struct{ name, text string }{{"output", output}, {lastName, last}} {
		if e.text == "" {
			continue
		}
		p.addf("<%s>", e.name)
		p.add(escapeTag(e.name, strings.TrimSuffix(e.text, "\n")))
		p.addf("</%s>", e.name)
	}
	return p.b.String()
}

func escapeTag(name, s string) string {
	tag := regexp.MustCompile(`(?i)</?\s*` + name + `(?:.*?>)?`)
	return tag.ReplaceAllStringFunc(s, strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace)
}

func joined(stdout, stderr string) string {
	var p page
	p.add(stdout)
	p.add(stderr)
	return p.b.String()
}

// returnValue is a string as it is and everything else as indented JSON.
func returnValue(r execution.Result) string {
	var s string
	if r.ValueType == "str" && json.Unmarshal(r.Value, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if r.Value == nil || json.Indent(&b, r.Value, "", "  ") != nil {
		return ""
	}
	return b.String()
}

// splitReport parts the exception's report, which ends stderr, from what the
// program itself wrote there.
func splitReport(r execution.Result) (stderr, report string) {
	if i := strings.LastIndex(r.Stderr, "Traceback (most recent call last):"); i >= 0 {
		return r.Stderr[:i], r.Stderr[i:]
	}
	if r.Stderr != "" {
		return "", r.Stderr
	}
	return "", ending(r, "")
}
