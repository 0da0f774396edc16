package endpoint

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/gateway/agent"
)

// chatCompletions is the wire format of OpenAI's chat completions.
var chatCompletions = wire{
	base: "https://api.openai.com/v1", path: "/chat/completions",
	encode: encodeChat, decode: decodeChat,
	authorise: func(h http.Header, key string) {
		if key != "" {
			h.Set("Authorization", "Bearer "+key)
		}
	},
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func encodeChat(model string, talk agent.Conversation) ([]byte, error) {
	said := []chatMessage{{"system", talk.System}}
	for _, m := range talk.Messages {
		said = append(said, chatMessage{string(m.Role), m.Text})
	}
	return json.Marshal(struct {
		Model    string        `json:"model"`
		Messages []chatMessage `json:"messages"`
	}{model, said})
}

type chatReply struct {
	Choices []struct {
		Message *struct {
			Content content `json:"content"`
			Refusal string  `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Input  int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
	} `json:"usage"`
}

func decodeChat(body []byte) (agent.Reply, error) {
	var r chatReply
	if err := json.Unmarshal(body, &r); err != nil {
		return agent.Reply{}, err
	}
	if len(r.Choices) == 0 || r.Choices[0].Message == nil {
		return agent.Reply{}, errors.New("no choice is in it")
	}
	first := r.Choices[0]
	reply := agent.Reply{Text: string(first.Message.Content), Stop: agent.StopEnd, Usage: agent.Usage{InputTokens: r.Usage.Input, OutputTokens: r.Usage.Output}}
	switch {
	case first.FinishReason == "length":
		reply.Stop = agent.StopLength
	case first.FinishReason == "content_filter", first.Message.Refusal != "":
		reply.Stop, reply.Text = agent.StopRefused, reply.Text+first.Message.Refusal
	}
	return reply, nil
}

// content is text, as one string or in parts, or null. Parts of other kinds, such as what a
// model thought, are left out.
type content string

func (c *content) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		var parts []part
		if err := json.Unmarshal(text, &parts); err != nil {
			return err
		}
		*c = content(join(parts))
		return nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	*c = content(s)
	return nil
}

// part is one part of a text, in both wire formats.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func join(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
