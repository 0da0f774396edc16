package serverfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// entries are some servers, by name and command.
func entries(pairs ...string) []Entry {
	var out []Entry
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Entry{Spec: upstream.Spec{Name: pairs[i], Transport: upstream.Stdio, Command: []string{pairs[i+1]}}})
	}
	return out
}

func TestMergingKeepsWhatIsThereAndTwiceDoesNothing(t *testing.T) {
	old := "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // stays\n  },\n  \"other\": 1,\n}\n"
	path := "mcp_servers.json"
	text, m, err := Merge(path, []byte(old), entries("a", "x", "b/c~", "${T}", "broken", ""), false)
	if err != nil || !slices.Equal(m.Unchanged, []string{"a"}) || !slices.Equal(m.Added, []string{"b/c~", "broken"}) {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, kept := range []string{"// mine", "// stays", `"other": 1`, `"b/c~"`, `"${T}"`} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("%s is not in\n%s", kept, text)
		}
	}
	again, m, err := Merge(path, text, entries("a", "x", "b/c~", "${T}"), false)
	if err != nil || len(m.Unchanged) != 2 || string(again) != string(text) {
		t.Errorf("merged again: %+v, %v\n%s", m, err, again)
	}
}

func TestAnotherServerOfTheSameNameStaysUnlessItIsToBeReplaced(t *testing.T) {
	old := []byte(`{"servers": {"a": {"command": "mine"}}}`)
	text, m, err := Merge("x.json", old, entries("a", "theirs"), false)
	if err != nil || string(text) != string(old) || !slices.Equal(m.Kept, []string{"a"}) {
		t.Errorf("%+v, %v\n%s", m, err, text)
	}
	text, m, err = Merge("x.json", old, entries("a", "theirs"), true)
	if err != nil || !slices.Equal(m.Replaced, []string{"a"}) || !strings.Contains(string(text), "theirs") || strings.Contains(string(text), "mine") {
		t.Errorf("%+v, %v\n%s", m, err, text)
	}
}

func TestMergingIntoNothingWritesWhatExportDoes(t *testing.T) {
	some := entries("a", "x", "b", "y")
	want, err := Export(some)
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"", "\xef\xbb\xbf", "{}", "\n"} {
		if got, _, err := Merge("x.json", []byte(old), some, false); err != nil || string(got) != string(want) {
			t.Errorf("%q: %v\n%s", old, err, got)
		}
	}
}

func TestABrokenFileIsNotMergedInto(t *testing.T) {
	for _, old := range []string{"{", "[]", `{"servers": 1}`} {
		if text, _, err := Merge("x.json", []byte(old), entries("a", "x"), true); err == nil {
			t.Errorf("%s became %s", old, text)
		}
	}
}

func TestAFaultyServerIsNotMerged(t *testing.T) {
	bad := entries("a", "x")
	bad[0].Spec.Fault = "no"
	if text, m, err := Merge("x.json", nil, bad, true); err != nil || len(text) != 0 || len(m.Added) != 0 {
		t.Errorf("%+v, %v\n%s", m, err, text)
	}
}
