//go:build linux

package codemode

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// results are results of tools, and what a program has of each: the value as Python writes
// it, or the exception.
var results = map[string]struct{ result, want string }{
	"structured before text":      {`{"content":[{"type":"text","text":"words"}],"structuredContent":{"a":1}}`, `{'a': 1}`},
	"structured that is a list":   {`{"content":[],"structuredContent":[1,2]}`, `[1, 2]`},
	"structured null":             {`{"content":[{"type":"text","text":"words"}],"structuredContent":null}`, `'words'`},
	"one text":                    {`{"content":[{"type":"text","text":"words"}]}`, `'words'`},
	"an empty text":               {`{"content":[{"type":"text","text":""}]}`, `''`},
	"text that is an object":      {`{"content":[{"type":"text","text":" {\"a\": [1, null]}\n"}]}`, `{'a': [1, None]}`},
	"text that is a list":         {`{"content":[{"type":"text","text":"[1,2]"}]}`, `[1, 2]`},
	"text that is a number":       {`{"content":[{"type":"text","text":"5"}]}`, `'5'`},
	"text that is half JSON":      {`{"content":[{"type":"text","text":"{\"a\": 1"}]}`, `'{"a": 1'`},
	"several texts":               {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"{}"}]}`, `'a\n{}'`},
	"nothing":                     {`{"content":[]}`, `None`},
	"no content":                  {`{}`, `None`},
	"content null":                {`{"content":null}`, `None`},
	"a picture":                   {`{"content":[{"type":"image","data":"iVBORw==","mimeType":"image/png"}]}`, `Blob(4 bytes, mime='image/png', name='')`},
	"a sound":                     {`{"content":[{"type":"audio","data":"iVBORw==","mimeType":"audio/wav"}]}`, `Blob(4 bytes, mime='audio/wav', name='')`},
	"an embedded text":            {`{"content":[{"type":"resource","resource":{"uri":"a:b","text":"inside"}}]}`, `'inside'`},
	"an embedded file":            {`{"content":[{"type":"resource","resource":{"uri":"a:b","blob":"iVBORw==","mimeType":"x/y"}}]}`, `Blob(4 bytes, mime='x/y', name='a:b')`},
	"a link":                      {`{"content":[{"type":"resource_link","uri":"a:b","name":"n","mimeType":"x/y"}]}`, `ResourceLink('a:b', name='n', mime='x/y')`},
	"text and picture":            {`{"content":[{"type":"text","text":"a"},{"type":"image","data":"iVBORw==","mimeType":"image/png"},{"type":"text","text":"b"}]}`, `['a', Blob(4 bytes, mime='image/png', name=''), 'b']`},
	"a block of a kind to come":   {`{"content":[{"type":"hologram","x":1},{"type":"text","text":"a"}]}`, `'{"type":"hologram","x":1}\na'`},
	"large integers":              {`{"content":[],"structuredContent":{"id":9007199254740993}}`, `{'id': 9007199254740993}`},
	"members in order":            {`{"content":[],"structuredContent":{"z":1,"a":2}}`, `{'z': 1, 'a': 2}`},
	"a lone surrogate":            {`{"content":[{"type":"text","text":"a\ud800b"}]}`, "'a\ufffdb'"},
	"zero bytes":                  {`{"content":[{"type":"text","text":"a\u0000b"}]}`, `'a\x00b'`},
	"a false error":               {`{"content":[{"type":"text","text":"a"}],"isError":false}`, `'a'`},
	"an error":                    {`{"content":[{"type":"text","text":"no cheese"}],"isError":true}`, `ToolError: no cheese`},
	"an error with no words":      {`{"content":[],"isError":true}`, `ToolError: s.answer failed, and the server does not say why.`},
	"an error that is structured": {`{"content":[],"structuredContent":{"code":7},"isError":true}`, `ToolError: {"code":7}`},
	"an error of several texts":   {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isError":true}`, "ToolError: a\nb"},
	"members beside":              {`{"content":[{"type":"text","text":"a","annotations":{"audience":["user"]},"_meta":{"x":1}}],"_meta":{"y":2},"extra":true}`, `'a'`},
}

// canned is a result by its name.
func canned(name string) string {
	if text, ok := unreadable[name]; ok {
		return text
	}
	return results[name].result
}

// 30 RESULT, and 31 CATCH: an error is one that a program catches, in the server's own words.
func TestResultsOfEveryKindBecomeTheValuesThatProgramsExpect(t *testing.T) {
	p := newPeer(t, "")
	b := open(t, setting{servers: servers{"s": p.entry(), "other": newPeer(t, "").entry()}})
	got := value[map[string]string](b, `
import tools
out = {}
for name in NAMES:
    try:
        out[name] = repr(tools.call("s", "answer", {"result": name}))
    except tools.ToolError as e:
        out[name] = type(e).__name__ + ": " + str(e)
out`, map[string]any{"NAMES": slices.Sorted(maps.Keys(results))})
	for name, c := range results {
		if got[name] != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got[name], c.want)
		}
	}
	t.Run("errors are caught and the rest goes on", func(t *testing.T) {
		got := value[[]any](b, `
import tools
from tools import s, other, ToolError
r = []
for make in (lambda: s.answer(result="an error"), lambda: s.refuse(message="missing the colour"), lambda: s.answer(result=5, more=1),
             lambda: s.no_such(), lambda: tools.call("none", "x"), lambda: s.answer()):
    try:
        r.append(make())
    except ToolError as e:
        r.append([type(e).__name__, str(e), e.server, e.tool])
r.append(other.echo(n=1))
try:
    s.answer(result="an error that is structured")
except Exception as e:
    r.append([e.structured, e.content])
r`, nil)
		text := marshal(t, got)
		has(t, text, `["ToolError","no cheese","s","answer"]`, `"missing the colour"`, `"ToolNotFound"`, `"InvalidArguments"`, `{"n":1}`, `{"code":7}`)
	})
	t.Run("an error that is not caught is the program's, with the server's words", func(t *testing.T) {
		has(t, b.fails("from tools import s\ns.answer(result='an error')", "ToolError"), "no cheese")
	})
	t.Run("call_tool answers alike", func(t *testing.T) {
		for name, want := range map[string]string{"one text": "words", "text that is an object": `"a"`, "structured before text": `{"a":1}`, "an error": "no cheese", "nothing": "nothing"} {
			if a := b.use("call_tool", map[string]any{"name": "s.answer", "arguments": map[string]any{"result": name}}); !strings.Contains(a.text, want) {
				t.Errorf("%s: %s", name, a.text)
			}
		}
	})
}

// 30 RESULT, at its largest.
func TestAResultOfTwentyMegabytesPassesAndOneThatIsTooLargeSaysSo(t *testing.T) {
	t.Parallel()
	b := open(t, setting{servers: servers{"s": newPeer(t, "").entry()}})
	got := value[[]any](b, `
import tools
from tools import s
text = s.big(bytes=20 << 20)
r = [len(text), text == "0123456789" * (len(text) // 10)]
del text
for size in (62 << 20, 70 << 20):
    try:
        r.append(len(s.big(bytes=size)))
    except tools.ToolError as e:
        r.append([type(e).__name__, str(e)])
    r.append(s.echo(n=size))
r`, nil)
	if got[0] != float64((20<<20)/10*10) || got[1] != true {
		t.Errorf("%v", got[:2])
	}
	if got[2] != float64((62<<20)/10*10) {
		t.Errorf("62 MiB: %v", got[2])
	}
	has(t, marshal(t, got[4]), "ToolError", "longer than is accepted", "67108864 bytes")
	for _, i := range []int{3, 5} {
		if _, ok := got[i].(map[string]any); !ok {
			t.Errorf("the next call: %v", got[i])
		}
	}
}
