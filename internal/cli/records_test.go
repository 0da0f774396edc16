package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// recorded makes a data directory with the records of three operations, the last of
// which runs, and gives their ids.
func recorded(t *testing.T) (dir string, ids []string) {
	t.Helper()
	dir = t.TempDir()
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Instance: "4711-X", Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		id := execution.ID(fmt.Sprint("op_", i))
		q := execution.Request{
			Principal: execution.Principal(fmt.Sprint("p", i%2)), Client: execution.Client{Name: "edi\x1b[2Jtor", Version: "1"}, Language: execution.Python,
			Code: "print('hello')\n\x1b]0;owned\a", Files: []execution.File{{Path: "a.txt", Data: []byte("text")}},
		}
		event := func(typ audit.Type) audit.Event {
			return audit.Event{Time: noon, Type: typ, Operation: id, Principal: q.Principal, Client: q.Client, Gear: "restricted"}
		}
		ended := event(audit.Finished)
		ended.Status, ended.Usage.Wall = execution.StatusOK, 1500*time.Microsecond
		commit := func(from, to execution.State, c execution.Change, e audit.Event) {
			if err := s.Commit(t.Context(), id, from, to, c, e); err != nil {
				t.Fatal(err)
			}
		}
		commit("", execution.StateSubmitted, execution.Change{Create: &execution.Record{ID: id, Request: q, Gear: "restricted", Created: noon}}, event(audit.Requested))
		commit(execution.StateSubmitted, execution.StateRunning, execution.Change{}, event(audit.Started))
		if i < 2 {
			commit(execution.StateRunning, execution.StateFinished, execution.Change{
				Finished: noon.Add(time.Second), Result: &execution.Result{Status: execution.StatusOK, OperationID: id, DurationMS: 1.5},
				Stdout: &execution.Output{Head: []byte("hello\n"), Total: 6}, Stderr: &execution.Output{},
			}, ended)
		}
		ids = append(ids, string(id))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, ids
}

func TestOperationsAreListedForPeopleAndForPrograms(t *testing.T) {
	dir, _ := recorded(t)
	code, stdout, stderr := command(t, "", "operations", "list", "--data-dir", dir)
	const want = `CREATED               OPERATION  STATUS   EXIT  LANGUAGE  GEAR        PRINCIPAL  CLIENT
2026-03-01T12:00:00Z  op_2       running  -     python    restricted  p0         edi⟨U+001B⟩[2Jtor 1
2026-03-01T12:00:00Z  op_1       ok       0     python    restricted  p1         edi⟨U+001B⟩[2Jtor 1
2026-03-01T12:00:00Z  op_0       ok       0     python    restricted  p0         edi⟨U+001B⟩[2Jtor 1
`
	if code != 0 || stdout != want || stderr != "" {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = command(t, "", "operations", "list", "--data-dir", dir, "--principal", "p0", "--limit", "1", "--json")
	var o map[string]any
	if err := json.Unmarshal([]byte(stdout), &o); err != nil || code != 0 || o["operation_id"] != "op_2" || !strings.HasPrefix(fmt.Sprint(o["code_sha256"]), "sha256:") {
		t.Errorf("exit code %d, %v, %s", code, err, stdout)
	}
	if !strings.Contains(stderr, "--before op_2") {
		t.Errorf("the next page is not named: %q", stderr)
	}
	for _, c := range []struct {
		args string
		want int
	}{{"--before op_2", 2}, {"--status running", 1}, {"--status ok", 2}, {"--status timeout", 0}, {"--since 2026-03-02", 0}, {"--principal p1", 1}} {
		_, stdout, _ := command(t, "", append([]string{"operations", "list", "--json", "--data-dir", dir}, strings.Fields(c.args)...)...)
		if n := strings.Count(stdout, "\n"); n != c.want {
			t.Errorf("%s: %d operations", c.args, n)
		}
	}
}

func TestAnOperationIsShownWithoutLettingItSteerTheTerminal(t *testing.T) {
	dir, _ := recorded(t)
	code, stdout, _ := command(t, "", "operations", "show", "op_1", "--data-dir", dir)
	for _, want := range []string{"operation  op_1\n", "status     ok\n", "ran for    1.50 ms\n", "file       a.txt, 4 B\n", "\ncode:\n  print('hello')\n", "\nstdout:\n  hello\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if code != 0 || strings.ContainsAny(stdout, "\x1b\a") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	code, stdout, _ = command(t, "", "operations", "show", "op_1", "--json", "--data-dir", dir)
	var o struct {
		Status  string
		Request struct{ Code string }
		Result  execution.Result
	}
	if err := json.Unmarshal([]byte(stdout), &o); err != nil || code != 0 || o.Result.Stdout != "hello\n" || !strings.HasPrefix(o.Request.Code, "print") || o.Status != "ok" {
		t.Errorf("exit code %d, %v, %s", code, err, stdout)
	}
	code, stdout, _ = command(t, "", "operations", "show", "op_2", "--json", "--data-dir", dir)
	if code != 0 || !strings.Contains(stdout, `"state":"running"`) || strings.Contains(stdout, `"result"`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

func TestOnlyOperationsThatEndedAreDeleted(t *testing.T) {
	dir, _ := recorded(t)
	for _, c := range []struct {
		id     string
		code   int
		stdout string
		stderr string
	}{{"op_0", 0, "deleted op_0\n", ""}, {"op_0", exitFailed, "", `no operation "op_0"`}, {"op_2", exitFailed, "", "has not ended"}} {
		code, stdout, stderr := command(t, "", "operations", "delete", c.id, "--data-dir", dir)
		if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit code %d, %q, %q", c.id, code, stdout, stderr)
		}
	}
	_, stdout, _ := command(t, "", "audit", "list", "--operation", "op_0", "--data-dir", dir)
	if strings.Count(stdout, "\n") != 4 || !strings.Contains(stdout, "the operator deleted the record") {
		t.Errorf("%s", stdout)
	}
}

func TestEventsAreListedForPeopleAndForPrograms(t *testing.T) {
	dir, _ := recorded(t)
	code, stdout, stderr := command(t, "", "audit", "list", "--limit", "3", "--data-dir", dir)
	const want = `6  2026-03-01T12:00:00Z  finished   p1  op_1  ok, exit code 0, 1.50 ms
7  2026-03-01T12:00:00Z  requested  p0  op_2  edi⟨U+001B⟩[2Jtor 1, gear restricted
8  2026-03-01T12:00:00Z  started    p0  op_2  
`
	if code != 0 || stdout != want || stderr != "" {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	code, stdout, _ = command(t, "", "audit", "list", "--json", "--type", "finished", "--principal", "p0", "--data-dir", dir)
	if code != 0 || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, `"seq":3`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	code, stdout, _ = command(t, "", "audit", "show", "3", "--data-dir", dir)
	if code != 0 || !strings.HasPrefix(stdout, `{"previous":"`) || !strings.Contains(stdout, `"duration_ms":1.5`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	if code, _, stderr = command(t, "", "audit", "show", "9", "--data-dir", dir); code != exitFailed || !strings.Contains(stderr, "no event 9") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestTheAuditRecordIsVerifiedHereAndAsAnExport(t *testing.T) {
	dir, _ := recorded(t)
	_, anchor, _ := command(t, "", "audit", "anchor", "--data-dir", dir)
	anchor = strings.TrimSpace(anchor)
	code, stdout, _ := command(t, "", "audit", "verify", "--anchor", anchor, "--data-dir", dir)
	if code != 0 || stdout != "The chain is whole: events 1 to 8. Its head is "+anchor+"\n" {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	_, export, _ := command(t, "", "audit", "export", "--data-dir", dir)
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	verify := func(text string, args ...string) (int, string, string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return command(t, text, append([]string{"audit", "verify"}, args...)...)
	}
	if code, stdout, _ = verify(export, file, "--anchor", anchor); code != 0 || !strings.Contains(stdout, "events 1 to 8") {
		t.Errorf("a file: exit code %d, %s", code, stdout)
	}
	if code, stdout, _ = verify(export, "-"); code != 0 || !strings.Contains(stdout, "events 1 to 8") {
		t.Errorf("standard input: exit code %d, %s", code, stdout)
	}
	_, rest, _ := command(t, "", "audit", "export", "--after", "5", "--data-dir", dir)
	if code, stdout, _ = verify(rest, "-"); code != 0 || !strings.Contains(stdout, "from event 6 to 8") {
		t.Errorf("a part: exit code %d, %s", code, stdout)
	}
	code, stdout, stderr := verify(strings.Replace(export, "op_1", "op_x", 1), file)
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, "broken at event 4 (changed)") {
		t.Errorf("changed: exit code %d, %s%s", code, stdout, stderr)
	}
	lines := strings.SplitAfter(export, "\n")
	code, stdout, _ = verify(strings.Join(lines[:6], ""), "-", "--json", "--anchor", anchor)
	var v verdictOf
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != exitFailed || v.Whole || v.Seq != 7 || v.Fault != audit.Cut || v.Head.Seq != 6 {
		t.Errorf("cut: exit code %d, %v, %s", code, err, stdout)
	}
	if code, _, stderr = verify("hello\n", "-"); code != exitFailed || !strings.Contains(stderr, "line 1 is no event") {
		t.Errorf("no export: exit code %d, %s", code, stderr)
	}
}

func TestWithoutRecordsListsAreEmptyAndChecksFail(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]int{
		"operations list": 0, "audit list": 0, "operations show op_1": exitFailed, "operations delete op_1": exitFailed,
		"audit verify": exitFailed, "audit anchor": exitFailed, "audit export": exitFailed, "audit show 1": exitFailed,
	} {
		code, stdout, stderr := command(t, "", append(strings.Fields(args), "--data-dir", dir)...)
		if code != want || stdout != "" || !strings.Contains(stderr, "there are no records in "+dir) {
			t.Errorf("%s: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestWhoFollowsSeesNewEventsUntilInterrupted(t *testing.T) {
	dir, _ := recorded(t)
	s, err := store.Open(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, args := range [][]string{{"audit", "export", "--follow", "--after", "7"}, {"audit", "list", "--json", "--follow", "--limit", "1", "--type", "started"}} {
		ctx, stop := context.WithCancel(t.Context())
		out, in := io.Pipe()
		ended := make(chan int)
		var errs bytes.Buffer
		go func() { ended <- Main(ctx, Streams{Out: in, Err: &errs}, append(args, "--data-dir", dir)) }()
		d := json.NewDecoder(out)
		next := func() string {
			var v struct {
				Reason string
				Event  struct{ Reason string }
			}
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
			return v.Reason + v.Event.Reason
		}
		next() // what is there
		for _, reason := range []string{"first", "second"} {
			if err := s.Record(ctx, audit.Event{Time: noon, Type: audit.Started, Reason: reason}); err != nil {
				t.Fatal(err)
			}
			if got := next(); got != reason {
				t.Errorf("%v: %q instead of %q", args, got, reason)
			}
		}
		stop()
		if code := <-ended; code != 0 || errs.Len() > 0 {
			t.Errorf("%v: exit code %d, %s", args, code, errs.String())
		}
	}
}

func TestTimesAreReadAsPeopleWriteThem(t *testing.T) {
	for s, want := range map[string]time.Time{
		"90m": noon.Add(-90 * time.Minute), "36h": noon.Add(-36 * time.Hour), "7d": noon.AddDate(0, 0, -7), "2026-02-03": time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC),
		"2026-02-03T04:05:06Z": time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), "2026-02-03 04:05:06": time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
	} {
		if got, err := parseTime(s, noon); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "d", "yesterday", "-3h", "7 days", "1.5d", "99999999d"} {
		if got, err := parseTime(s, noon); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}

func TestAnEventOfAnApprovalSaysHowItWasAnswered(t *testing.T) {
	for _, decision := range []string{"ask", "approved", "denied", "refused", "expired", "withdrawn"} {
		e := audit.Event{Type: audit.Approval, Decision: decision, Reason: "It asks.", Details: map[string]string{"by": "me"}}
		if got, want := summary(e), decision+", It asks, by=me"; got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
