package snippet

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

var update = flag.Bool("update", false, "write what the tests compare with")

func total() Snippet {
	return Snippet{
		Name: "total", Description: "Adds numbers up <fast>.", Language: execution.Python, Gear: "restricted", TimeoutSeconds: 1.1,
		Parameters: []Parameter{
			{Name: "numbers", Type: Array},
			{Name: "start", Type: Number, Default: json.RawMessage("0")},
			{Name: "unit", Type: String, Default: json.RawMessage(`"€ & <x>"`)},
			{Name: "options", Type: Object, Default: json.RawMessage(`{"b":[1,null],"a":{}}`)},
		},
		Code: "sep = '''\n---\n'''\nprint(unit)\n\tsum(numbers, start)  \n\n",
	}
}

func TestTheFileIsAsDocumentedAndComesBackAsItWas(t *testing.T) {
	text, err := total().Format()
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/total.snippet"
	if *update {
		if err := os.WriteFile(golden, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(text) != string(want) {
		t.Errorf("%v, got\n%s", err, text)
	}
	back, err := Parse(text)
	if err != nil || back.Pin() != total().Pin() || back.Code != total().Code || back.Signature() != total().Signature() {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestEveryChangeChangesThePin(t *testing.T) {
	seen := map[execution.Digest]string{total().Pin(): "nothing"}
	for name, change := range map[string]func(*Snippet){
		"name":              func(s *Snippet) { s.Name = "totals" },
		"description":       func(s *Snippet) { s.Description += "!" },
		"language":          func(s *Snippet) { s.Language = execution.Bash },
		"gear":              func(s *Snippet) { s.Gear = "" },
		"timeout":           func(s *Snippet) { s.TimeoutSeconds = 1.2 },
		"code":              func(s *Snippet) { s.Code += "\n" },
		"parameter's name":  func(s *Snippet) { s.Parameters[0].Name = "values" },
		"parameter's type":  func(s *Snippet) { s.Parameters[0].Type = Object },
		"a default":         func(s *Snippet) { s.Parameters[1].Default = json.RawMessage("1") },
		"no default":        func(s *Snippet) { s.Parameters[1].Default = nil },
		"fewer parameters":  func(s *Snippet) { s.Parameters = s.Parameters[1:] },
		"parameter's order": func(s *Snippet) { s.Parameters[0], s.Parameters[1] = s.Parameters[1], s.Parameters[0] },
	} {
		s := total()
		change(&s)
		if other, ok := seen[s.Pin()]; ok {
			t.Errorf("the pins of %s and %s are one", name, other)
		}
		seen[s.Pin()] = name
	}
}

func TestAFileThatIsNotWhatWasSavedIsRefused(t *testing.T) {
	text, err := total().Format()
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	for name, c := range map[string]struct{ file, want string }{
		"code":          {strings.Replace(whole, "print(unit)", "print(UNIT)", 1), "changed after it was saved"},
		"end":           {whole + "\n", "changed after it was saved"},
		"cut":           {whole[:len(whole)-3], "changed after it was saved"},
		"default":       {strings.Replace(whole, `"default": 0`, `"default": 1`, 1), "changed after it was saved"},
		"lines":         {strings.ReplaceAll(whole, "\n", "\r\n"), "no line of three hyphens"},
		"no separator":  {strings.Replace(whole, "\n---\n", "\n--\n", 1), "header"},
		"unknown":       {strings.Replace(whole, `"format": 1`, `"format": 1, "frmat": 1`, 1), "frmat"},
		"case":          {strings.Replace(whole, `"gear"`, `"Gear"`, 1), "Gear"},
		"twice":         {strings.Replace(whole, `"format": 1`, `"format": 1, "format": 1`, 1), "duplicate"},
		"later format":  {strings.Replace(whole, `"format": 1`, `"format": 2`, 1), "the format 2 is not known here"},
		"null default":  {strings.Replace(whole, `"default": 0`, `"default": null`, 1), "must be a number, not null"},
		"other type":    {strings.Replace(whole, `"default": 0`, `"default": "0"`, 1), "must be a number, not a string"},
		"no type":       {strings.Replace(whole, `"type": "number"`, `"type": "float"`, 1), `"float" is no type`},
		"hidden":        {strings.Replace(whole, "Adds", "Adds\u202e", 1), "characters that do not show"},
		"two lines":     {strings.Replace(whole, "Adds", `Adds\n`, 1), "no part of one line"},
		"bad name":      {strings.Replace(whole, `"total"`, `"../total"`, 1), "no name of a snippet"},
		"bad gear":      {strings.Replace(whole, `"restricted"`, `"./mine.yaml"`, 1), "no name of a gear"},
		"tool":          {strings.Replace(whole, `"python"`, `"tool"`, 1), "none that is run"},
		"keyword":       {strings.Replace(whole, `"numbers"`, `"lambda"`, 1), "not a Python identifier"},
		"python's own":  {strings.Replace(whole, `"numbers"`, `"__name__"`, 1), "Python's own"},
		"control":       {strings.Replace(whole, "print", "pr\x1bint", 1), "control character"},
		"long timeout":  {strings.Replace(whole, "1.1", "3000", 1), "timeout_seconds"},
		"negative time": {strings.Replace(whole, "1.1", "-1", 1), "timeout_seconds"},
		"empty":         {"", "no line of three hyphens"},
		"huge":          {whole + strings.Repeat(" ", maxFile), "longer than"},
	} {
		if s, err := Parse([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestNamesAreSmallLettersDigitsAndUnderlines(t *testing.T) {
	for _, name := range []string{"a", "total_2", strings.Repeat("a", MaxName)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "A", "2a", "_a", "a-b", "a.b", "a/b", "ä", "a\n", strings.Repeat("a", MaxName+1)} {
		if CheckName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestParametersAreReadFromTheCommandLine(t *testing.T) {
	for text, want := range map[string]string{
		"n:integer":                  `n integer `,
		" n : integer = 10":          `n integer 10`,
		"s:string=":                  `s string ""`,
		"s:string=a=b \"c\"":         `s string "a=b \"c\""`,
		"l:array=[1, {\"a\": 2 }]":   `l array [1,{"a":2}]`,
		"b:boolean=true":             `b boolean true`,
		"n":                          "write NAME:TYPE",
		"n:int":                      `"int" is no type`,
		"n:integer=x":                "not one value of JSON",
		"n:integer=1.0":              "must be an integer, without point or exponent",
		"n:integer=1e3":              "must be an integer, without point or exponent",
		"n:number=1e999":             "out of the range",
		"b:boolean=1":                "must be a boolean",
		"o:object={\"a\":1,\"a\":2}": "not one value of JSON",
		"o:object=":                  "not one value of JSON",
	} {
		p, err := ParseParameter(text)
		got := p.Name + " " + string(p.Type) + " " + string(p.Default)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestArgumentsAreCheckedAndCompletedByDefaults(t *testing.T) {
	raw := func(text string) map[string]json.RawMessage {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	r, err := total().Request(raw(`{"numbers": [1, 10000000000000000000000001], "unit": "m"}`), "token:ci", execution.Client{Name: "c"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r.Variables)
	if err != nil || string(got) != `{"numbers":[1,10000000000000000000000001],"options":{"b":[1,null],"a":{}},"start":0,"unit":"m"}` {
		t.Errorf("%s, %v", got, err)
	}
	want := execution.Snippet{Name: "total", Pin: total().Pin()}
	if r.Snippet != want || r.Code != total().Code || r.Gear != "restricted" || r.Timeout.Seconds() != 1.1 || r.Principal != "token:ci" || r.Client.Name != "c" {
		t.Errorf("%+v", r)
	}
	for text, want := range map[string]string{
		`{}`:                            "numbers: required: an array",
		`{"numbers": 1}`:                "numbers: must be an array, not a number",
		`{"numbers": null}`:             "numbers: must be an array, not null",
		`{"numbers": [], "start": "1"}`: "start: must be a number, not a string",
		`{"numbers": [], "strat": 1}`:   "strat: unknown argument: accepted are numbers, start, unit, options",
	} {
		_, err := total().Request(raw(text), "a", execution.Client{})
		var rejected *execution.RejectedError
		if !errors.As(err, &rejected) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestValuesTellTheirType(t *testing.T) {
	for value, want := range map[string]Type{`"a"`: String, `1`: Integer, `1.5`: Number, `true`: Boolean, `[]`: Array, `{}`: Object, `null`: String} {
		if got := TypeOf(json.RawMessage(value)); got != want {
			t.Errorf("%s: %s", value, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, err := total().Format()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("{}\n---\n1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		// What is accepted is what its pin says, can be written, and comes back.
		again, err := s.Format()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(again)
		if err != nil || back.Pin() != s.Pin() {
			t.Fatalf("%v: %s", err, again)
		}
	})
}

// FuzzSnippet has every snippet that can be written come back as it was.
func FuzzSnippet(f *testing.F) {
	f.Add("total", "Adds.", "restricted", 1.5, "n", "number", `{"a": [1]}`, "sum(n)")
	f.Fuzz(func(t *testing.T, name, description, gear string, timeout float64, parameter, typed, value, code string) {
		p := Parameter{Name: parameter, Type: Type(typed)}
		if value != "" {
			p.Default = json.RawMessage(value)
		}
		s := Snippet{name, description, execution.Python, gear, timeout, []Parameter{p}, code}
		text, err := s.Format()
		if err != nil {
			return
		}
		back, err := Parse(text)
		if err != nil || back.Pin() != s.Pin() || back.Code != s.Code {
			t.Fatalf("%v: %q", err, text)
		}
	})
}
