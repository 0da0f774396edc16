package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// ClassToolError is the Python class of an error that the tool itself reports.
const ClassToolError = "ToolError"

// maxMessage bounds the message of an exception, in characters. The body has all of it.
const maxMessage = 4000

// Answer is what a program gets for the result of a tool:
//
//  1. an error is a ToolError with the server's own text, and the body is what would have
//     been the value;
//  2. the structured value, taken out of {"result": …} where the server marks that;
//  3. texts, joined by line ends; one that is a JSON object or array, of a tool that
//     declares no output schema, is that value;
//  4. pictures, sounds and embedded files with their bytes, and
//  5. links, are parts;
//  6. as are texts among them, in order; nothing at all is no value.
func (e Entry) Answer(r tool.Result) (bridge.AnswerHead, []byte) {
	form, parts, body := e.value(r)
	if !r.IsError {
		return bridge.AnswerHead{Form: form, Parts: parts}, body
	}
	return bridge.AnswerHead{Error: &bridge.CallError{
		Class: ClassToolError, Message: e.message(r), Server: e.Definition.Server, Tool: e.Definition.Name, Form: form, Parts: parts,
	}}, body
}

func (e Entry) value(r tool.Result) (bridge.Form, []bridge.Part, []byte) {
	if value, ok := e.structured(r); ok {
		return bridge.FormJSON, nil, value
	}
	texts, whole := onlyText(r.Blocks)
	switch {
	case len(r.Blocks) == 0:
		return bridge.FormNone, nil, nil
	case !whole:
		return partsOf(r.Blocks)
	case len(texts) == 1 && len(e.Definition.Output) == 0 && isDocument([]byte(texts[0])):
		return bridge.FormJSON, nil, []byte(texts[0])
	}
	return bridge.FormText, nil, []byte(strings.Join(texts, "\n"))
}

// structured is the structured value, if there is one that a program can read.
func (e Entry) structured(r tool.Result) ([]byte, bool) {
	text := bytes.TrimSpace(r.Structured)
	if len(text) == 0 || string(text) == "null" || !json.Valid(text) || !shallow(text) {
		return nil, false
	}
	text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	if !e.wraps {
		return text, true
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err == nil && len(object) == 1 && object["result"] != nil {
		return object["result"], true
	}
	return text, true
}

// onlyText are the texts of blocks, and whether there is nothing else.
func onlyText(blocks []tool.Block) (texts []string, whole bool) {
	whole = true
	for _, block := range blocks {
		if block.Kind == tool.Text {
			texts = append(texts, strings.ToValidUTF8(block.Text, "\ufffd"))
		} else {
			whole = false
		}
	}
	return texts, whole
}

// isDocument reports whether a text is a JSON object or array.
func isDocument(text []byte) bool {
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	return len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(text) && shallow(text)
}

// maxNested is how deep a value may be nested that Python's own parser is given.
const maxNested = 500

func shallow(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxNested {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

func partsOf(blocks []tool.Block) (bridge.Form, []bridge.Part, []byte) {
	var parts []bridge.Part
	var body []byte
	for _, block := range blocks {
		data := block.Data
		if block.Kind == tool.Text {
			data = []byte(strings.ToValidUTF8(block.Text, "\ufffd"))
		}
		if block.Kind == tool.Link {
			data = nil
		}
		parts = append(parts, bridge.Part{Kind: string(block.Kind), Size: int64(len(data)), MIME: block.MIME, Name: block.Name, URI: block.URI})
		body = append(body, data...)
	}
	return bridge.FormParts, parts, body
}

// message is what the server says of its error.
func (e Entry) message(r tool.Result) string {
	texts, _ := onlyText(r.Blocks)
	message := strings.Join(texts, "\n")
	if strings.TrimSpace(message) == "" {
		message = strings.TrimSpace(string(r.Structured))
	}
	if strings.TrimSpace(message) == "" {
		return e.Name() + " failed, and the server does not say why."
	}
	return Ends(message, maxMessage)
}

// Text is the result for a model that called the tool directly, of at most budget
// characters: the structured value where there is one, else texts, with what else there is
// named in its place.
func (e Entry) Text(r tool.Result, budget int) string {
	if value, ok := e.structured(r); ok {
		return Ends(string(value), budget)
	}
	var lines []string
	for _, block := range r.Blocks {
		lines = append(lines, blockText(block))
	}
	if len(lines) == 0 {
		return "The tool answered nothing."
	}
	return Ends(strings.Join(lines, "\n"), budget)
}

func blockText(b tool.Block) string {
	switch b.Kind {
	case tool.Text:
		return strings.ToValidUTF8(b.Text, "\ufffd")
	case tool.Link:
		return strings.Join(strings.Fields("["+string(b.Kind)+" "+quoted(b.URI)+" "+b.MIME), " ") + "]"
	case tool.Image, tool.Audio, tool.Blob:
	}
	about := fmt.Sprintf("[%s %s, %d bytes", b.Kind, b.MIME, len(b.Data))
	if b.URI != "" {
		about += ", " + quoted(b.URI)
	}
	return about + "]"
}

// Ends keeps the beginning and the end of a text that is longer than budget characters, and
// says between them what is missing. The result is never longer than budget, but for the
// sentence itself.
func Ends(text string, budget int) string {
	total := utf8.RuneCountInString(text)
	if total <= budget {
		return text
	}
	const room = 80 // for the sentence
	keep := max(0, budget-room)
	head, tail := keep-keep/3, keep/3
	first := cut(text, head)
	last := text[len(cut(text, total-tail)):]
	return fmt.Sprintf("%s\n… [%d of %d characters are left out here] …\n%s", first, total-head-tail, total, last)
}
