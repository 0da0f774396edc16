package mcpserver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const published = "../../docs/answer.schema.json"

func TestPublishedSchemaIsThatOfTheAnswer(t *testing.T) {
	s, err := AnswerSchema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.MkdirAll(filepath.Dir(published), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(published, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(published)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not the schema of the answer: run go test ./internal/mcpserver -update (%v)", published, err)
	}
}

func answerSchema(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	s, err := AnswerSchema()
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEveryAnswerOfTheTranscriptsFitsTheSchema also proves that each status is in one of them.
func TestEveryAnswerOfTheTranscriptsFitsTheSchema(t *testing.T) {
	schema := answerSchema(t)
	seen := map[string]bool{}
	for _, file := range []string{"answers", "rejections", "stateless"} {
		archive, err := txtar.ParseFile("testdata/" + file + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(archive.Files[len(archive.Files)-1].Data))
		for d.More() {
			var m struct {
				Result struct{ StructuredContent map[string]any }
			}
			if err := d.Decode(&m); err != nil {
				t.Fatal(err)
			}
			a := m.Result.StructuredContent
			if status, ok := a["status"].(string); ok {
				seen[status] = true
				if err := schema.Validate(a); err != nil {
					t.Errorf("%s: %v: %v", file, a, err)
				}
			}
		}
	}
	for _, s := range execution.Statuses() {
		if !seen[string(s)] {
			t.Errorf("no transcript has the status %s", s)
		}
	}
}

func TestSchemaAcceptsFieldsOfLaterReleasesAndRefusesNonsense(t *testing.T) {
	schema := answerSchema(t)
	ok := `{"status":"ok","operation_id":"op_1","exit_code":0,"stdout":"","stderr":""`
	for answer, valid := range map[string]bool{
		ok + `}`: true,
		ok + `,"a_later_field":{"x":1},"error":{"code":"X","message":"","later":1}}`: true,
		ok + `,"value":null}`: true,
		ok + `,"truncated":{"stdout":{"total_bytes":5,"kept_bytes":3}}}`:            true,
		ok + `,"truncated":{"stdout":5}}`:                                           false,
		ok + `,"isolation":"strong"}`:                                               false,
		`{"status":"fine","operation_id":"","exit_code":0,"stdout":"","stderr":""}`: false,
		`{"status":"ok","operation_id":"","exit_code":0,"stdout":""}`:               false,
		ok[:len(ok)-1] + `,"exit_code":"0"}`:                                        false,
	} {
		var v any
		if json.Unmarshal([]byte(answer), &v) != nil {
			continue
		}
		if err := schema.Validate(v); (err == nil) != valid {
			t.Errorf("%s: %v", answer, err)
		}
	}
}
