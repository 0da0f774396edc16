package upstream

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// wireTool is a tool as servers describe it.
type wireTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations struct {
		Title       string `json:"title"`
		ReadOnly    *bool  `json:"readOnlyHint"`
		Destructive *bool  `json:"destructiveHint"`
		Idempotent  *bool  `json:"idempotentHint"`
		OpenWorld   *bool  `json:"openWorldHint"`
	} `json:"annotations"`
}

// definition reads one tool. The error says what is wrong with it.
func definition(server string, raw json.RawMessage) (tool.Definition, error) {
	if len(raw) > MaxDefinition {
		return tool.Definition{}, fmt.Errorf("its definition has %d bytes, and at most %d are taken", len(raw), MaxDefinition)
	}
	var w wireTool
	if err := json.Unmarshal(raw, &w); err != nil {
		return tool.Definition{}, fmt.Errorf("its definition cannot be read: %w", err)
	}
	if err := checkName(w.Name); err != nil {
		return tool.Definition{}, err
	}
	if w.Title == "" {
		w.Title = w.Annotations.Title
	}
	d := tool.Definition{
		Server: server, Name: w.Name, Title: w.Title, Description: w.Description, Input: present(w.Input), Output: present(w.Output),
		Hints: tool.Hints{
			ReadOnly: w.Annotations.ReadOnly, Destructive: w.Annotations.Destructive,
			Idempotent: w.Annotations.Idempotent, OpenWorld: w.Annotations.OpenWorld,
		},
	}
	var mark struct {
		Wrapped bool `json:"x-fastmcp-wrap-result"`
	}
	d.Wrapped = json.Unmarshal(w.Output, &mark) == nil && mark.Wrapped
	return d, nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("it has no name")
	case len(name) > MaxName:
		return fmt.Errorf("its name has %d bytes, and at most %d are taken", len(name), MaxName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("its name %.40q holds control characters", name)
	}
	return nil
}

// present is nil for null.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// wireResult is what a call answers.
type wireResult struct {
	Kind       string          `json:"resultType"`
	Task       json.RawMessage `json:"task"`
	IsError    bool            `json:"isError"`
	Structured json.RawMessage `json:"structuredContent"`
	Content    []wireBlock     `json:"content"`
}

type wireBlock struct {
	Type     string        `json:"type"`
	Text     string        `json:"text"`
	Data     string        `json:"data"`
	MIME     string        `json:"mimeType"`
	Name     string        `json:"name"`
	URI      string        `json:"uri"`
	Resource *wireResource `json:"resource"`
	raw      json.RawMessage
}

func (b *wireBlock) UnmarshalJSON(raw []byte) error {
	type plain wireBlock // without this method
	if err := json.Unmarshal(raw, (*plain)(b)); err != nil {
		return err
	}
	b.raw = append(json.RawMessage(nil), raw...)
	if b.Type == "image" || b.Type == "audio" {
		b.raw = nil // only what is not known is passed on as it came
	}
	return nil
}

type wireResource struct {
	URI  string  `json:"uri"`
	MIME string  `json:"mimeType"`
	Text *string `json:"text"`
	Blob *string `json:"blob"`
}

// result reads what a call answered.
func result(raw json.RawMessage) (tool.Result, error) {
	var w wireResult
	if err := json.Unmarshal(raw, &w); err != nil {
		return tool.Result{}, fmt.Errorf("its answer is no result of a tool: %w", err)
	}
	switch {
	case w.Kind == "task", w.Kind == "" && w.Content == nil && present(w.Task) != nil:
		return tool.Result{}, fmt.Errorf("it answered with a task to be asked for later, which was not offered to it; the call may go on there, and what comes of it cannot be had here")
	case w.Kind == "input_required":
		return tool.Result{}, fmt.Errorf("it asks for more input than is given to it here")
	case w.Kind != "" && w.Kind != "complete":
		return tool.Result{}, fmt.Errorf("it answered with a result of the kind %.40q, which is not known", w.Kind)
	}
	r := tool.Result{IsError: w.IsError, Structured: present(w.Structured)}
	for i, b := range w.Content {
		block, err := b.block()
		if err != nil {
			return tool.Result{}, fmt.Errorf("part %d of its answer: %w", i+1, err)
		}
		r.Blocks = append(r.Blocks, block)
	}
	return r, nil
}

func (b wireBlock) block() (tool.Block, error) {
	switch b.Type {
	case "text":
		return tool.Block{Kind: tool.Text, Text: b.Text}, nil
	case "image":
		data, err := decode(b.Data)
		return tool.Block{Kind: tool.Image, Data: data, MIME: b.MIME}, err
	case "audio":
		data, err := decode(b.Data)
		return tool.Block{Kind: tool.Audio, Data: data, MIME: b.MIME}, err
	case "resource_link":
		return tool.Block{Kind: tool.Link, URI: b.URI, Name: b.Name, MIME: b.MIME}, nil
	case "resource":
		if b.Resource == nil {
			return tool.Block{}, fmt.Errorf("an embedded resource without the resource")
		}
		return b.Resource.block()
	}
	// What a later version of the protocol adds is not lost.
	return tool.Block{Kind: tool.Text, Text: string(b.raw), MIME: "application/json"}, nil
}

func (r wireResource) block() (tool.Block, error) {
	if r.Blob == nil {
		b := tool.Block{Kind: tool.Text, URI: r.URI, MIME: r.MIME}
		if r.Text != nil {
			b.Text = *r.Text
		}
		return b, nil
	}
	data, err := decode(*r.Blob)
	return tool.Block{Kind: tool.Blob, Data: data, URI: r.URI, MIME: r.MIME}, err
}

// decode reads base64, with or without the padding that some leave out.
func decode(s string) ([]byte, error) {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "=\r\n"))
	if err != nil {
		return nil, fmt.Errorf("the data is no base64: %w", err)
	}
	return data, nil
}

// contents reads what a resource holds.
func contents(raw json.RawMessage) (tool.Result, error) {
	var w struct {
		Contents []wireResource `json:"contents"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return tool.Result{}, fmt.Errorf("its answer is no resource: %w", err)
	}
	var r tool.Result
	for i, c := range w.Contents {
		block, err := c.block()
		if err != nil {
			return tool.Result{}, fmt.Errorf("part %d of the resource: %w", i+1, err)
		}
		r.Blocks = append(r.Blocks, block)
	}
	return r, nil
}
