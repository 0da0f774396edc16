//go:build linux

package approvals

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

// desk takes decisions on a data directory, as the operator's commands do: by the records
// alone, without a server.
type desk struct {
	*approval.Desk

	t       testing.TB
	records *store.SQLite
}

func openDesk(t testing.TB, dir string) *desk {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: dir, MustExist: true, Instance: "desk", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &desk{approval.NewDesk(s, credential.Open(dir, credential.None, time.Now), time.Now), t, s}
}

// question is what is asked about an operation.
func (d *desk) question(id string) *execution.Approval {
	d.t.Helper()
	r, err := d.Find(d.t.Context(), execution.ID(id))
	if err != nil {
		d.t.Fatal(err)
	}
	return r.Approval
}

func (d *desk) state(id string) execution.State {
	d.t.Helper()
	r, err := d.records.Find(d.t.Context(), execution.ID(id))
	if err != nil {
		d.t.Fatal(err)
	}
	return r.State
}

func yes(id string, q *execution.Approval) approval.Decision {
	return approval.Decision{Operation: execution.ID(id), Hash: q.Hash, Verdict: execution.Approved, By: "a test"}
}

func no(id string, q *execution.Approval, message string) approval.Decision {
	d := yes(id, q)
	d.Verdict, d.Message = execution.Refused, message
	return d
}

// decide hands in a decision that has to count.
func (d *desk) decide(c approval.Decision) {
	d.t.Helper()
	if err := d.Decide(d.t.Context(), c); err != nil {
		d.t.Fatal(err)
	}
}

// approve says yes to what is asked about an operation now.
func (d *desk) approve(id string) *execution.Approval {
	d.t.Helper()
	q := d.question(id)
	d.decide(yes(id, q))
	return q
}

// refused hands in a decision that must not count, and must be recorded as refused.
func (d *desk) refused(c approval.Decision, want approval.Cause) {
	d.t.Helper()
	before := d.count(audit.Approval, "refused")
	var e *approval.RefusedError
	if err := d.Decide(d.t.Context(), c); !errors.As(err, &e) || e.Cause != want {
		d.t.Errorf("want it refused as %s: %v", want, err)
	}
	if after := d.count(audit.Approval, "refused"); after != before+1 {
		d.t.Errorf("%d refused decisions are recorded, after %d", after, before)
	}
}

// events are all that was recorded.
func (d *desk) events() []audit.Event {
	d.t.Helper()
	var all []audit.Event
	for e, err := range d.records.Events(context.WithoutCancel(d.t.Context()), 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		event, err := e.Event()
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, event)
	}
	return all
}

func (d *desk) count(t audit.Type, decision string) int {
	n := 0
	for _, e := range d.events() {
		if e.Type == t && (decision == "" || e.Decision == decision) {
			n++
		}
	}
	return n
}

// of are the events of one operation of a type, and with a decision if one is named.
func (d *desk) of(id string, t audit.Type, decision string) int {
	n := 0
	for _, e := range d.events() {
		if string(e.Operation) == id && e.Type == t && (decision == "" || e.Decision == decision) {
			n++
		}
	}
	return n
}

// started expects that an operation was started so often.
func (d *desk) started(id string, times int) {
	d.t.Helper()
	if n := d.of(id, audit.Started, ""); n != times {
		d.t.Errorf("%s was started %d times, and not %d", id, n, times)
	}
}

// undecided expects that nobody has answered, and that it is still asked.
func (d *desk) undecided(id string) {
	d.t.Helper()
	if q := d.question(id); q.Answer != nil || d.state(id) != execution.StatePending {
		d.t.Errorf("%s is %s, with the answer %+v", id, d.state(id), q.Answer)
	}
	for _, e := range d.events() {
		if string(e.Operation) == id && (e.Type == audit.Started || e.Type == audit.Approval && e.Decision != "ask") {
			d.t.Errorf("recorded of %s: %+v", id, e)
		}
	}
}

// verify has the audit chain checked.
func verify(t testing.TB, dir string) {
	t.Helper()
	if out, exit := command(t, "audit", "verify", "--data-dir", dir); exit != 0 {
		t.Errorf("the audit chain does not verify: %s", out)
	}
}

// deciderEnv tells the test binary that it is a process that decides. It holds the data
// directory.
const deciderEnv = "GEARBOX_APPROVALS_DECIDER"

// decider reads decisions, one a line, waits for an empty line, hands them all in, and
// tells for each whether it counts.
func decider() int {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Dir: os.Getenv(deciderEnv), MustExist: true, Instance: fmt.Sprintf("decider-%d", os.Getpid()), Version: "test"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = s.Close() }()
	var all []approval.Decision
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() && lines.Text() != "" {
		var c approval.Decision
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		all = append(all, c)
	}
	fmt.Fprintln(os.Stdout, "ready")
	lines.Scan()
	for _, c := range all {
		word := "counts"
		if err := approval.NewDesk(s, credential.Open(os.Getenv(deciderEnv), credential.None, time.Now), time.Now).Decide(ctx, c); err != nil {
			var refused *approval.RefusedError
			if word = "failed: " + err.Error(); errors.As(err, &refused) {
				word = string(refused.Cause)
			}
		}
		fmt.Fprintln(os.Stdout, word)
	}
	return 0
}

// together hands in the same decisions in several processes at once, and what api does
// meanwhile, and returns what each process was told of each.
func together(t *testing.T, dir string, processes int, api func(), of func(process int) []approval.Decision) [][]string {
	t.Helper()
	type one struct {
		cmd  *exec.Cmd
		in   interface{ Write([]byte) (int, error) }
		shut func() error
		out  *bufio.Scanner
	}
	var all []one
	for p := range processes {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		c.Env, c.Stderr = append(os.Environ(), deciderEnv+"="+dir), os.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range of(p) {
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := in.Write(append(text, '\n')); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		all = append(all, one{c, in, in.Close, bufio.NewScanner(out)})
	}
	for _, o := range all {
		if !o.out.Scan() || o.out.Text() != "ready" {
			t.Fatalf("a process that decides is not ready: %q", o.out.Text())
		}
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(api)
	for _, o := range all { // now
		if _, err := o.in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	var told [][]string
	for _, o := range all {
		var words []string
		for o.out.Scan() {
			words = append(words, o.out.Text())
		}
		if err := errors.Join(o.shut(), o.cmd.Wait()); err != nil {
			t.Fatal(err)
		}
		told = append(told, words)
	}
	return told
}
