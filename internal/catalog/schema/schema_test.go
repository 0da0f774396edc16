package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/catalog/schema"
)

func parsed(t *testing.T, text string) *schema.Node {
	t.Helper()
	n, err := schema.Parse([]byte(text), schema.MaxBytes)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// check compiles a schema and tells what is wrong with a value.
func check(t *testing.T, text, value string) (told []string, faults []string) {
	t.Helper()
	s, faults, err := schema.Compile(parsed(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	found, err := s.Validate(parsed(t, value).Any())
	if err != nil {
		t.Fatalf("%s with %s: %v", text, value, err)
	}
	for _, p := range found {
		told = append(told, strings.TrimSpace(schema.Place(p.Path)+" "+p.Text))
	}
	return told, faults
}

func TestSchemasOfEveryDraftMeanWhatTheirDraftSays(t *testing.T) {
	for name, c := range map[string]struct {
		schema, good, bad, told string
	}{
		"no draft named":              {`{"type":"object","required":["a"]}`, `{"a":1}`, `{}`, `a is missing`},
		"draft 4 exclusiveMinimum":    {`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`, `{"n":2}`, `{"n":1}`, `n must be more than 1, not 1`},
		"draft 4 without its name":    {`{"properties":{"n":{"maximum":5,"exclusiveMaximum":true}}}`, `{"n":4.9}`, `{"n":5}`, `n must be less than 5, not 5`},
		"draft 4 exclusive false":     {`{"properties":{"n":{"maximum":5,"exclusiveMaximum":false}}}`, `{"n":5}`, `{"n":6}`, `n must be at most 5, not 6`},
		"draft 4 id":                  {`{"id":"http://x.test/s","properties":{"n":{"$ref":"http://x.test/s#/definitions/n"}},"definitions":{"n":{"type":"integer"}}}`, `{"n":5}`, `{"n":"5"}`, `n must be int, not the str "5"`},
		"draft 6 exclusiveMinimum":    {`{"$schema":"http://json-schema.org/draft-06/schema#","properties":{"n":{"exclusiveMinimum":1}}}`, `{"n":2}`, `{"n":1}`, `n must be more than 1, not 1`},
		"draft 7 definitions":         {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/s"}},"definitions":{"s":{"type":"string"}}}`, `{"a":"x"}`, `{"a":1}`, `a must be str, not the int 1`},
		"draft 7 hides beside $ref":   {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/s","maxLength":1}},"definitions":{"s":{"type":"string"}}}`, `{"a":"xyz"}`, `{"a":1}`, `a must be str, not the int 1`},
		"2020-12 counts beside $ref":  {`{"properties":{"a":{"$ref":"#/$defs/s","maxLength":1}},"$defs":{"s":{"type":"string"}}}`, `{"a":"x"}`, `{"a":"xy"}`, `a must have at most 1 characters, not 2`},
		"draft 7 if":                  {`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`, `b is missing`},
		"draft 7 dependencies names":  {`{"dependencies":{"a":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`, `b is missing, and is needed together with "a"`},
		"draft 7 dependencies schema": {`{"dependencies":{"a":{"required":["c"]}}}`, `{"c":1,"a":1}`, `{"a":1}`, `c is missing`},
		"draft 7 tuple":               {`{"properties":{"p":{"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}}}`, `{"p":["a",1]}`, `{"p":["a","b"]}`, `p[1] must be int, not the str "b"`},
		"draft 7 tuple's rest":        {`{"properties":{"p":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"p":["a"]}`, `{"p":["a","b"]}`, `p[1] must not be given`},
		"2019-09 $recursiveRef":       {`{"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{"next":{"$recursiveRef":"#"},"v":{"type":"integer"}}}`, `{"next":{"next":{"v":1}}}`, `{"next":{"next":{"v":"1"}}}`, `next.next.v must be int, not the str "1"`},
		"2020-12 prefixItems":         {`{"properties":{"p":{"prefixItems":[{"type":"string"}],"items":false}}}`, `{"p":["a"]}`, `{"p":[1]}`, `p[0] must be str, not the int 1`},
		"2020-12 $dynamicRef":         {`{"$dynamicAnchor":"n","properties":{"c":{"items":{"$dynamicRef":"#n"}},"v":{"type":"integer"}}}`, `{"c":[{"v":1}]}`, `{"c":[{"v":"1"}]}`, `c[0].v must be int, not the str "1"`},
		"2020-12 $anchor":             {`{"properties":{"a":{"$ref":"#s"}},"$defs":{"x":{"$anchor":"s","type":"string"}}}`, `{"a":"x"}`, `{"a":1}`, `a must be str, not the int 1`},
		"a $ref to itself alone":      {`{"properties":{"a":{"$ref":"#/$defs/a"},"b":{"type":"string"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`, `{"a":1}`, `{"a":1,"b":5}`, `b must be str, not the int 5`},
		"2020-12 dependentRequired":   {`{"dependentRequired":{"a":["b"]}}`, `{}`, `{"a":1}`, `b is missing, and is needed together with "a"`},
		"2020-12 unevaluated":         {`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`, `b must not be given`},
		"a draft that does not exist": {`{"$schema":"https://example.test/my-schema","required":["a"]}`, `{"a":1}`, `{}`, `a is missing`},
		"OpenAPI nullable":            {`{"properties":{"a":{"type":"string","nullable":true}}}`, `{"a":null}`, `{"a":1}`, `a must be None or str, not the int 1`},
		"OpenAPI nullable enum":       {`{"properties":{"a":{"enum":["x"],"nullable":true}}}`, `{"a":null}`, `{"a":"y"}`, `a must be one of "x", null, not "y"`},
	} {
		t.Run(name, func(t *testing.T) {
			if told, faults := check(t, c.schema, c.good); len(told) > 0 || len(faults) > 0 {
				t.Errorf("%s: told %q, faults %q", c.good, told, faults)
			}
			if told, _ := check(t, c.schema, c.bad); len(told) != 1 || told[0] != c.told {
				t.Errorf("%s: told %q, want %q", c.bad, told, c.told)
			}
		})
	}
}

func TestEveryKeywordTellsWhatToMend(t *testing.T) {
	for name, c := range map[string]struct{ schema, value, told string }{
		"boolean true":           {`true`, `{"a":1}`, ``},
		"boolean false":          {`{"properties":{"a":false}}`, `{"a":1}`, `a must not be given`},
		"empty":                  {`{}`, `{"a":1}`, ``},
		"no type":                {`{"properties":{"a":{"minimum":3}}}`, `{"a":"text"}`, ``},
		"two types":              {`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":1}`, `a must be None or str, not the int 1`},
		"integer is 1.0":         {`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.0}`, ``},
		"integer is no 1.5":      {`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.5}`, `a must be int, not the float 1.5`},
		"bool is no integer":     {`{"properties":{"a":{"type":"integer"}}}`, `{"a":true}`, `a must be int, not the bool true`},
		"big integers exactly":   {`{"properties":{"a":{"maximum":9007199254740992}}}`, `{"a":9007199254740993}`, `a must be at most 9007199254740992, not 9007199254740993`},
		"enum":                   {`{"properties":{"a":{"enum":["open","closed"]}}}`, `{"a":"opened"}`, `a must be one of "open", "closed", not "opened"`},
		"enum of one":            {`{"properties":{"a":{"enum":[1]}}}`, `{"a":2}`, `a must be 1, not 2`},
		"const":                  {`{"properties":{"a":{"const":"x"}}}`, `{"a":"y"}`, `a must be "x", not "y"`},
		"const null":             {`{"properties":{"a":{"const":null}}}`, `{"a":0}`, `a must be null, not 0`},
		"anyOf by type":          {`{"properties":{"a":{"anyOf":[{"type":"string","minLength":3},{"type":"integer"}]}}}`, `{"a":"x"}`, `a must have at least 3 characters, not 1`},
		"anyOf of no type":       {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"a":[]}`, `a fits none of the alternatives: must be str, not the list []; or must be int, not the list []`},
		"oneOf twice":            {`{"properties":{"a":{"oneOf":[{"type":"number"},{"type":"integer"}]}}}`, `{"a":1}`, `a fits more than one of the alternatives, and must fit exactly one`},
		"oneOf by a constant":    {`{"properties":{"a":{"oneOf":[{"type":"object","properties":{"k":{"const":"x"},"v":{"type":"string"}},"required":["k","v"]},{"type":"null"}]}}}`, `{"a":{"k":"x"}}`, `a.v is missing`},
		"allOf":                  {`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1}`, `b is missing`},
		"not":                    {`{"properties":{"a":{"not":{"const":1}}}}`, `{"a":1}`, `a must not be what is excluded here: 1`},
		"additional":             {`{"properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, `b is not known`},
		"additional schema":      {`{"additionalProperties":{"type":"string"}}`, `{"b":1}`, `b must be str, not the int 1`},
		"propertyNames":          {`{"propertyNames":{"pattern":"^a"}}`, `{"b":1}`, `must not have the name "b"`},
		"patternProperties":      {`{"patternProperties":{"^n_":{"type":"integer"}},"additionalProperties":false}`, `{"n_x":"1"}`, `n_x must be int, not the str "1"`},
		"minItems":               {`{"properties":{"a":{"minItems":1}}}`, `{"a":[]}`, `a must have at least 1 items, not 0`},
		"uniqueItems":            {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,2,1]}`, `a must not hold the same twice, as at 0 and 2`},
		"pattern":                {`{"properties":{"a":{"pattern":"^[a-z]+$"}}}`, `{"a":"A"}`, `a must match the pattern "^[a-z]+$", which "A" does not`},
		"pattern of ECMAScript":  {`{"properties":{"a":{"pattern":"^\\u00e4+$"}}}`, `{"a":"ä"}`, ``},
		"format is the server's": {`{"properties":{"a":{"type":"string","format":"email"}}}`, `{"a":"x"}`, ``},
		"deep":                   {`{"properties":{"a":{"items":{"properties":{"b":{"type":"string"}}}}}}`, `{"a":[{},{"b":1}]}`, `a[1].b must be str, not the int 1`},
		"a name that hides":      {`{"additionalProperties":false}`, `{"a\u202eb":1}`, `a⟨U+202E⟩b is not known`},
		"a property called $ref": {`{"properties":{"$ref":{"type":"string"}}}`, `{"$ref":1}`, `$ref must be str, not the int 1`},
	} {
		t.Run(name, func(t *testing.T) {
			told, faults := check(t, c.schema, c.value)
			if strings.Join(told, " | ") != c.told || len(faults) > 0 {
				t.Errorf("told %q, faults %q, want %q", told, faults, c.told)
			}
		})
	}
}

func TestWhatCannotBeUsedIsAFaultAndPasses(t *testing.T) {
	for name, c := range map[string]struct{ schema, value, fault string }{
		"a remote reference":                  {`{"properties":{"a":{"$ref":"https://evil.test/s.json"}}}`, `{"a":1}`, `a: the reference "https://evil.test/s.json" leads to another document, which is not fetched, so that any value passes`},
		"a file":                              {`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `{"a":1}`, `a: the reference "file:///etc/passwd" leads to another document, which is not fetched, so that any value passes`},
		"a reference to no place":             {`{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"a":1}`, `a: the reference "#/$defs/none" leads nowhere, so that any value passes`},
		"remote below not":                    {`{"not":{"$ref":"https://evil.test/s.json"}}`, `{"a":1}`, ``},
		"remote behind a reference below not": {`{"not":{"$ref":"#/$defs/r"},"$defs":{"r":{"$ref":"https://evil.test/s.json"}}}`, `{"a":1}`, ``},
		"remote in oneOf":                     {`{"properties":{"a":{"oneOf":[{"$ref":"https://evil.test/s.json"},{"type":"integer"}]}}}`, `{"a":1}`, `a: the reference`},
		"remote in if":                        {`{"if":{"$ref":"https://evil.test/s.json"},"then":{"required":["zzz"]}}`, `{"a":1}`, ``},
		"remote and unevaluated":              {`{"allOf":[{"$ref":"https://evil.test/s.json"}],"unevaluatedProperties":false}`, `{"a":1}`, ``},
		"lookahead":                           {`{"properties":{"a":{"type":"string","pattern":"^(?=x).*$"}}}`, `{"a":"zzz"}`, `a: the pattern "^(?=x).*$" needs another engine and is not checked`},
		"backreference":                       {`{"properties":{"a":{"pattern":"(a)\\1"}}}`, `{"a":"zzz"}`, `a: the pattern "(a)\\1" needs another engine and is not checked`},
		"a missing pattern lets names pass":   {`{"patternProperties":{"(?=x)":{}},"additionalProperties":false}`, `{"x":1}`, `the pattern "(?=x)" needs another engine and is not checked`},
		"a type that does not exist":          {`{"properties":{"a":{"type":"strng"}}}`, `{"a":1}`, `a: the type "strng" does not exist, so that any value passes`},
		"a type that is no name":              {`{"properties":{"a":{"type":5}}}`, `{"a":1}`, `a: type is neither a name nor a list of names, so that any value passes`},
		"a schema that is a text":             {`{"properties":{"a":"string"}}`, `{"a":1}`, `a: is no schema, so that any value passes`},
		"properties that are a list":          {`{"properties":[]}`, `{"a":1}`, `properties is no object and does not count`},
		"required as in draft 3":              {`{"properties":{"a":{"type":"string","required":true}}}`, `{}`, `a: required is no list of names and does not count`},
		"an enum that is no list":             {`{"properties":{"a":{"enum":"x"}}}`, `{"a":1}`, `a: enum is no list and does not count`},
		"a bound that is a text":              {`{"properties":{"a":{"minimum":"5"}}}`, `{"a":1}`, `a: minimum is no number and does not count`},
		"a size below zero":                   {`{"properties":{"a":{"minLength":-1}}}`, `{"a":"x"}`, `a: minLength is no size and does not count`},
		"a size beyond all":                   {`{"properties":{"a":{"maxLength":99999999999999999999}}}`, `{"a":"x"}`, `a: maxLength is no size and does not count`},
		"multiples of nothing":                {`{"properties":{"a":{"multipleOf":0}}}`, `{"a":1}`, `a: multipleOf is not above 0 and does not count`},
		"an empty anyOf":                      {`{"anyOf":[]}`, `{"a":1}`, `anyOf is no list of schemas and does not count`},
	} {
		t.Run(name, func(t *testing.T) {
			told, faults := check(t, c.schema, c.value)
			if len(told) > 0 || len(faults) == 0 || !strings.HasPrefix(faults[0], c.fault) {
				t.Errorf("told %q, faults %q, want %q", told, faults, c.fault)
			}
		})
	}
}

func TestTheRestOfAFaultySchemaStillCounts(t *testing.T) {
	told, _ := check(t, `{"properties":{"a":{"$ref":"https://evil.test/s"},"b":{"type":"integer"}},"required":["b"]}`, `{"a":1,"b":"x"}`)
	if len(told) != 1 || told[0] != `b must be int, not the str "x"` {
		t.Error(told)
	}
}

func TestHostileSchemasEndWithinBounds(t *testing.T) {
	doubling := func(keyword string) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, `"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
		}
		return `{"$ref":"#/$defs/d0","$defs":{` + b.String() + `"d60":{"required":["zzz"]}}}`
	}
	deep := strings.Repeat(`{"a":`, 100) + `{}` + strings.Repeat(`}`, 100)
	for name, c := range map[string]struct{ schema, value string }{
		"allOf doubling":             {doubling("allOf"), `{}`},
		"anyOf doubling":             {doubling("anyOf"), `{}`},
		"oneOf doubling":             {doubling("oneOf"), `{}`},
		"doubling below not":         {strings.Replace(doubling("anyOf"), `{"$ref":"#/$defs/d0",`, `{"not":{"$ref":"#/$defs/d0"},`, 1), `{}`},
		"doubling over a deep value": {`{"$ref":"#/$defs/n","$defs":{"n":{"allOf":[{"properties":{"a":{"$ref":"#/$defs/n"}}},{"properties":{"a":{"$ref":"#/$defs/n"}}}]}}}`, deep},
		"a loop":                     {`{"$ref":"#"}`, `{}`},
		"a longer loop":              {`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{}`},
		"a huge enum":                {`{"properties":{"a":{"enum":[` + strings.TrimSuffix(strings.Repeat(`"value",`, 50000), ",") + `]}}}`, `{"a":"x"}`},
		"catastrophic backtracking":  {`{"properties":{"a":{"pattern":"^(a+)+$"}}}`, `{"a":"` + strings.Repeat("a", 100_000) + `!"}`},
		"a pattern that grows":       {`{"properties":{"a":{"pattern":"((a{100}){100}){100}"}}}`, `{"a":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s, faults, err := schema.Compile(parsed(t, c.schema))
			if err != nil {
				return // refused, with a reason
			}
			found, err := s.Validate(parsed(t, c.value).Any())
			if err != nil && !errors.Is(err, schema.ErrSteps) {
				t.Error(err)
			}
			for _, p := range found {
				if len(p.Text) > 2000 {
					t.Errorf("a sentence of %d bytes", len(p.Text))
				}
			}
			t.Log(len(found), faults, err)
		})
	}
}

func TestALargeHonestValueIsChecked(t *testing.T) {
	told, _ := check(t, `{"properties":{"rows":{"items":{"type":"array","items":{"type":"number"}}}},"required":["rows"]}`,
		`{"rows":[`+strings.TrimSuffix(strings.Repeat(`[1,2,3,4,5,6,7,8,9,10],`, 40_000), ",")+`]}`)
	if len(told) > 0 {
		t.Error(told)
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"bytes":    `"` + strings.Repeat("x", schema.MaxBytes) + `"`,
		"depth":    strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
		"exponent": `{"minimum":1e999999999}`,
		"digits":   `{"minimum":` + strings.Repeat("9", 10_000) + `}`,
	} {
		if _, err := schema.Parse([]byte(text), schema.MaxBytes); !errors.Is(err, schema.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := `{"properties":{`
	for i := range schema.MaxSubschemas {
		many += fmt.Sprintf(`"p%d":{"type":"string"},`, i)
	}
	if _, _, err := schema.Compile(parsed(t, strings.TrimSuffix(many, ",")+`}}`)); !errors.Is(err, schema.ErrTooLarge) {
		t.Errorf("many schemas: %v", err)
	}
}

func FuzzCompileAndValidate(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"type":"string"},{"$ref":"#"}]}}}`), []byte(`{"a":{"a":"x"}}`))
	f.Add([]byte(`{"not":{"$ref":"http://x"},"patternProperties":{"(?=":false},"additionalProperties":false}`), []byte(`{"b":[1,2,{"c":null}]}`))
	f.Add([]byte(`{"dependencies":{"a":["b"],"c":{"items":[true,false]}},"unevaluatedItems":false,"exclusiveMinimum":true,"minimum":1}`), []byte(`{"a":1.5e3}`))
	f.Fuzz(func(t *testing.T, text, value []byte) {
		root, err := schema.Parse(text, 1<<14)
		if err != nil {
			return
		}
		v, err := schema.Parse(value, 1<<14)
		if err != nil {
			return
		}
		s, _, err := schema.Compile(root)
		if err != nil {
			return
		}
		if _, err := s.Validate(v.Any()); err != nil && !errors.Is(err, schema.ErrSteps) {
			t.Error(err)
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	text := `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"},"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}},"state":{"enum":["open","closed"]}},"required":["owner","repo","title"],"additionalProperties":false}`
	root, err := schema.Parse([]byte(text), schema.MaxBytes)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := schema.Compile(root); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	root, _ := schema.Parse([]byte(`{"type":"object","properties":{"owner":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}},"required":["owner"],"additionalProperties":false}`), schema.MaxBytes)
	s, _, err := schema.Compile(root)
	if err != nil {
		b.Fatal(err)
	}
	v := map[string]any{"owner": "x", "labels": []any{"a", "b"}}
	b.ReportAllocs()
	for b.Loop() {
		if found, err := s.Validate(v); err != nil || len(found) > 0 {
			b.Fatal(found, err)
		}
	}
}
