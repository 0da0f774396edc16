package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestValuesPrintAsPythonWouldPrintThem(t *testing.T) {
	for text, want := range map[string]string{
		`null`:                               `None`,
		`true`:                               `True`,
		`21`:                                 `21`,
		`-0.0`:                               `-0.0`,
		`1e+16`:                              `1e+16`,
		`9007199254740993`:                   `9007199254740993`,
		`"abc"`:                              `'abc'`,
		`""`:                                 `''`,
		`"it's"`:                             `"it's"`,
		`"\"it's\""`:                         `'"it\'s"'`,
		`"a\\b\n\r\t"`:                       `'a\\b\n\r\t'`,
		`"\u0000\u001b\u007f\u00a0"`:         `'\x00\x1b\x7f\xa0'`,
		`"\u2028\ufeff"`:                     `'\u2028\ufeff'`,
		`"\udbff\udfff"`:                     `'\U0010ffff'`,
		`"né 日本 😀"`:                          `'né 日本 😀'`,
		`[]`:                                 `[]`,
		`{}`:                                 `{}`,
		`[1, [2, []], "x"]`:                  `[1, [2, []], 'x']`,
		`{"b": 1, "a": {"c": [true, null]}}`: `{'b': 1, 'a': {'c': [True, None]}}`,
		`[{}, {"k": {}}, []]`:                `[{}, {'k': {}}, []]`,
	} {
		got, err := repr(json.RawMessage(text))
		if err != nil || got != want {
			t.Errorf("%s: %s, %v: want %s", text, got, err, want)
		}
	}
}

func TestOtherValuesArriveAsTheirRepr(t *testing.T) {
	for want, r := range map[string]execution.Result{
		"":          {},
		"'x'":       {Value: json.RawMessage(`"x"`), ValueType: "str"},
		"(1, 2)":    {Value: json.RawMessage(`"(1, 2)"`), ValueType: "tuple"},
		"b'\\x00'":  {Value: json.RawMessage(`"b'\\x00'"`), ValueType: "bytes"},
		"['(1,)']":  {Value: json.RawMessage(`["(1,)"]`), ValueType: "list"},
		"<C at 7f>": {Value: json.RawMessage(`"<C at 7f>"`), ValueType: "C"},
	} {
		if got, err := valueText(r); err != nil || got != want {
			t.Errorf("got %q, %v: want %q", got, err, want)
		}
	}
}

func TestValuesNestedWithoutEndDoNotExhaustTheStack(t *testing.T) {
	const depth = 1 << 20
	text := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	if got, err := repr(json.RawMessage(text)); err != nil || got != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func FuzzRepr(f *testing.F) {
	for _, s := range []string{`[1, {"a": "b'c"}]`, `"\ud800"`, `[`, `1 2`, `{"a"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := repr(json.RawMessage(text))
		if json.Valid([]byte(text)) && (err != nil || got == "") {
			t.Errorf("valid JSON %q: %q, %v", text, got, err)
		}
		for _, r := range got {
			if r < ' ' || r == 0x7f {
				t.Errorf("%q prints the control character %q", text, r)
			}
		}
	})
}
