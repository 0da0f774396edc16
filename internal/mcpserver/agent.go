package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Agent has a model write programs that solve a task. It is safe for concurrent use.
type Agent interface {
	// Solve returns when the task is done, failed, or waits for a human. The error is a
	// *[execution.RejectedError] when the caller can mend it; every other one is a failure
	// of Gearbox and only logged.
	Solve(context.Context, AgentTask) (AgentAnswer, error)
	// Patience is the time of a task that names none, and the most that one may name.
	Patience() (usual, most time.Duration)
}

// AgentTask is something to do for a caller.
type AgentTask struct {
	Text string
	// Timeout is 0 where the caller named none.
	Timeout time.Duration
	// Run runs a program for the caller to its end, or to a question.
	Run func(ctx context.Context, code string) (execution.Result, error)
	// Tell is told what is being done.
	Tell func(string)
}

// AgentAnswer is what came of a task.
type AgentAnswer struct {
	Text   string
	Failed bool
}

const runAgentName = "run_agent"

// runAgentTool is there when a model is configured.
func (s *service) runAgentTool() tool {
	timeout := &jsonschema.Schema{Type: "number", ExclusiveMinimum: new(0.0), Description: "Seconds for the whole task, the model's thinking included."}
	if s.agent != nil {
		usual, most := s.agent.Patience()
		timeout.Default, timeout.Maximum = json.RawMessage(strconv.FormatFloat(usual.Seconds(), 'f', -1, 64)), new(most.Seconds())
	}
	return tool{&mcp.Tool{
		Name: runAgentName,
		Description: "Have another model solve a task by writing Python, which runs in the sandbox and can call the tools of the connected MCP servers. " +
			"Errors go back to it a few times. Returns the output, what went wrong, and the program.",
		Annotations: runs("Solve a task"),
		InputSchema: object([]property{
			{"task", &jsonschema.Schema{Type: "string", Description: "What is to be done, with everything that has to be known for it."}},
			{"timeout", timeout},
		}, "task"),
	}, s.runAgent}
}

type agentArguments struct {
	Task    string   `json:"task"`
	Timeout *float64 `json:"timeout"`
}

func (s *service) runAgent(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args agentArguments
	if err := decode(withoutNulls(req.Params.Arguments), &args); err != nil {
		return nil, err
	}
	t := AgentTask{Text: args.Task}
	if args.Timeout != nil {
		_, most := s.agent.Patience()
		if !(*args.Timeout > 0 && *args.Timeout <= most.Seconds()) {
			return nil, refuse("timeout", "%v: must be more than 0 up to %v seconds", *args.Timeout, most.Seconds())
		}
		t.Timeout = time.Duration(*args.Timeout * float64(time.Second))
	}
	alive := s.keepAlive(ctx, req, "")
	defer alive.stop()
	ctx, _, done := s.left.during(ctx, req.Session.ID())
	defer done()
	t.Tell = alive.say
	t.Run = func(ctx context.Context, code string) (execution.Result, error) { return s.runForAgent(ctx, req, code) }
	a, err := s.agent.Solve(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("solve a task: %w", err)
	}
	return plainText(cut(a.Text, Shown, leftOut).text, a.Failed), nil
}

// runForAgent runs a program of a model in the caller's name, to its end or to a question
// for a human. A task that ends otherwise leaves nothing behind that runs or asks.
func (s *service) runForAgent(ctx context.Context, req *mcp.CallToolRequest, code string) (execution.Result, error) {
	r, err := execution.Arguments{Code: code}.Request(s.caller.Principal, client(req))
	if err != nil {
		return execution.Result{}, err
	}
	id, err := s.engine.Submit(ctx, r)
	if err != nil {
		return execution.Result{}, err
	}
	res, err := s.engine.WaitUnlessAsked(ctx, s.caller.Principal, id, execution.MaxWait)
	asked := res.Status == execution.StatusPendingApproval || res.AsksWithin()
	if ctx.Err() != nil || err == nil && !asked && !res.Status.Final() {
		res, err = s.cancel(ctx, id)
	}
	return s.settled(ctx, id, res, err), nil
}
