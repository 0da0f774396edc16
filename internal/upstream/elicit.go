package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Question is what a server wants to know of a person in the middle of a call. All of it
// is the server's word.
type Question struct {
	Server  string
	Message string
	Schema  json.RawMessage // of the content to be given; nil if only a yes is asked for
	URL     string          // to be opened in a browser instead
}

// Reply is what the person said.
type Reply struct {
	Action  string // accept, decline or cancel
	Content map[string]any
}

func (n *session) elicit(ctx context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	question := Question{Server: n.spec.Name, Message: q.Params.Message, URL: q.Params.URL}
	if q.Params.RequestedSchema != nil {
		schema, err := json.Marshal(q.Params.RequestedSchema)
		if err != nil {
			return nil, fmt.Errorf("read the schema of a question: %w", err)
		}
		question.Schema = schema
	}
	r, err := n.opts.Elicit(ctx, question)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: r.Action, Content: r.Content}, nil
}
