package store_test

import (
	"encoding/json"
	"fmt"
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
	if n, err := s.Acceptances(t.Context()); err != nil || n != 1 {
		t.Errorf("%d acceptances, %v", n, err)
	}
	must(s.KeepTools(t.Context(), true, second, first))
	if n, err := other.Acceptances(t.Context()); err != nil || n != 3 {
		t.Errorf("%d acceptances, %v", n, err)
	}
	if all, err := s.Tools(t.Context(), "others"); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// A server lists ever new names. What it lists, what a human accepted, and a thousand others
// stay, among which are those that were seen first.
func TestOfToolsThatAServerListsNoMoreABoundedNumberIsKept(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	keep := func(accept bool, names ...string) {
		t.Helper()
		var all []tool.Definition
		for _, name := range names {
			all = append(all, tool.Definition{Server: "random", Name: name})
		}
		if err := s.KeepTools(t.Context(), accept, all...); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() map[string]tool.Definition {
		t.Helper()
		all, err := s.Tools(t.Context(), "random")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if err := s.KeepTools(t.Context(), false, tool.Definition{Server: "another", Name: "stays"}); err != nil {
		t.Fatal(err)
	}
	keep(false, "zz first", "accepted")
	keep(true, "accepted")
	var names []string
	for listing := range 6 {
		names = nil
		for i := range 300 {
			names = append(names, fmt.Sprintf("%d of listing %d", i, listing))
		}
		keep(false, names...)
	}
	all := kept()
	if len(all) != 1_000+1+len(names) {
		t.Errorf("%d are kept", len(all))
	}
	for _, name := range append(names, "zz first", "accepted", "0 of listing 0") {
		if _, is := all[name]; !is {
			t.Errorf("%q is not kept", name)
		}
	}
	if _, is := all["0 of listing 4"]; is {
		t.Error("what was seen last and is listed no more is kept")
	}
	if other, err := s.Tools(t.Context(), "another"); err != nil || len(other) != 1 {
		t.Errorf("%v, %v", other, err)
	}
}
