package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

func TestArgumentsAreCheckedAndSentByRawNames(t *testing.T) {
	const schema = `{"type":"object","properties":{"path":{"type":"string"},"from":{"type":"integer"},"max-size":{"type":"integer","minimum":1},"state":{"type":"string","enum":["open","closed"]},"limit":{"type":"integer","default":10}},"required":["path","limit"],"additionalProperties":false}`
	e := entry(t, one(tool.Definition{Name: "f", Input: json.RawMessage(schema)}), "s.f")
	for name, c := range map[string]struct {
		args string
		sent string
		told []string
	}{
		"raw names":             {`{"path":"x","from":1,"limit":2}`, `{"path":"x","from":1,"limit":2}`, nil},
		"names in Python":       {`{"path":"x","from_":1,"max_size":3}`, `{"path":"x","from":1,"max-size":3,"limit":10}`, nil},
		"a default is given":    {`{"path":"x"}`, `{"path":"x","limit":10}`, nil},
		"values keep each byte": {`{ "path" : "\u00e4\/" , "limit":1.0 }`, `{"path":"\u00e4\/","limit":1.0}`, nil},
		"big integers":          {`{"path":"x","from":12345678901234567890123}`, `{"path":"x","from":12345678901234567890123,"limit":10}`, nil},
		"missing":               {`{}`, ``, []string{"path is missing: give path: str."}},
		"no arguments":          {``, ``, []string{"path is missing: give path: str."}},
		"null":                  {`null`, ``, []string{"path is missing: give path: str."}},
		"a wrong type":          {`{"path":5}`, ``, []string{"path must be str, not the int 5."}},
		"by its Python name":    {`{"path":"x","from_":"y"}`, ``, []string{`from_ must be int, not the str "y".`}},
		"a slip":                {`{"path":"x","stat":"open"}`, ``, []string{"stat is not known; did you mean state? (parameters: path, limit, from_, max_size, state)."}},
		"an enumeration":        {`{"path":"x","state":"opened"}`, ``, []string{`state must be one of "open", "closed", not "opened".`}},
		"several":               {`{"max_size":0,"state":1}`, ``, []string{"max_size must be at least 1, not 0.", "path is missing: give path: str.", `state must be str, not the int 1.`}},
		"both names":            {`{"path":"x","from":1,"from_":2}`, ``, []string{"from is given twice, by its name in Python and by the server's: give one of them."}},
		"one name twice":        {`{"path":"x","path":"y"}`, ``, []string{`The arguments are no JSON object that can be sent: jsontext: duplicate object member name "path".`}},
		"a list":                {`["x"]`, ``, []string{"The arguments must be one JSON object of names and values."}},
		"no JSON":               {`{"path":`, ``, []string{"The arguments are no JSON object that can be sent: jsontext: unexpected EOF within \"/path\" after offset 8."}},
		"a lone surrogate":      {`{"path":"\ud800"}`, ``, nil},
		"a bomb of a number":    {`{"path":"x","from":1e999999999}`, ``, []string{"The arguments are no JSON object that can be sent: too large: a number of more than 400 digits."}},
		"too many":              {`{"path":[` + strings.TrimSuffix(strings.Repeat("1,", 600_000), ",") + `]}`, ``, []string{"The arguments are no JSON object that can be sent: too large: more than 524288 values."}},
		"too deep":              {`{"path":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, ``, []string{"The arguments are no JSON object that can be sent: too large: nested deeper than 128."}},
	} {
		t.Run(name, func(t *testing.T) {
			sent, err := e.Validate(json.RawMessage(c.args))
			if c.sent != "" {
				if err != nil || string(sent) != c.sent {
					t.Errorf("sent %s, %v; want %s", sent, err, c.sent)
				}
				return
			}
			invalid, ok := errors.AsType[*catalog.InvalidArgumentsError](err)
			if !ok {
				t.Fatalf("sent %s, %v", sent, err)
			}
			if c.told != nil && strings.Join(invalid.Problems, "|") != strings.Join(c.told, "|") {
				t.Errorf("told %q, want %q", invalid.Problems, c.told)
			}
			if want := `s.f(*, path: str, limit: int = 10, from_: int = ..., max_size: int = ..., state: Literal["open", "closed"] = ...)`; invalid.Signature != want {
				t.Errorf("signature %s", invalid.Signature)
			}
		})
	}
}

func TestAToolWithoutASchemaTakesAnyObject(t *testing.T) {
	for _, schema := range []string{``, `{}`, `true`, `{"type":"object"}`} {
		e := entry(t, one(tool.Definition{Name: "f", Input: json.RawMessage(schema)}), "s.f")
		for args, want := range map[string]string{``: `{}`, `null`: `{}`, `{"a":{"b":[1]}}`: `{"a":{"b":[1]}}`} {
			if sent, err := e.Validate(json.RawMessage(args)); err != nil || string(sent) != want {
				t.Errorf("%s with %s: %s, %v", schema, args, sent, err)
			}
		}
		if _, err := e.Validate(json.RawMessage(`[1]`)); err == nil {
			t.Errorf("%s takes a list", schema)
		}
	}
}

func TestAToolThatTakesNothingSaysSo(t *testing.T) {
	e := entry(t, one(tool.Definition{Name: "f", Input: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}), "s.f")
	_, err := e.Validate(json.RawMessage(`{"a":1}`))
	if err == nil || err.Error() != "s.f: a is not known; the tool takes no arguments. It is called as s.f()" {
		t.Error(err)
	}
}

func TestACheckThatWouldTakeForeverRefusesTheCall(t *testing.T) {
	schema := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 60 {
		n, next := string(rune('a'+i/26))+string(rune('a'+i%26)), string(rune('a'+(i+1)/26))+string(rune('a'+(i+1)%26))
		if i == 0 {
			n = "d0"
		}
		schema += `"` + n + `":{"anyOf":[{"$ref":"#/$defs/` + next + `"},{"$ref":"#/$defs/` + next + `"}]},`
	}
	schema += `"ci":{"required":["zzz"]}}}`
	e := entry(t, one(tool.Definition{Name: "f", Input: json.RawMessage(schema)}), "s.f")
	if faults := e.Faults(); len(faults) > 0 {
		t.Fatal(faults)
	}
	_, err := e.Validate(json.RawMessage(`{}`))
	if invalid, ok := errors.AsType[*catalog.InvalidArgumentsError](err); !ok || !strings.Contains(invalid.Problems[0], "nothing was sent") {
		t.Error(err)
	}
}

func TestWhatAnErrorShowsOfArgumentsHidesNothing(t *testing.T) {
	e := entry(t, one(tool.Definition{Name: "f", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`)}), "s.f")
	_, err := e.Validate(json.RawMessage(`{"a":"\u202e\u001b[2J` + strings.Repeat("x", 100_000) + `","b\u202e":1}`))
	if err == nil || hides(err.Error()) || len(err.Error()) > 1000 {
		t.Errorf("%v", err)
	}
}
