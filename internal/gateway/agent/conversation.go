package agent

import (
	"context"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Model answers a conversation. Errors say what is wrong with the endpoint and hold no
// credential. It is safe for concurrent use.
type Model interface {
	Complete(context.Context, Conversation) (Reply, error)
}

// Runner runs a program under the rules that hold for whoever gave the task: to its end, or
// to a question for a human about it, or about a call that it makes. An
// [execution.RejectedError] says that the program cannot be taken as it is; any other error
// is a failure of ours. When ctx ends before that, so does the run.
type Runner interface {
	Run(ctx context.Context, code string) (execution.Result, error)
}

// Catalog describes tools to a model.
type Catalog interface {
	// Describe is the tools with parameters and examples, as they are used in a program:
	// all of them, or where they are too many those that suit the task, in at most limit
	// characters. It is empty when there are none.
	Describe(ctx context.Context, task string, limit int) (string, error)
}

// Conversation is what a model is to answer. The first and the last message are the user's.
type Conversation struct {
	System   string
	Messages []Message
}

// Role is who speaks.
type Role string

// The roles, as both wire formats name them.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn.
type Message struct {
	Role Role
	Text string
}

// size is the number of characters that a request with the conversation carries, in bytes.
func (c Conversation) size() int {
	n := len(c.System)
	for _, m := range c.Messages {
		n += len(m.Text)
	}
	return n
}

// Reply is what a model answered.
type Reply struct {
	Text  string
	Stop  Stop
	Usage Usage
}

// Stop is why a reply ends where it ends.
type Stop string

// The reasons.
const (
	StopEnd     Stop = "end"
	StopLength  Stop = "length"  // the reply is cut off
	StopRefused Stop = "refused" // by the model or a filter
)

// Usage is what requests cost, as far as the endpoint tells.
type Usage struct {
	Requests     int `json:"requests"`
	InputTokens  int `json:"input_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
}

func (u *Usage) add(other Usage) {
	u.Requests++
	u.InputTokens += max(other.InputTokens, 0)
	u.OutputTokens += max(other.OutputTokens, 0)
}
