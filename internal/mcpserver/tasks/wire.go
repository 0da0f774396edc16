package tasks

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a result is, in its field resultType.
const (
	typeTask     = "task"
	typeComplete = "complete"
)

// params are those of every method.
type params struct {
	mcp.ParamsBase

	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// acknowledged is the answer to what changes a task.
type acknowledged struct {
	mcp.ResultBase

	ResultType string `json:"resultType"`
}

// told is a task as it is told. The same form answers the call that became one.
type told struct {
	mcp.ResultBase

	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId"`
	Status         Status              `json:"status"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      string              `json:"createdAt"`
	LastUpdatedAt  string              `json:"lastUpdatedAt"`
	TTLMs          int64               `json:"ttlMs"`
	PollIntervalMs int64               `json:"pollIntervalMs,omitempty"`
	Result         *mcp.CallToolResult `json:"result,omitempty"`
	Error          *jsonrpc.Error      `json:"error,omitempty"`
	InputRequests  mcp.InputRequestMap `json:"inputRequests,omitempty"`
}

func tell(t Task) *told {
	return &told{
		ResultType: typeComplete, TaskID: t.ID, Status: t.Status, StatusMessage: t.Message,
		CreatedAt: t.Created.UTC().Format(time.RFC3339Nano), LastUpdatedAt: t.Updated.UTC().Format(time.RFC3339Nano),
		TTLMs: max(t.TTL.Milliseconds(), 1), PollIntervalMs: t.Poll.Milliseconds(),
		Result: t.Result, Error: t.Error, InputRequests: t.Inputs,
	}
}

// begun is the answer to a call that became a task: how it ends is only ever told by
// tasks/get.
func begun(t Task) *told {
	t.Result, t.Error, t.Inputs = nil, nil, nil
	out := tell(t)
	out.ResultType = typeTask
	return out
}

// outward is an error of a book as the protocol has it.
func outward(err error) error {
	if errors.Is(err, ErrUnknown) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: ErrUnknown.Error()}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the task could not be asked about; the log of the server has the reason"}
}

// Required is the error for a call that cannot be answered without a task, from a client
// that knows none.
func Required() error {
	c := &mcp.ClientCapabilities{}
	c.AddExtension(Extension, nil)
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: c})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "this needs a client that declares the extension " + Extension + " with its request", Data: data,
	}
}
