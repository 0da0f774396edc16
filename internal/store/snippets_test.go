package store_test

import (
	"maps"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

func TestAPinIsKeptTogetherWithItsEvent(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, store.Options{Dir: dir}), open(t, store.Options{Dir: dir})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	event := func(reason string) audit.Event { return audit.Event{Type: audit.Config, Reason: reason} }
	first, second := execution.DigestOf([]byte("1")), execution.DigestOf([]byte("2"))
	must(s.KeepSnippet(t.Context(), "a", first, event("first")))
	must(s.KeepSnippet(t.Context(), "b", first, event("another")))
	must(other.KeepSnippet(t.Context(), "a", second, event("second")))
	must(other.DropSnippet(t.Context(), "b", event("dropped")))
	got, err := s.SnippetPins(t.Context())
	must(err)
	if !maps.Equal(got, map[string]execution.Digest{"a": second}) {
		t.Errorf("%v", got)
	}
	var reasons string
	for e, err := range s.Events(t.Context(), 0) {
		must(err)
		event, err := e.Event()
		must(err)
		reasons += event.Reason + " "
	}
	if reasons != "first another second dropped " {
		t.Errorf("%s", reasons)
	}
}
