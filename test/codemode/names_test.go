//go:build linux

package codemode

import (
	"encoding/json"
	"strings"
	"testing"
)

// 27 DASH.
func TestToolsWhoseNamesAreNoneInPythonAreCalledByAnIdentifierAndByTheirOwnName(t *testing.T) {
	long := strings.Repeat("very_long_", 12) + "name"
	names := []string{
		"send-email", "a.b/c", "1st", "class", "get user", "get_user", "get.user", "aio", "__init__", "_private", "print", "über-größe", "日本", "None",
		"x(y)", "import os; os.abort()", "a:b", "emoji😀", "call", "UPPER", "upper", long, strings.Repeat("m", 128),
	}
	var tools []string
	for _, n := range names {
		tools = append(tools, tool(n, `{"type":"object","properties":{"to":{"type":"string"}}}`))
	}
	p := newPeer(t, "", tools...)
	b := open(t, setting{servers: servers{"my-mail.server": p.entry(), "mail": newPeer(t, "").entry()}})
	got := value[struct {
		Named, Raw map[string]string
		Collision  string
		Missing    string
	}](b, `
import tools, ast
from tools import my_mail_server as m
named = {}
for name in dir(m):
    if name == "aio":
        continue
    assert name.isidentifier(), name
    named[name] = getattr(m, name)(to=name)["to"]
raw = {n: tools.call("my-mail.server", n, {"to": n})["to"] for n in NAMES}
try:
    m.send_mail(to="x")
except tools.ToolNotFound as e:
    missing = str(e)
{"Named": named, "Raw": raw, "Collision": tools.describe(["my-mail.server.get user", "my-mail.server.get.user"]), "Missing": missing}
`, map[string]any{"NAMES": names})
	if len(got.Named) != len(names) || len(got.Raw) != len(names) {
		t.Errorf("%d by identifiers and %d by names, of %d", len(got.Named), len(got.Raw), len(names))
	}
	has(t, got.Missing, "send_email")
	// Of names that would be one identifier each has its own, and what it is the server's is told.
	has(t, got.Collision, `The server calls it "get user"`, `The server calls it "get.user"`, "def get_user_")
	reached := map[string]map[string]bool{}
	for _, c := range p.calls() {
		var a struct{ To string }
		if err := json.Unmarshal(c.Arguments, &a); err != nil {
			t.Fatal(err)
		}
		if reached[c.Tool] == nil {
			reached[c.Tool] = map[string]bool{}
		}
		reached[c.Tool][a.To] = true
	}
	for _, n := range names {
		if len(reached[n]) != 2 && !(len(reached[n]) == 1 && got.Named[n] == n) {
			t.Errorf("%q was reached by %v", n, reached[n])
		}
	}
	for id, want := range map[string]string{"send_email": "send-email", "a_b_c": "a.b/c", "_1st": "1st", "class_": "class", "get_user": "get_user", "aio_": "aio", "None_": "None", "UPPER": "UPPER", "upper": "upper"} {
		if !reached[want][id] {
			t.Errorf("%s does not reach %q: %v", id, want, reached[want])
		}
	}
}

// 28 KEYWORD.
func TestParametersWhoseNamesAreNoneInPythonArePassedOn(t *testing.T) {
	names := []string{
		"from", "class", "cik-A", "cik_A", "self", "timeout", "code", "print", "None", "名前", "", "a b", "$ref", "__class__", "_x", "1", "server", "tool",
		"arguments", "head", "positional", "x.y", "lambda", "async", "ﬁ", "fi", "\u200bhidden", "ünï",
	}
	properties := map[string]any{}
	for _, n := range names {
		properties[n] = map[string]any{"type": "string"}
	}
	p := newPeer(t, "", tool("take", marshal(t, map[string]any{"type": "object", "properties": properties, "additionalProperties": false})),
		tool("need", `{"type":"object","properties":{"from":{"type":"string"},"":{"type":"string"}},"required":["from",""]}`))
	b := open(t, setting{servers: servers{"s": p.entry()}})
	got := value[struct {
		Count   int
		Python  map[string]string
		Raw     map[string]string
		Missing []string
		Twice   string
	}](b, `
import tools, inspect
from tools import s
parameters = list(inspect.signature(s.take).parameters)
python = s.take(**{n: n for n in parameters})
raw = tools.call("s", "take", {n: n for n in NAMES})
by_raw = s.take(**{n: n for n in NAMES})
assert by_raw == raw, by_raw
try:
    s.need()
except tools.InvalidArguments as e:
    missing = e.problems
try:
    s.take(**{"from": "a", "from_": "b"})
except TypeError as e:
    twice = str(e)
{"Count": len(parameters), "Python": python, "Raw": raw, "Missing": missing, "Twice": twice}
`, map[string]any{"NAMES": names})
	if got.Count != len(names) || len(got.Python) != len(names) || len(got.Raw) != len(names) {
		t.Errorf("%d parameters, %d passed by identifiers, %d by names, of %d", got.Count, len(got.Python), len(got.Raw), len(names))
	}
	for _, n := range names {
		if got.Raw[n] != n {
			t.Errorf("%q was passed as %q", n, got.Raw[n])
		}
	}
	for raw, id := range map[string]string{"from": "from_", "class": "class_", "self": "self", "timeout": "timeout", "code": "code", "print": "print", "None": "None_", "名前": "名前", "cik_A": "cik_A", "1": "_1"} {
		if got.Python[raw] != id {
			t.Errorf("%q is %q in Python, and not %q", raw, got.Python[raw], id)
		}
	}
	has(t, strings.Join(got.Missing, "\n"), "from_ is missing", "give")
	has(t, got.Twice, "twice")
}
