//go:build linux

package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// row is what these tests read of a line of gearbox operations list --json.
type row struct {
	Operation string `json:"operation_id"`
	Instance  string `json:"instance"`
	State     string `json:"state"`
	Status    string `json:"status"`

	line string
}

// pid is that of the process that ran it.
func (r row) pid() int {
	digits, _, _ := strings.Cut(r.Instance, "-")
	n, _ := strconv.Atoi(digits) // 0 is nobody's
	return n
}

// operations are all that the command line lists, by id.
func operations(t *testing.T, dir string) map[string]row {
	t.Helper()
	out, errOut, exit := command(t, "operations", "list", "--data-dir", dir, "--json", "--limit", "10000000")
	if exit != 0 {
		t.Fatalf("operations list: exit code %d: %s", exit, errOut)
	}
	all := map[string]row{}
	for line := range strings.Lines(out) {
		r := row{line: line}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if _, twice := all[r.Operation]; twice {
			t.Errorf("%s is listed twice", r.Operation)
		}
		all[r.Operation] = r
	}
	return all
}

// unfinished tells of the operations that have not ended.
func unfinished(all map[string]row) string {
	var left strings.Builder
	for _, id := range sorted(all) {
		if r := all[id]; r.State != "finished" || r.Status == "" {
			fmt.Fprintf(&left, "%s is %s in %s\n", id, r.State, r.Instance)
		}
	}
	return left.String()
}

// requireKept checks that the command line shows an operation with the very answer that
// a client was given.
func requireKept(t *testing.T, dir string, told answer) {
	t.Helper()
	if why := difference(t, dir, told); why != "" {
		t.Error(why)
	}
}

// difference may be called by many goroutines.
func difference(t *testing.T, dir string, told answer) string {
	t.Helper()
	out, errOut, exit := command(t, "operations", "show", "--data-dir", dir, "--json", told.Operation)
	if exit != 0 {
		return fmt.Sprintf("%s, of which a client was told, is not shown: exit code %d: %s", told.Operation, exit, errOut)
	}
	var shown struct {
		State  string          `json:"state"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil {
		return fmt.Sprintf("%v in %s", err, out)
	}
	if shown.State != "finished" || !same(shown.Result, told.raw) {
		return fmt.Sprintf("%s is %s with\n%s\nin the records, and a client was told\n%s", told.Operation, shown.State, shown.Result, told.raw)
	}
	return ""
}

// same compares two texts of JSON that were written by two programs.
func same(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// requireWhole checks the chain.
func requireWhole(t *testing.T, dir string) {
	t.Helper()
	if out, errOut, exit := command(t, "audit", "verify", "--data-dir", dir); exit != 0 || !strings.HasPrefix(out, "The chain is whole") {
		t.Fatalf("audit verify: exit code %d: %s%s", exit, out, errOut)
	}
}

// event is what these tests read of a line of gearbox audit export.
type event struct {
	Seq       int64  `json:"seq"`
	Type      string `json:"type"`
	Operation string `json:"operation_id"`
	Status    string `json:"status"`
	Instance  string `json:"instance"`
}

func events(t *testing.T, dir string) []event {
	t.Helper()
	out, errOut, exit := command(t, "audit", "export", "--data-dir", dir)
	if exit != 0 {
		t.Fatalf("audit export: exit code %d: %s", exit, errOut)
	}
	var all []event
	for line := range bytes.Lines([]byte(out)) {
		var l struct{ Event event }
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, l.Event)
	}
	return all
}

// requireHistory checks that every operation was requested once, started at most once
// and finished once, in this order, and ended in the events as it did in the records.
func requireHistory(t *testing.T, all map[string]row, recorded []event) {
	t.Helper()
	steps := map[string][]event{}
	for _, e := range recorded {
		if e.Operation != "" && e.Type != "decided" {
			steps[e.Operation] = append(steps[e.Operation], e)
		}
	}
	for id, r := range all {
		var types []string
		for _, e := range steps[id] {
			types = append(types, e.Type)
		}
		path := strings.Join(types, " ")
		short := r.Status == "interrupted" || r.Status == "cancelled" // it may have ended before it started
		if path != "requested started finished" && (!short || path != "requested finished") {
			t.Errorf("%s, which ended with %s, has the events %q", id, r.Status, path)
			continue
		}
		if last := steps[id][len(types)-1]; last.Status != r.Status {
			t.Errorf("%s ended with %s in the records and with %s in the events", id, r.Status, last.Status)
		}
	}
	for id := range steps {
		if _, ok := all[id]; !ok {
			t.Errorf("%s has events and no record", id)
		}
	}
}
