package mcpserver

import (
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// FuzzStateOfARepeatedCall: a state is taken only for the call that it was made for, and
// names the operation that it was made with.
func FuzzStateOfARepeatedCall(f *testing.F) {
	f.Add("op_1", "print(1)", "op_1 x")
	f.Add("op_1 op_2", "", "")
	f.Fuzz(func(t *testing.T, id, code, state string) {
		r := execution.Request{Language: execution.Python, Code: code}
		if id != "" && !strings.Contains(id, " ") {
			if got, err := carried(stateOf(r, execution.ID(id)), r); err != nil || string(got) != id {
				t.Errorf("%q: %q, %v", id, got, err)
			}
			other := execution.Request{Language: execution.Bash, Code: code}
			if got, err := carried(stateOf(r, execution.ID(id)), other); err == nil {
				t.Errorf("taken for other code: %q", got)
			}
		}
		if got, err := carried(state, r); err == nil && state != "" && state != stateOf(r, got) {
			t.Errorf("%q is taken for %q", state, got)
		}
	})
}

// FuzzURIOfAnOperation: one URI names one operation, and nothing below it.
func FuzzURIOfAnOperation(f *testing.F) {
	f.Add("operation://op_1")
	f.Add("operation://op_1/../op_2?x#y")
	f.Fuzz(func(t *testing.T, uri string) {
		id, ok := operationOf(uri)
		if ok && (operationScheme+string(id) != uri || id == "" || strings.ContainsAny(string(id), "/?#")) {
			t.Errorf("%q names %q", uri, id)
		}
	})
}
