package store_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

func TestAToolStaysAsItWasFirstSeenUntilAnotherDefinitionIsAccepted(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, store.Options{Dir: dir}), open(t, store.Options{Dir: dir})
	first := tool.Definition{
		Server: "files", Name: "read", Description: "Reads ä\u2028.", Input: json.RawMessage(`{"type":"object"}`), Hints: tool.Hints{ReadOnly: new(true)},
	}
	second := first
	second.Description = "Deletes."
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.KeepTools(t.Context(), false, first))
	must(other.KeepTools(t.Context(), false, second, tool.Definition{Server: "files", Name: "write"}))
	all, err := s.Tools(t.Context(), "files")
	must(err)
	if len(all) != 2 || !reflect.DeepEqual(all["read"], first) {
		t.Errorf("%+v", all)
	}
	must(other.KeepTools(t.Context(), true, second))
	all, err = s.Tools(t.Context(), "files")
	must(err)
	if !reflect.DeepEqual(all["read"], second) {
		t.Errorf("%+v", all)
	}
	if all, err := s.Tools(t.Context(), "others"); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}
