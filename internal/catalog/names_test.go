package catalog_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// functions are the names in Python of tools with these raw names.
func functions(raw ...string) map[string]string {
	s := tool.Server{Name: "s"}
	for _, name := range raw {
		s.Tools = append(s.Tools, tool.Definition{Name: name})
	}
	names := map[string]string{}
	for _, e := range catalog.New([]tool.Server{s}, catalog.Options{}).Entries() {
		names[e.Definition.Name] = e.Python
	}
	return names
}

func TestEveryToolHasAnIdentifier(t *testing.T) {
	long := strings.Repeat("very_long_", 20)
	for name, c := range map[string]map[string]string{
		"dashes":               {"send-email": "send_email"},
		"dots and slashes":     {"a.b/c": "a_b_c", "admin.tools.list": "admin_tools_list"},
		"spaces":               {"get file": "get_file"},
		"leading digit":        {"1st": "_1st"},
		"keywords":             {"class": "class_", "import": "import_", "None": "None_", "await": "await_", "__debug__": "debug"},
		"soft keywords":        {"match": "match", "type": "type", "case": "case", "_": "_"},
		"builtins":             {"print": "print", "exec": "exec", "open": "open", "list": "list"},
		"case is kept":         {"readFile": "readFile", "ReadFile": "ReadFile", "readfile": "readfile"},
		"two collapse":         {"a-b": "a_b", "a.b": "a_b_2", "a/b": "a_b_3"},
		"one that is one":      {"a_b": "a_b", "a-b": "a_b_2"},
		"the number is taken":  {"a_b": "a_b", "a-b": "a_b_3", "a_b_2": "a_b_2"},
		"keyword and its like": {"class": "class_2", "class_": "class_"},
		"ours":                 {"aio": "aio_", "call": "call", "search": "search"},
		"private":              {"_client": "client", "__getattr__": "getattr", "__init__": "init", "__1": "_1", "_import": "import_"},
		"nothing":              {"": "_", "-": "_2", "--": "_3"},
		"only digits":          {"42": "_42"},
		"other scripts":        {"查询": "查询", "größe": "größe", "naïve-search": "naïve_search"},
		"compatibility forms":  {"ｎａｍｅ": "name", "ﬁnd": "find", "x²": "x2"},
		"compatibility meets":  {"find": "find", "ﬁnd": "find_2"},
		"hidden characters":    {"a\u200bb": "a_b", "a\u202eb": "a_b_2", "a\u3164b": "a_b_3"},
		"combining":            {"e\u0301t": "ét", "a\u0332": "a_"},
		"no UTF-8":             {"a\xffb": "a_b"},
		"control characters":   {"a\x00b": "a_b", "a\nb": "a_b_2"},
		"64 and more":          {strings.Repeat("x", 64): strings.Repeat("x", 64)},
		"beyond 128":           {long: long[:128]},
	} {
		t.Run(name, func(t *testing.T) {
			if got := functions(slices.Collect(maps.Keys(c))...); !maps.Equal(got, c) {
				t.Errorf("got %q, want %q", got, c)
			}
		})
	}
}

func TestNamesDoNotDependOnTheOrderOfTools(t *testing.T) {
	a := functions("x-y", "x.y", "x_y", "x y", "class")
	b := functions("class", "x y", "x_y", "x.y", "x-y")
	if !maps.Equal(a, b) {
		t.Errorf("%q and %q", a, b)
	}
}

func TestServersHaveModulesOfTheirOwn(t *testing.T) {
	for name, c := range map[string]struct {
		servers []tool.Server
		want    string
	}{
		"as they are":         {[]tool.Server{{Name: "github"}, {Name: "memory"}}, "github memory"},
		"alias":               {[]tool.Server{{Name: "my-github", Alias: "gh"}}, "gh"},
		"keyword":             {[]tool.Server{{Name: "import"}, {Name: "x", Alias: "class"}}, "import_ class_"},
		"ours":                {[]tool.Server{{Name: "search"}, {Name: "aio"}, {Name: "ToolError"}, {Name: "call"}}, "ToolError_ aio_ call_ search_"},
		"private":             {[]tool.Server{{Name: "_bridge"}, {Name: "__path__"}}, "path bridge"},
		"the same alias":      {[]tool.Server{{Name: "a", Alias: "x"}, {Name: "b", Alias: "x"}}, "x x_2"},
		"alias and name":      {[]tool.Server{{Name: "a", Alias: "b"}, {Name: "b"}}, "b b_2"},
		"alias and its like":  {[]tool.Server{{Name: "a", Alias: "x"}, {Name: "b", Alias: "x"}, {Name: "x_2"}}, "x x_3 x_2"},
		"two that collapse":   {[]tool.Server{{Name: "a-b"}, {Name: "a.b"}, {Name: "a_b"}}, "a_b_2 a_b_3 a_b"},
		"digit":               {[]tool.Server{{Name: "2captcha"}}, "_2captcha"},
		"empty":               {[]tool.Server{{Name: ""}}, "_"},
		"a path of a package": {[]tool.Server{{Name: "@scope/server-x"}}, "scope_server_x"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range catalog.New(c.servers, catalog.Options{}).Servers() {
				got = append(got, s.Module)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParametersGoByBothNames(t *testing.T) {
	properties := []string{"from", "class", "cik-A", "self", "timeout", "code", "print", "None", "größe", "ｎａｍｅ", "", "a.b", "a_b", "x y", "1st", "_x", "__y__", strings.Repeat("p", 70)}
	want := map[string]string{
		"from": "from_", "class": "class_", "cik-A": "cik_A", "self": "self", "timeout": "timeout", "code": "code", "print": "print", "None": "None_",
		"größe": "größe", "ｎａｍｅ": "name", "": "_", "a.b": "a_b_2", "a_b": "a_b", "x y": "x_y", "1st": "_1st", "_x": "_x", "__y__": "__y__",
		strings.Repeat("p", 70): strings.Repeat("p", 70),
	}
	schema := map[string]any{}
	for _, p := range properties {
		schema[p] = map[string]any{"type": "integer"}
	}
	input, err := json.Marshal(map[string]any{"type": "object", "properties": schema, "required": properties, "additionalProperties": false})
	if err != nil {
		t.Fatal(err)
	}
	c := one(tool.Definition{Name: "f", Input: input})
	e := entry(t, c, "s.f")
	got := map[string]string{}
	python, raw := map[string]int{}, map[string]int{}
	for i, p := range e.Parameters {
		got[p.Raw] = p.Python
		python[p.Python], raw[p.Raw] = i, i
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, args := range []map[string]int{python, raw} {
		text, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := e.Validate(text)
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]int
		if err := json.Unmarshal(sent, &values); err != nil || !maps.Equal(values, raw) {
			t.Errorf("sent %s, %v", sent, err)
		}
	}
	stub, err := c.Stub("s")
	if err != nil {
		t.Fatal(err)
	}
	read := newPython(t).read(t, stub, slices.Collect(maps.Values(got)))
	if read.Error != "" || len(read.Bad) > 0 || len(read.Functions) != 1 || len(read.Functions[0].Required) != len(properties) || read.Functions[0].Positional != 0 {
		t.Errorf("Python reads %+v of\n%s", read, stub)
	}
	if full := catalog.Render([]catalog.Entry{e}, catalog.DetailFull); !strings.Contains(full, `cik_A: The server calls it "cik-A".`) {
		t.Errorf("describe does not tell the other name:\n%s", full)
	}
}

// Whatever may stand in a name that is kept stands in Python's identifiers, and reads back
// as it is written.
func TestPythonTakesEveryCharacterThatIsKept(t *testing.T) {
	var raw []string
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.In(r, unicode.Han, unicode.Hangul, unicode.Tangut) && r%64 != 0 {
			continue // too many, and all alike
		}
		if r > unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r <= unicode.MaxASCII {
			raw = append(raw, "a"+string(r), string(r)+"a")
		}
	}
	names := functions(raw...)
	read := newPython(t).read(t, "", slices.Collect(maps.Values(names)))
	if len(read.Bad) > 0 {
		t.Errorf("%d names are no identifiers: %q", len(read.Bad), read.Bad[:min(len(read.Bad), 20)])
	}
	seen := map[string]string{}
	kept := 0
	for r, name := range names {
		if other, again := seen[name]; again {
			t.Fatalf("%q and %q are both %s", r, other, name)
		}
		seen[name] = r
		if r == name {
			kept++
		}
	}
	if kept < 20_000 {
		t.Errorf("only %d names keep themselves", kept)
	}
}

func TestManyNamesThatCollapseStayCheap(t *testing.T) {
	var raw []string
	for i := range 20_000 {
		raw = append(raw, strings.Repeat("-", i%50)+fmt.Sprint(i/50)+strings.Repeat(".", i%50))
	}
	if names := functions(raw...); len(names) != len(unique(raw)) {
		t.Errorf("%d names of %d", len(names), len(raw))
	}
}

func unique(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	return slices.Compact(all)
}
