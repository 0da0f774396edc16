package catalog_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

func text(s string) tool.Block { return tool.Block{Kind: tool.Text, Text: s} }

func TestResultsBecomeValues(t *testing.T) {
	output := json.RawMessage(`{"type":"object","properties":{"result":{"type":"integer"}}}`)
	wrapping := json.RawMessage(`{"type":"object","properties":{"result":{"type":"integer"}},"x-fastmcp-wrap-result":true}`)
	picture := tool.Block{Kind: tool.Image, Data: []byte{1, 2, 3}, MIME: "image/png"}
	link := tool.Block{Kind: tool.Link, URI: "demo://1", Name: "one", MIME: "text/plain"}
	for name, c := range map[string]struct {
		d      tool.Definition
		result tool.Result
		head   bridge.AnswerHead
		body   string
	}{
		"structured comes first":     {tool.Definition{Output: output}, tool.Result{Structured: json.RawMessage(`{"a":1}`), Blocks: []tool.Block{text("as text")}}, bridge.AnswerHead{Form: bridge.FormJSON}, `{"a":1}`},
		"structured without UTF-8":   {tool.Definition{}, tool.Result{Structured: json.RawMessage("{\"a\":\"\xff\"}")}, bridge.AnswerHead{Form: bridge.FormJSON}, "{\"a\":\"\ufffd\"}"},
		"structured null is none":    {tool.Definition{}, tool.Result{Structured: json.RawMessage(`null`), Blocks: []tool.Block{text("as text")}}, bridge.AnswerHead{Form: bridge.FormText}, `as text`},
		"structured that is no JSON": {tool.Definition{}, tool.Result{Structured: json.RawMessage(`{`), Blocks: []tool.Block{text("as text")}}, bridge.AnswerHead{Form: bridge.FormText}, `as text`},
		"structured too deep":        {tool.Definition{}, tool.Result{Structured: json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), Blocks: []tool.Block{text("as text")}}, bridge.AnswerHead{Form: bridge.FormText}, `as text`},
		"a wrapped result":           {tool.Definition{Wrapped: true}, tool.Result{Structured: json.RawMessage(`{"result":5}`)}, bridge.AnswerHead{Form: bridge.FormJSON}, `5`},
		"a wrapped null":             {tool.Definition{Wrapped: true}, tool.Result{Structured: json.RawMessage(`{"result":null}`)}, bridge.AnswerHead{Form: bridge.FormJSON}, `null`},
		"marked in the schema":       {tool.Definition{Output: wrapping}, tool.Result{Structured: json.RawMessage(`{"result":5}`)}, bridge.AnswerHead{Form: bridge.FormJSON}, `5`},
		"not marked":                 {tool.Definition{Output: output}, tool.Result{Structured: json.RawMessage(`{"result":5}`)}, bridge.AnswerHead{Form: bridge.FormJSON}, `{"result":5}`},
		"marked, and more in it":     {tool.Definition{Wrapped: true}, tool.Result{Structured: json.RawMessage(`{"result":5,"next":1}`)}, bridge.AnswerHead{Form: bridge.FormJSON}, `{"result":5,"next":1}`},
		"one text":                   {tool.Definition{}, tool.Result{Blocks: []tool.Block{text("hello")}}, bridge.AnswerHead{Form: bridge.FormText}, `hello`},
		"a text of JSON":             {tool.Definition{}, tool.Result{Blocks: []tool.Block{text(" {\"a\": [1]}\n")}}, bridge.AnswerHead{Form: bridge.FormJSON}, " {\"a\": [1]}\n"},
		"a list as text":             {tool.Definition{}, tool.Result{Blocks: []tool.Block{text(`[1]`)}}, bridge.AnswerHead{Form: bridge.FormJSON}, `[1]`},
		"a number stays a text":      {tool.Definition{}, tool.Result{Blocks: []tool.Block{text(`42`)}}, bridge.AnswerHead{Form: bridge.FormText}, `42`},
		"a string stays a text":      {tool.Definition{}, tool.Result{Blocks: []tool.Block{text(`"x"`)}}, bridge.AnswerHead{Form: bridge.FormText}, `"x"`},
		"almost JSON":                {tool.Definition{}, tool.Result{Blocks: []tool.Block{text(`{a}`)}}, bridge.AnswerHead{Form: bridge.FormText}, `{a}`},
		"JSON and a schema":          {tool.Definition{Output: output}, tool.Result{Blocks: []tool.Block{text(`{"a":1}`)}}, bridge.AnswerHead{Form: bridge.FormText}, `{"a":1}`},
		"a text too deep":            {tool.Definition{}, tool.Result{Blocks: []tool.Block{text(strings.Repeat("[", 600) + strings.Repeat("]", 600))}}, bridge.AnswerHead{Form: bridge.FormText}, strings.Repeat("[", 600) + strings.Repeat("]", 600)},
		"several texts":              {tool.Definition{}, tool.Result{Blocks: []tool.Block{text("a"), text("{}")}}, bridge.AnswerHead{Form: bridge.FormText}, "a\n{}"},
		"no UTF-8":                   {tool.Definition{}, tool.Result{Blocks: []tool.Block{text("a\xff")}}, bridge.AnswerHead{Form: bridge.FormText}, "a\ufffd"},
		"an empty text":              {tool.Definition{}, tool.Result{Blocks: []tool.Block{text("")}}, bridge.AnswerHead{Form: bridge.FormText}, ""},
		"nothing":                    {tool.Definition{}, tool.Result{}, bridge.AnswerHead{Form: bridge.FormNone}, ""},
		"a picture":                  {tool.Definition{}, tool.Result{Blocks: []tool.Block{picture}}, bridge.AnswerHead{Form: bridge.FormParts, Parts: []bridge.Part{{Kind: "image", Size: 3, MIME: "image/png"}}}, "\x01\x02\x03"},
		"a link":                     {tool.Definition{}, tool.Result{Blocks: []tool.Block{link}}, bridge.AnswerHead{Form: bridge.FormParts, Parts: []bridge.Part{{Kind: "link", URI: "demo://1", Name: "one", MIME: "text/plain"}}}, ""},
		"mixed, in order": {tool.Definition{}, tool.Result{Blocks: []tool.Block{text("a"), picture, link, text("b")}}, bridge.AnswerHead{Form: bridge.FormParts, Parts: []bridge.Part{
			{Kind: "text", Size: 1}, {Kind: "image", Size: 3, MIME: "image/png"}, {Kind: "link", URI: "demo://1", Name: "one", MIME: "text/plain"}, {Kind: "text", Size: 1},
		}}, "a\x01\x02\x03b"},
		"an error": {tool.Definition{}, tool.Result{IsError: true, Blocks: []tool.Block{text("no such file: x"), text("try y")}}, bridge.AnswerHead{Error: &bridge.CallError{
			Class: "ToolError", Message: "no such file: x\ntry y", Server: "s", Tool: "a-b", Form: bridge.FormText,
		}}, "no such file: x\ntry y"},
		"an error with a value": {tool.Definition{}, tool.Result{IsError: true, Structured: json.RawMessage(`{"code":7}`)}, bridge.AnswerHead{Error: &bridge.CallError{
			Class: "ToolError", Message: `{"code":7}`, Server: "s", Tool: "a-b", Form: bridge.FormJSON,
		}}, `{"code":7}`},
		"an error without a word": {tool.Definition{}, tool.Result{IsError: true}, bridge.AnswerHead{Error: &bridge.CallError{
			Class: "ToolError", Message: "s.a_b failed, and the server does not say why.", Server: "s", Tool: "a-b", Form: bridge.FormNone,
		}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.d.Name = "a-b"
			head, body := entry(t, one(c.d), "s.a_b").Answer(c.result)
			if !reflect.DeepEqual(head, c.head) || string(body) != c.body {
				t.Errorf("got %+v %+v %q", head, head.Error, body)
			}
		})
	}
}

func TestALargeResultPassesWhole(t *testing.T) {
	e := entry(t, one(tool.Definition{Name: "f"}), "s.f")
	data := bytes.Repeat([]byte{0xff, 0, 'x', '\n'}, 5<<20)
	head, body := e.Answer(tool.Result{Blocks: []tool.Block{{Kind: tool.Blob, Data: data, MIME: "application/zip", URI: "file:///x.zip", Name: "x.zip"}}})
	if head.Form != bridge.FormParts || head.Parts[0].Size != 20<<20 || !bytes.Equal(body, data) {
		t.Errorf("%+v, %d bytes", head, len(body))
	}
	long := strings.Repeat("ä", 10<<20)
	if head, body := e.Answer(tool.Result{Blocks: []tool.Block{text(long)}}); head.Form != bridge.FormText || string(body) != long {
		t.Errorf("%+v, %d bytes", head, len(body))
	}
	if head, _ := e.Answer(tool.Result{IsError: true, Blocks: []tool.Block{text(long)}}); len([]rune(head.Error.Message)) > 4100 || !strings.Contains(head.Error.Message, "of 10485760 characters are left out here") {
		t.Errorf("%d characters", len([]rune(head.Error.Message)))
	}
}

func TestAModelReadsResultsWithinABudget(t *testing.T) {
	e := entry(t, one(tool.Definition{Name: "f"}), "s.f")
	for name, c := range map[string]struct {
		result tool.Result
		want   string
	}{
		"structured":   {tool.Result{Structured: json.RawMessage(`{"a":1}`), Blocks: []tool.Block{text("x")}}, `{"a":1}`},
		"texts":        {tool.Result{Blocks: []tool.Block{text("a"), text("b")}}, "a\nb"},
		"what else":    {tool.Result{Blocks: []tool.Block{text("a"), {Kind: tool.Image, MIME: "image/png", Data: make([]byte, 12)}, {Kind: tool.Link, URI: "demo://1", MIME: "text/plain"}, {Kind: tool.Blob, URI: "file:///x", MIME: "application/zip", Data: make([]byte, 3)}}}, "a\n[image image/png, 12 bytes]\n[link \"demo://1\" text/plain]\n[blob application/zip, 3 bytes, \"file:///x\"]"},
		"nothing":      {tool.Result{}, "The tool answered nothing."},
		"an error too": {tool.Result{IsError: true, Blocks: []tool.Block{text("no")}}, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := e.Text(c.result, 1000); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
	got := e.Text(tool.Result{Blocks: []tool.Block{text("head" + strings.Repeat("ä", 100_000) + "tail")}}, 1000)
	if n := len([]rune(got)); n > 1000 || !strings.HasPrefix(got, "head") || !strings.HasSuffix(got, "tail") || !strings.Contains(got, "of 100008 characters are left out here") {
		t.Errorf("%d characters: %s", len([]rune(got)), got)
	}
}
