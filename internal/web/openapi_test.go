package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

var update = flag.Bool("update", false, "write the generated documents")

const descriptionPage = "../../docs/openapi.yaml"

// described is the document in the form in which tests look things up.
type described struct {
	Paths map[string]map[string]struct {
		Responses map[string]response `json:"responses"`
		Body      response            `json:"requestBody"`
	} `json:"paths"`
	Components struct {
		Schemas   map[string]json.RawMessage `json:"schemas"`
		Responses map[string]response        `json:"responses"`
	} `json:"components"`
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"content"`
}

// theDescription is read once: each answer of every test is held against it.
var theDescription = sync.OnceValues(func() (*described, error) {
	text, err := yaml.YAMLToJSON(description)
	if err != nil {
		return nil, err
	}
	// Parameters of a path stand beside its methods.
	var loose map[string]any
	if err := json.Unmarshal(text, &loose); err != nil {
		return nil, err
	}
	for _, methods := range loose["paths"].(map[string]any) {
		delete(methods.(map[string]any), "parameters")
	}
	if text, err = json.Marshal(loose); err != nil {
		return nil, err
	}
	d := &described{}
	return d, json.Unmarshal(text, d)
})

// schema makes a validator of a schema of the document.
func (d *described) schema(text json.RawMessage) (*jsonschema.Resolved, error) {
	whole, err := json.Marshal(map[string]any{"$defs": d.Components.Schemas, "allOf": []json.RawMessage{text}})
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(bytes.ReplaceAll(whole, []byte("#/components/schemas/"), []byte("#/$defs/")), &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

func (d *described) validate(schema json.RawMessage, text string) error {
	resolved, err := d.schema(schema)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	return resolved.Validate(v)
}

// path is the template of a path; empty if it is not described.
func (d *described) path(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if _, exact := d.Paths[path]; exact {
		return path
	}
	parts := strings.Split(path, "/")
	for template := range d.Paths {
		want := strings.Split(template, "/")
		if len(want) == len(parts) &&
			slices.EqualFunc(want, parts, func(w, p string) bool { return w == p || strings.HasPrefix(w, "{") && p != "" }) {
			return template
		}
	}
	return ""
}

// holdAgainst checks that an answer of the server is one that is described.
func holdAgainst(t testing.TB, method, path string, got answer) {
	t.Helper()
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	template := d.path(path)
	operation, known := d.Paths[template][strings.ToLower(method)]
	if !known {
		return
	}
	r, known := operation.Responses[fmt.Sprint(got.status)]
	if !known {
		t.Errorf("%s %s answers %d, which is not described: %s", method, template, got.status, got.body)
		return
	}
	if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
		r = d.Components.Responses[name]
	}
	kind, _, _ := mime.ParseMediaType(got.header.Get("Content-Type"))
	content, known := r.Content[kind]
	if !known {
		t.Errorf("%s %s: %d answers with %q, which is not described", method, template, got.status, kind)
		return
	}
	if kind == "application/json" {
		if err := d.validate(content.Schema, got.body); err != nil {
			t.Errorf("%s %s: %d: %v in %s", method, template, got.status, err, got.body)
		}
	}
}

// That the whole is valid OpenAPI is checked by tools/openapi.
func TestEachSchemaOfTheDescriptionIsOne(t *testing.T) {
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range d.Components.Schemas {
		if _, err := d.schema(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDescriptionStandsInTheDocumentsAndIsServed(t *testing.T) {
	if *update {
		if err := os.WriteFile(descriptionPage, description, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := os.ReadFile(descriptionPage); err != nil || !bytes.Equal(page, description) {
		t.Errorf("%s is behind internal/web/openapi.yaml: go test ./internal/web -update (%v)", descriptionPage, err)
	}
	s := startAsking(t, nil)
	for _, who := range []string{s.operator, "Bearer " + s.create("a", token.Rights{})} {
		got := s.ask("GET", "/api/v1/openapi.json", "", "Authorization", who)
		var d struct {
			OpenAPI string         `json:"openapi"`
			Paths   map[string]any `json:"paths"`
		}
		if err := json.Unmarshal([]byte(got.body), &d); err != nil || d.OpenAPI != "3.1.0" || len(d.Paths) != 8 {
			t.Errorf("%v %s", err, got.body)
		}
	}
	if got := s.ask("GET", "/api/v1/openapi.json", ""); got.status != http.StatusUnauthorized {
		t.Errorf("%d", got.status)
	}
}

// patterns collects what is routed.
type patterns []string

func (p *patterns) Handle(pattern string, _ http.Handler) { *p = append(*p, pattern) }

func TestEveryRouteOfTheAPIIsDescribedAndNoOther(t *testing.T) {
	p := patterns{"GET " + pathDescription}
	(&api{}).routes(&p)
	(&approvals{}).routes(&p)
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for path, methods := range d.Paths {
		for method := range methods {
			want = append(want, strings.ToUpper(method)+" "+strings.ReplaceAll(path, "{operation_id}", "{id}"))
		}
	}
	slices.Sort(want)
	slices.Sort(p)
	if !slices.Equal(want, p) {
		t.Errorf("described:\n%s\nrouted:\n%s", strings.Join(want, "\n"), strings.Join(p, "\n"))
	}
}

func TestEveryFieldOfEachTypeIsDescribedAndNoOther(t *testing.T) {
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{
		"OperationList": operationList{}, "Operation": operation{}, "QuestionList": questionList{}, "Question": question{}, "FullQuestion": fullQuestion{},
		"Permission": permission{}, "Program": program{}, "Given": given{}, "Input": input{}, "Decision": decision{}, "Event": event{},
		"Failure": failure{}, "Error": failure{}.Error, "Answer": execution.Result{}, "AnswerError": execution.Error{}, "Violation": execution.Violation{},
		"Truncated": execution.Truncated{}, "Artifact": execution.Artifact{}, "ToolCall": execution.ToolCall{},
	} {
		fields, required := map[string]bool{}, []string{}
		fieldsOf(reflect.TypeOf(v), fields, &required)
		properties, wanted := d.properties(t, name)
		for field := range fields {
			if !properties[field] {
				t.Errorf("%s: the field %s is not described", name, field)
			}
		}
		for property := range properties {
			if !fields[property] {
				t.Errorf("%s: %s is described and no field", name, property)
			}
		}
		slices.Sort(required)
		slices.Sort(wanted)
		if !slices.Equal(required, wanted) {
			t.Errorf("%s: always there are %v, and required %v", name, required, wanted)
		}
	}
}

// fieldsOf are the names of all fields in JSON, and of those that are always there.
func fieldsOf(s reflect.Type, all map[string]bool, always *[]string) {
	for i := range s.NumField() {
		f := s.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			fieldsOf(f.Type, all, always)
			continue
		}
		if name == "-" {
			continue
		}
		all[name] = true
		if !strings.Contains(options, "omit") {
			*always = append(*always, name)
		}
	}
}

// properties are those of a schema with those that it takes up.
func (d *described) properties(t *testing.T, name string) (all map[string]bool, required []string) {
	t.Helper()
	type schema struct {
		Ref        string         `json:"$ref"`
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required"`
		AllOf      []schema       `json:"allOf"`
	}
	all = map[string]bool{}
	var walk func(schema)
	walk = func(s schema) {
		if other, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
			more, wanted := d.properties(t, other)
			for property := range more {
				all[property] = true
			}
			required = append(required, wanted...)
		}
		for property := range s.Properties {
			all[property] = true
		}
		required = append(required, s.Required...)
		for _, part := range s.AllOf {
			walk(part)
		}
	}
	var s schema
	if err := json.Unmarshal(d.Components.Schemas[name], &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	walk(s)
	return all, required
}

// Enumerations of the document are those of the code.
func TestEveryValueOfEachEnumerationIsDescribed(t *testing.T) {
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	enum := func(name string, path ...string) []string {
		t.Helper()
		var v any
		if err := json.Unmarshal(d.Components.Schemas[name], &v); err != nil {
			t.Fatal(err)
		}
		for _, p := range append(path, "enum") {
			v = v.(map[string]any)[p]
		}
		var out []string
		for _, one := range v.([]any) {
			out = append(out, one.(string))
		}
		slices.Sort(out)
		return out
	}
	var causes, codes []string
	for cause, as := range refusals {
		causes, codes = append(causes, string(cause)), append(codes, as.code)
	}
	for code := range statuses {
		codes = append(codes, string(code))
	}
	codes = append(codes, codeForbidden, codeUnauthenticated, codeTooLarge, string(execution.CodeInternal))
	for name, row := range map[string]struct{ got, want []string }{
		"causes": {enum("Error", "properties", "cause"), causes},
		"codes":  {enum("Error", "properties", "code"), codes},
		"status": {enum("Status"), texts(execution.Statuses())},
		"state":  {enum("Operation", "properties", "state"), texts(execution.States())},
		"stands": {enum("Question", "properties", "state"), texts([]standing{standsOpen, standsApproved, standsDenied, standsExpired, standsWithdrawn})},
		"event":  {enum("Event", "properties", "type"), texts([]kind{eventOpen, eventAsked, eventDecided, eventExpired, eventWithdrawn})},
		"verb":   {enum("Decision", "properties", "decision"), texts([]verb{approve, deny})},
	} {
		slices.Sort(row.want)
		if want := slices.Compact(row.want); !slices.Equal(row.got, want) {
			t.Errorf("%s: described are %v, and there are %v", name, row.got, want)
		}
	}
}

func texts[S ~string](values []S) []string {
	var out []string
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}
