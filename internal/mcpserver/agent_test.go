package mcpserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// solverOf answers a task by what is given.
type solverOf func(context.Context, AgentTask) (AgentAnswer, error)

func (s solverOf) Solve(ctx context.Context, t AgentTask) (AgentAnswer, error) { return s(ctx, t) }

func (solverOf) Patience() (usual, most time.Duration) { return time.Minute, time.Hour }

func TestRunAgentIsListedWhereAModelIsConfiguredAndPythonRuns(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   bool
	}{
		{Config{}, false},
		{Config{Agent: solverOf(nil)}, true},
		{Config{Agent: solverOf(nil), Languages: []execution.Language{execution.Bash}}, false},
	} {
		s, _ := newServer(t, c.config)
		list, err := connect(t, s, "2025-11-25", nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range list.Tools {
			names = append(names, one.Name)
		}
		if slices.Contains(names, "run_agent") != c.want {
			t.Errorf("%v", names)
		}
	}
}

func TestProgramsOfATaskRunInTheNameOfTheCaller(t *testing.T) {
	engine := newEngine(map[string]execution.Result{"print(1)": {Status: execution.StatusOK, Stdout: "1\n"}})
	s, _ := newServer(t, Config{Engine: engine, Principal: "somebody", Agent: solverOf(func(ctx context.Context, task AgentTask) (AgentAnswer, error) {
		res, err := task.Run(ctx, "print(1)")
		return AgentAnswer{Text: task.Text + ": " + res.Stdout, Failed: task.Timeout != 2500*time.Millisecond}, err
	})})
	res := call(t, connect(t, s, "2025-11-25", nil), "run_agent", map[string]any{"task": "count", "timeout": 2.5})
	if textOf(res) != "count: 1\n" || res.IsError || len(engine.requests) != 1 || engine.requests[0].Principal != "somebody" {
		t.Errorf("%+v, %+v", res, engine.requests)
	}
}

func TestFailuresOfOurOwnAreNotTold(t *testing.T) {
	s, log := newServer(t, Config{Agent: solverOf(func(context.Context, AgentTask) (AgentAnswer, error) {
		return AgentAnswer{}, errors.New("a secret of the disk")
	})})
	res := call(t, connect(t, s, "2025-11-25", nil), "run_agent", map[string]any{"task": "count"})
	if !res.IsError || strings.Contains(textOf(res), "secret") || !strings.Contains(log.String(), "a secret of the disk") {
		t.Errorf("%s, %s", textOf(res), log.String())
	}
}

func TestATaskThatIsCancelledLeavesNoProgramBehind(t *testing.T) {
	engine := newEngine(nil)
	ended := make(chan execution.Result, 1)
	s, _ := newServer(t, Config{Engine: engine, Agent: solverOf(func(ctx context.Context, task AgentTask) (AgentAnswer, error) {
		res, err := task.Run(ctx, "never ends")
		ended <- res
		return AgentAnswer{}, err
	})})
	session := connect(t, s, "2025-11-25", nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-engine.submitted
		cancel()
	}()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "run_agent", Arguments: map[string]any{"task": "wait"}}); err == nil {
		t.Error("a call that was cancelled was answered")
	}
	if res := <-ended; res.Status != execution.StatusCancelled {
		t.Errorf("the program is left as %s", res.Status)
	}
}
