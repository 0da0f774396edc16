package endpoint

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gearbox-mcp/gearbox/internal/gateway/agent"
)

const (
	// anthropicVersion is the version of the messages API. There has been no other since.
	anthropicVersion = "2023-06-01"
	// maxTokens has to be said, and is what all models of the endpoint can write at once.
	maxTokens = 8192
)

// messages is the wire format of Anthropic's messages.
var messages = wire{
	base: "https://api.anthropic.com", path: "/v1/messages",
	encode: encodeMessages, decode: decodeMessages,
	authorise: func(h http.Header, key string) {
		h.Set("Anthropic-Version", anthropicVersion)
		if key != "" {
			h.Set("X-Api-Key", key)
		}
	},
}

func encodeMessages(model string, talk agent.Conversation) ([]byte, error) {
	said := make([]chatMessage, 0, len(talk.Messages))
	for _, m := range talk.Messages {
		said = append(said, chatMessage{string(m.Role), m.Text})
	}
	return json.Marshal(struct {
		Model     string        `json:"model"`
		MaxTokens int           `json:"max_tokens"`
		System    string        `json:"system"`
		Messages  []chatMessage `json:"messages"`
	}{model, maxTokens, talk.System, said})
}

func decodeMessages(body []byte) (agent.Reply, error) {
	var r struct {
		Type       string `json:"type"`
		Content    []part `json:"content"`
		StopReason string `json:"stop_reason"`
		Usage      struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return agent.Reply{}, err
	}
	if r.Type != "message" {
		return agent.Reply{}, errors.New("it is no message")
	}
	reply := agent.Reply{Text: join(r.Content), Stop: agent.StopEnd, Usage: agent.Usage{InputTokens: r.Usage.Input, OutputTokens: r.Usage.Output}}
	switch r.StopReason {
	case "max_tokens", "model_context_window_exceeded":
		reply.Stop = agent.StopLength
	case "refusal":
		reply.Stop = agent.StopRefused
	}
	return reply, nil
}
