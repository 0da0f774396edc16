package agent_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gateway/agent"
)

var update = flag.Bool("update", false, "write the golden files")

func TestTheAnswerIsInTheFormOfTheServerItReplaces(t *testing.T) {
	for name, a := range map[string]agent.Answer{
		"ok": {
			Status: execution.StatusOK, Code: "print('a')\n'b'\n", Sentence: "There are two.",
			Result: execution.Result{Status: execution.StatusOK, Stdout: "a\n", Value: json.RawMessage(`"b"`)},
		},
		"silent": {Status: execution.StatusOK, Code: "x = '```'\n", Result: execution.Result{Status: execution.StatusOK}},
		"failed": {Status: execution.StatusError, Code: "bad()\n", Result: failed("query: missing")},
		"denied": {Status: execution.StatusDenied, Code: "bad()\n", Result: execution.Result{
			Status: execution.StatusDenied, ExitCode: -1, Stderr: "Denied.",
			Error: &execution.Error{Code: "POLICY_VIOLATION", Message: "Denied.", Violations: []execution.Violation{{Permission: "net(a.example:443)", Line: 1, Hint: "use the tools", Allow: "net(a.example)"}}},
		}},
		"stopped": {
			Status: execution.StatusOK, Code: "print('a')\n# continue\n", Stopped: "the time of the task is over: 2m0s",
			Result: execution.Result{Status: execution.StatusOK, Stdout: "a\n"},
		},
		"pending": {Status: execution.StatusPendingApproval, Code: "ask()\n", Result: execution.Result{
			Status: execution.StatusPendingApproval, OperationID: "op_1", ExitCode: -1, ApproveHint: "gearbox approvals approve op_1",
		}},
		"asking": {Status: execution.StatusRunning, Code: "github.merge()\n", Result: execution.Result{
			Status: execution.StatusRunning, OperationID: "op_1", ExitCode: -1, Stdout: "so far\n", Summary: "The program waits for a human. The call of github.merge needs a human's yes.",
			Permissions: []string{"tool(github.merge)"}, ApproveHint: "The user decides in a terminal: gearbox approvals show op_2",
		}},
	} {
		path := filepath.Join("testdata", name+".md")
		got := a.Text()
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}
}
