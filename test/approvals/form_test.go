//go:build linux

package approvals

import "testing"

// TestAYesCountsWhateverTheFormOfTheCall: clients write JSON with and without white space and
// escapes, and records write it in their own way; what was approved is run, and not asked
// about again.
func TestAYesCountsWhateverTheFormOfTheCall(t *testing.T) {
	dir := dataDir(t)
	s, d := serve(t, dir, options{}), openDesk(t, dir)
	err := s.client.(*pipes).raw([]byte(`{"jsonrpc": "2.0", "id": "spaced", "method": "tools/call", "params": {"name": "execute", "arguments": {` +
		`"code": "import subprocess\nsubprocess.run(['mount', '--version'], capture_output=True)\nprint(rows)\n", ` +
		`"stdin": "a\u0000\r", "files": [ {"path": "f", "text": "\u2028"} ], "variables": {"rows": [ {"b": 1.0, "a": "<&\u003e \u00fcü"} ]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var id string
	eventually(t, "a question", func() string {
		open, err := d.Open(t.Context())
		if err != nil || len(open) == 0 {
			return "nothing is asked"
		}
		id = string(open[0].ID)
		return ""
	})
	d.approve(id)
	if a := s.outcome(id); a.Status != "ok" || a.Stdout != "[{'b': 1.0, 'a': '<&> üü'}]\n" {
		t.Errorf("%s", a.raw)
	}
	if q := d.question(id); q.Again != "" {
		t.Errorf("it was asked about again: %s", q.Again)
	}
}
