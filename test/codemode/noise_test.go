//go:build linux

package codemode

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// 33 NOISE: each kind of what servers print that is no answer.
func TestServersThatPrintWhatIsNoMessageAreHeardThroughIt(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(noises))
	all := servers{}
	peers := map[string]*peer{}
	for i, kind := range kinds {
		name := fmt.Sprintf("n%d", i)
		peers[name] = newPeer(t, kind)
		all[name] = peers[name].entry(map[string]any{"startup_timeout": 60})
	}
	b := open(t, setting{servers: all})
	got := value[map[string]any](b, `
import tools, asyncio
out = {}
async def ask(name):
    try:
        a = await asyncio.gather(*(tools.aio.call(name, "echo", {"n": i, "text": "a\nb"}) for i in range(3)))
        out[name] = a == [{"n": i, "text": "a\nb"} for i in range(3)] or a
    except tools.ToolError as e:
        out[name] = str(e)
await asyncio.gather(*(ask(n) for n in NAMES))
out`, map[string]any{"NAMES": slices.Sorted(maps.Keys(all))})
	for i, kind := range kinds {
		name := fmt.Sprintf("n%d", i)
		if got[name] != true {
			t.Errorf("%s: %v", kind, got[name])
		}
		if n := len(peers[name].calls()); n != 3 {
			t.Errorf("%s: %d calls", kind, n)
		}
	}
}

// An answer that cannot be read is told at once to whom it answers, and nobody waits until
// the time of the call is over.
func TestAnswersThatCannotBeReadAreErrorsAndNotSilence(t *testing.T) {
	p := newPeer(t, "")
	b := open(t, setting{servers: servers{"s": p.entry(map[string]any{"timeout": 100})}})
	got := value[map[string]string](b, `
import tools
out = {}
for kind in KINDS:
    try:
        out[kind] = "value: " + repr(tools.call("s", "answer", {"result": kind}))
    except tools.ToolError as e:
        out[kind] = type(e).__name__ + ": " + str(e)
out["after"] = repr(tools.call("s", "echo", {"n": 1}))
out`, map[string]any{"KINDS": slices.Sorted(maps.Keys(unreadable))})
	for kind := range unreadable {
		has(t, got[kind], "ToolError: ")
		if strings.Contains(got[kind], "did not answer") {
			t.Errorf("%s: %s", kind, got[kind])
		}
	}
	if got["after"] != "{'n': 1}" {
		t.Error(got["after"])
	}
}

// unreadable are results that are none, after {"jsonrpc":"2.0","id":1,"result":.
var unreadable = map[string]string{
	"not a number":        `{"content":[],"structuredContent":{"x":NaN}}`,
	"infinity":            `{"content":[],"structuredContent":{"x":-Infinity}}`,
	"nested too deeply":   `{"content":[],"structuredContent":{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`,
	"a comma too many":    `{"content":[],}`,
	"quotes of Python":    `{'content': []}`,
	"cut":                 `{"content":[{"type":"te`,
	"a text":              `"done"`,
	"a list":              `[]`,
	"content of a kind":   `{"content":"text"}`,
	"blocks of a kind":    `{"content":[5]}`,
	"a picture of a kind": `{"content":[{"type":"image","data":5}]}`,
	"no base64":           `{"content":[{"type":"image","data":"!!!","mimeType":"image/png"}]}`,
}
