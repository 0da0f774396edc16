//go:build linux

package codemode

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// shape is an input schema, arguments that have to reach the server, and some that must not.
type shape struct {
	name, schema string
	pass         string   // JSON; empty for {"a":"x"}
	stop         []string // JSON, refused before anything is sent
}

// dialects are schemas that are right by one of the drafts or by what is common.
var dialects = []shape{
	{"flat", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, "", []string{`{}`, `{"a":5}`, `{"a":null}`}},
	{"closed", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, "", []string{`{"b":1}`}},
	{"list of types", `{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, []string{`{"a":1}`}},
	{"nullable of OpenAPI", `{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`, "", []string{`{"a":1}`}},
	{"enum of kinds", `{"type":"object","properties":{"a":{"enum":[1,"x",null,true,[1],{"b":2}]}}}`, `{"a":{"b":2}}`, []string{`{"a":"y"}`}},
	{"const", `{"type":"object","properties":{"a":{"const":"x"}}}`, "", []string{`{"a":"y"}`}},
	{"any of", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"a":5}`, []string{`{"a":[]}`}},
	{"one of at the top", `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}`, "", []string{`{}`, `{"a":1,"b":2}`}},
	{"all of", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}},{"required":["a"]}]}`, "", []string{`{}`, `{"a":1}`}},
	{"not", `{"type":"object","properties":{"a":{"not":{"type":"number"}}}}`, "", []string{`{"a":1}`}},
	{"if then else", `{"type":"object","properties":{"a":{},"b":{}},"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]}}`, `{"a":1,"b":2}`, []string{`{"a":1}`}},
	{"dependent", `{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":1,"b":2}`, []string{`{"a":1}`}},
	{"local reference", `{"type":"object","$defs":{"t":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/t"}}}`, "", []string{`{"a":1}`}},
	{"definitions of draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"t":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/t"}}}`, "", []string{`{"a":1}`}},
	{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"urn:x","type":"object","properties":{"a":{"type":"integer","minimum":1,"exclusiveMinimum":true}}}`, `{"a":2}`, []string{`{"a":1}`}},
	{"draft 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`, `{"a":["x",1]}`, []string{`{"a":[1]}`}},
	{"recursive", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}}}`, `{"a":{"next":{"next":{"v":1}}}}`, []string{`{"a":{"next":{"v":"x"}}}`}},
	{"to itself whole", `{"type":"object","properties":{"a":{"$ref":"#"},"v":{"type":"integer"}}}`, `{"a":{"a":{"v":1}}}`, []string{`{"a":{"v":"x"}}`}},
	{"pattern of JavaScript", `{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=.*\\d)[a-z\\d]+$"}}}`, `{"a":"x1"}`, nil},
	{"pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"^x+$"}}}`, "", []string{`{"a":"y"}`}},
	{"names of a pattern", `{"type":"object","patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false}`, `{"x-1":1}`, []string{`{"x-1":"s"}`, `{"y":1}`}},
	{"free map", `{"type":"object","additionalProperties":{"type":"integer"}}`, `{"anything":1}`, []string{`{"anything":"x"}`}},
	{"tuple", `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}}}`, `{"a":["x",1]}`, []string{`{"a":[1,"x"]}`, `{"a":["x",1,2]}`}},
	{"large integers", `{"type":"object","properties":{"a":{"type":"integer","minimum":9007199254740993}}}`, `{"a":9007199254740993}`, []string{`{"a":9007199254740992}`}},
	{"integer that is written as a float", `{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":5.0}`, []string{`{"a":5.5}`}},
	{"unique", `{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,"maxItems":3}}}`, `{"a":[1,2]}`, []string{`{"a":[1,1]}`, `{"a":[1,2,3,4]}`}},
	{"unknown format", `{"type":"object","properties":{"a":{"type":"string","format":"no-such-format"}}}`, "", []string{`{"a":1}`}},
	{"default of what is required", `{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"]}`, `{}`, []string{`{"a":1}`}},
}

// nonsense are schemas that say nothing or what is wrong. The tool is there all the same,
// and the server says what it does not take.
var nonsense = []shape{
	{"null", `null`, "", nil},
	{"true", `true`, "", nil},
	{"empty", `{}`, "", nil},
	{"a list", `[]`, "", nil},
	{"a text", `"string"`, "", nil},
	{"a number", `5`, "", nil},
	{"no type", `{"properties":{"a":{"type":"string"}}}`, "", nil},
	{"properties null", `{"type":"object","properties":null}`, "", nil},
	{"properties a list", `{"type":"object","properties":["a"]}`, "", nil},
	{"property null", `{"type":"object","properties":{"a":null}}`, "", nil},
	{"property a text", `{"type":"object","properties":{"a":"string"}}`, "", nil},
	{"required a text", `{"type":"object","properties":{"a":{}},"required":"a"}`, "", nil},
	{"required true", `{"type":"object","properties":{"a":{"type":"string","required":true}}}`, "", nil},
	{"required numbers", `{"type":"object","required":[1,null]}`, "", nil},
	{"required null", `{"type":"object","properties":{"a":{}},"required":null}`, "", nil},
	{"unknown type", `{"type":"object","properties":{"a":{"type":"str"}}}`, "", nil},
	{"type any", `{"type":"object","properties":{"a":{"type":"any"}}}`, "", nil},
	{"type of a type", `{"type":{"type":"object"}}`, "", nil},
	{"empty enum", `{"type":"object","properties":{"b":{"enum":[]}}}`, "", nil},
	{"enum a text", `{"type":"object","properties":{"a":{"enum":"x"}}}`, "", nil},
	{"bad pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"["}}}`, "", nil},
	{"pattern that explodes", `{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}}}`, `{"a":"aaaa"}`, []string{`{"a":"` + strings.Repeat("a", 5000) + `b"}`}},
	{"negative lengths", `{"type":"object","properties":{"a":{"type":"string","minLength":-5,"maxLength":"many"}}}`, "", nil},
	{"bounds beyond floats", `{"type":"object","properties":{"a":{"maximum":1e400}}}`, `{"a":1}`, nil},
	{"reference to nothing", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, "", nil},
	{"reference to itself", `{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, "", nil},
	{"two that refer to each other", `{"type":"object","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, "", nil},
	{"choice of which one refers to itself", `{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}},"properties":{"a":{"anyOf":[{"type":"integer"},{"$ref":"#/$defs/a"}]}}}`, "", nil},
	{"reference that is none", `{"type":"object","properties":{"a":{"$ref":5}}}`, "", nil},
	{"reference to a file", `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "", nil},
	{"reference with escapes", `{"type":"object","$defs":{"x/y~z":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/x~1y~0z"}}}`, "", []string{`{"a":1}`}},
	{"unknown draft", `{"$schema":"urn:no-such-draft","type":"object","properties":{"a":{"type":"string"}}}`, "", nil},
	{"members twice", `{"type":"object","properties":{"a":{"type":"string"}},"properties":{"a":{"type":"string"}}}`, "", nil},
	{"words that are none", `{"type":"object","x-anything":[{}],"properties":{"a":{"kind":"text","widget":{"x":1}}}}`, "", nil},
	{"names of JavaScript", `{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"},"a":{}}}`, `{"__proto__":"x","constructor":"y"}`, nil},
	{"descriptions that are none", `{"type":"object","description":{"a":1},"properties":{"a":{"description":5,"title":[],"default":{"x":[]},"examples":"x"}}}`, "", nil},
	{"deep", strings.Repeat(`{"type":"object","properties":{"a":`, 300) + `{}` + strings.Repeat(`}}`, 300), `{"a":{"a":{}}}`, nil},
	{"very deep", strings.Repeat(`{"type":"object","properties":{"a":`, 480) + `{}` + strings.Repeat(`}}`, 480), `{"a":{}}`, nil},
	{"wide", wide(3000), `{"p7":"x"}`, nil},
	{"many choices", `{"type":"object","properties":{"a":{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"string","maxLength":9},`, 2000), ",") + `]}}}`, "", nil},
	{"references that multiply", doubling(40), `{"a":"x"}`, nil},
}

// wide has many properties.
func wide(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	return `{"type":"object","properties":{` + strings.Join(all, ",") + `}}`
}

// doubling is a schema of few bytes that is 2ⁿ when every reference is written out.
func doubling(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	return fmt.Sprintf(`{"type":"object","$defs":{%s,"d%d":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/d0"}}}`, strings.Join(defs, ","), n)
}

// tryAll calls each tool of a table, in runs of few enough calls, and tells what differs.
const tryAll = `
import tools, json, ast
from tools import s
wrong = []
def attempt(name, arguments):
    try:
        return "passed", tools.call("s", name, arguments)
    except tools.InvalidArguments as e:
        return "refused", e.problems
    except tools.ToolError as e:
        return type(e).__name__, str(e)
for case in CASES:
    arguments = json.loads(case["pass"])
    how, got = attempt(case["name"], arguments)
    if how != "passed" or any(got.get(k) != v for k, v in arguments.items()):
        wrong.append([case["name"], case["pass"], how, got])
    for bad in case["stop"]:
        how, got = attempt(case["name"], json.loads(bad))
        if how != "refused" or not got or not all(got):
            wrong.append([case["name"], bad[:80], how, got])
    for detail in ("signature", "full", "schema"):
        if not tools.describe("s." + case["name"], detail=detail).strip():
            wrong.append([case["name"], detail, "says nothing"])
for name in dir(s):
    if name != "aio":
        help_text = getattr(s, name).__doc__
wrong
`

// 29 SCHEMA: each kind of schema that servers in the world have, right or wrong.
func TestSchemasOfEveryKindAreCheckedAsFarAsTheySaySomethingAndNeverHideATool(t *testing.T) {
	for name, table := range map[string][]shape{"right ones": dialects, "nonsense": nonsense} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tools []string
			var cases []map[string]any
			for _, s := range table {
				if s.pass == "" {
					s.pass = `{"a":"x"}`
				}
				tools = append(tools, tool(s.name, s.schema))
				cases = append(cases, map[string]any{"name": s.name, "pass": s.pass, "stop": append([]string{}, s.stop...)})
			}
			tools = append(tools, `{"name":"no schema"}`)
			cases = append(cases, map[string]any{"name": "no schema", "pass": `{"a":"x"}`, "stop": []string{}})
			b := open(t, setting{servers: servers{"s": newPeer(t, "", tools...).entry()}})
			const each = 25
			for len(cases) > 0 {
				some := cases[:min(each, len(cases))]
				cases = cases[len(some):]
				for _, w := range value[[]any](b, tryAll, map[string]any{"CASES": some}) {
					t.Errorf("%s", marshal(t, w))
				}
			}
			stub := b.resource("tools://s.pyi")
			if problem := value[string](b, "import ast\ntry:\n    ast.parse(TEXT)\n    r = ''\nexcept SyntaxError as e:\n    r = str(e)\nr", map[string]any{"TEXT": stub}); problem != "" {
				t.Errorf("the stub is no Python: %s\n%s", problem, stub)
			}
		})
	}
}

func TestSchemasElsewhereAreNeverFetched(t *testing.T) {
	var asked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	u := elsewhere.URL
	p := newPeer(
		t, "",
		tool("ref", `{"type":"object","properties":{"a":{"$ref":"`+u+`/a.json"}}}`),
		tool("id", `{"$id":"`+u+`/base/","type":"object","properties":{"a":{"$ref":"b.json"}}}`),
		tool("schema", `{"$schema":"`+u+`/meta","type":"object","properties":{"a":{"type":"string"}}}`),
		tool("dynamic", `{"type":"object","properties":{"a":{"$dynamicRef":"`+u+`/d#x"}}}`),
		tool("recursive", `{"type":"object","properties":{"a":{"$recursiveRef":"`+u+`/r#"}}}`),
		tool("protocol relative", `{"type":"object","properties":{"a":{"$ref":"//`+strings.TrimPrefix(u, "http://")+`/x"}}}`),
		tool("vocabulary", `{"$vocabulary":{"`+u+`/v":true},"type":"object"}`),
		tool("nested", `{"type":"object","allOf":[{"$ref":"`+u+`/n"}],"$defs":{"x":{"$id":"`+u+`/y","$ref":"z"}}}`),
		`{"name":"out","inputSchema":{"type":"object"},"outputSchema":{"type":"object","$ref":"`+u+`/o"}}`,
		`{"name":"icon","icons":[{"src":"`+u+`/icon.png"}],"inputSchema":{"type":"object"},"description":"See `+u+`/docs ![x](`+u+`/x.png)"}`,
	)
	b := open(t, setting{servers: servers{"s": p.entry()}})
	names := []string{"ref", "id", "schema", "dynamic", "recursive", "protocol relative", "vocabulary", "nested", "out", "icon"}
	got := value[[]string](b, `
import tools
r = []
for n in NAMES:
    assert tools.call("s", n, {"a": "x"}) == {"a": "x"}
    r.append(tools.describe("s." + n, detail="full"))
r`, map[string]any{"NAMES": names})
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were made to where schemas point", n)
	}
	has(t, got[0], "not checked")
	if n := len(p.calls()); n != len(names) {
		t.Errorf("%d calls", n)
	}
}
