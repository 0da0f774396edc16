//go:build linux

package approvals

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// held is what a server holds of the machine.
type held struct {
	memory                          int // resident, in KiB
	descriptors, threads, processes int
}

func holdings(t testing.TB, pid int) held {
	t.Helper()
	h := held{}
	for line := range strings.SplitSeq(read(t, fmt.Sprintf("/proc/%d/status", pid)), "\n") {
		for name, into := range map[string]*int{"VmRSS:": &h.memory, "Threads:": &h.threads} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				n, err := strconv.Atoi(strings.Fields(rest)[0])
				if err != nil {
					t.Fatal(err)
				}
				*into = n
			}
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	h.descriptors = len(fds)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name())); err == nil { // a thread may end
			h.processes += len(strings.Fields(string(text)))
		}
	}
	return h
}

// waits puts a question of another principal into the records as the engine does.
func waits(t testing.TB, d *desk, code string) {
	t.Helper()
	now := time.Now()
	r := execution.Record{
		ID: execution.NewID(), Instance: "1-DEAD", Gear: "user_confirmed", Created: now,
		Request: execution.Request{Principal: "token:many", Language: execution.Python, Code: code},
	}
	q := execution.Approval{
		Hash: execution.DigestOf([]byte(r.ID)), Summary: "A question.", Created: now, Expires: now.Add(time.Hour),
		Asked: []execution.Asked{{Kind: "run", Target: "mount", Line: 2, Source: code}},
	}
	e := audit.Event{Time: now, Type: audit.Approval, Operation: r.ID, Principal: r.Request.Principal, Decision: "ask"}
	if err := d.records.Commit(t.Context(), r.ID, "", execution.StateSubmitted, execution.Change{Create: &r}, e); err != nil {
		t.Fatal(err)
	}
	if err := d.records.Commit(t.Context(), r.ID, execution.StateSubmitted, execution.StatePending, execution.Change{Question: &q}, e); err != nil {
		t.Fatal(err)
	}
}

// What waits for a human belongs to nobody: a server that asked about many holds no more
// than one that asked about a few, nor does one that finds them.
func TestManyQuestionsCostAServerNothing(t *testing.T) {
	asked, found := 60, 1000
	if long() {
		asked, found = 1000, 10_000
	}
	dir := dataDir(t)
	s, d := serve(t, dir, options{flags: []string{"--pool-size", "1", "--approvals-max-pending", "2000"}}), openDesk(t, dir)
	for range 20 {
		s.ask(call{Code: asking})
	}
	before := settled(t, s)
	for range asked {
		s.ask(call{Code: asking})
	}
	for range found {
		waits(t, d, asking)
	}
	last := s.ask(call{Code: asking})
	after := settled(t, s)
	t.Logf("with 20 questions %+v, with %d and %d of others %+v", before, asked, found, after)
	if after.descriptors > before.descriptors+4 || after.processes > before.processes+2 || after.threads > before.threads+4 || after.memory > before.memory+24<<10 {
		t.Errorf("with 20 questions it held %+v, with %d and %d of others %+v", before, asked, found, after)
	}
	if open, err := d.Open(t.Context()); err != nil || len(open) != 20+asked+found+1 {
		t.Errorf("%d questions are open, %v", len(open), err)
	}
	d.approve(last.Operation) // and the last of them is found
	ran(t, s.outcome(last.Operation))
	verify(t, dir)
}

// settled is what a server holds once the children that it was making or ending are done.
func settled(t testing.TB, s *server) held {
	t.Helper()
	var h held
	same := 0
	eventually(t, "it comes to rest", func() string {
		was := h
		h = holdings(t, s.cmd.Process.Pid)
		same++
		if was.descriptors != h.descriptors || was.processes != h.processes {
			same = 0
		}
		if same < 10 {
			return fmt.Sprintf("%+v, %+v", was, h)
		}
		return ""
	})
	return h
}

// BenchmarkARunBesideManyQuestions is how long others wait for theirs.
func BenchmarkARunBesideManyQuestions(b *testing.B) {
	for _, n := range []int{0, 1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			dir := dataDir(b)
			s, d := serve(b, dir, options{}), openDesk(b, dir)
			for range n {
				waits(b, d, asking)
			}
			s.execute(call{Code: "1"})
			for b.Loop() {
				s.execute(call{Code: "1"})
			}
		})
	}
}
