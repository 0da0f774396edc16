//go:build linux

package approvals

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the records are changed behind the store's back

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

const gearFile = "extends: user_confirmed\nlimits:\n  memory: 256m\n"

// change is what happens between the question and the next server that could run it.
type change struct {
	name string
	// do changes the data directory, in which own.yaml is the gear.
	do func(t *testing.T, dir, id string)
	// flags are more of the second server's.
	flags []string
	want  string // asked, denied, waits or runs
}

func gearChange(text string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, _ string) {
		t.Helper()
		write(t, filepath.Join(dir, "own.yaml"), text)
	}
}

func rulesChange(text string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, _ string) {
		t.Helper()
		write(t, filepath.Join(dir, "rules.yaml"), text)
	}
}

// recordChange writes into the records as somebody would who is past every lock.
func recordChange(statement string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, id string) {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, store.File)+"?_pragma=busy_timeout(5000)")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		done, err := db.ExecContext(t.Context(), statement, id)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := done.RowsAffected(); err != nil || n != 1 {
			t.Fatalf("%d rows changed, %v", n, err)
		}
	}
}

func unchanged(*testing.T, string, string) {}

func changes() []change {
	const row = " WHERE n = (SELECT n FROM operations WHERE id = ?)"
	const more = `UPDATE approvals SET question = replace(question, '"permissions":[', '"permissions":[{"kind":"run","target":"*"},')` + row
	all := []change{
		{"nothing", unchanged, nil, "runs"},
		{"a comment in the gear", gearChange("# a word\n" + gearFile), nil, "runs"},
		{"a limit of the gear", gearChange(strings.Replace(gearFile, "256m", "257m", 1)), nil, "asked"},
		{"a rule of the gear", gearChange(gearFile + "allow: ['run(git)']\n"), nil, "asked"},
		{"the operator's rules", rulesChange("allow: ['run(git)']\n"), nil, "asked"},
		{"a rule of the start", unchanged, []string{"--allow", "run(git)"}, "asked"},
		{"a rule that denies it", rulesChange("deny: ['run(mount)']\n"), nil, "denied"},
		{"a start that denies it", unchanged, []string{"--deny", "run(mount)"}, "denied"},
		{"a rule that allows it", rulesChange("allow: ['run(mount)']\n"), nil, "runs"},
		{"the languages of the gear", gearChange(gearFile + "languages: [bash]\n"), nil, "denied"},
		{"the gear is off", gearChange(gearFile + "execution: off\n"), nil, "denied"},
		{"less time than was asked for", gearChange(gearFile + "  max_timeout_seconds: 20\n"), nil, "denied"},
		{"a minimum that this machine is below", unchanged, []string{"--minimum-isolation", "microvm"}, "waits"},
		{"the code in the records", recordChange("UPDATE requests SET code = code || ' '" + row), nil, "asked"},
		{"the input in the records", recordChange("UPDATE requests SET stdin = x'78'" + row), nil, "asked"},
		{"the variables in the records", recordChange(`UPDATE requests SET variables = '{"v":2}'` + row), nil, "asked"},
		{"a file in the records", recordChange("UPDATE files SET data = x'79'" + row), nil, "asked"},
		{"the time in the records", recordChange("UPDATE requests SET timeout = timeout + 1" + row), nil, "asked"},
		{"the question in the records", recordChange("UPDATE approvals SET question = replace(question, '\"target\":\"mount\"', '\"target\":\"umount\"')" + row), nil, "asked"},
		{"more permissions in the records", recordChange(more), nil, "asked"},
		{"more permissions in the records, and a rule that allows it", func(t *testing.T, dir, id string) {
			t.Helper()
			recordChange(more)(t, dir, id)
			rulesChange("allow: ['run(mount)']\n")(t, dir, id)
		}, nil, "runs"},
		{"a later end in the records", recordChange("UPDATE approvals SET question = replace(question, '\"expires\":\"2', '\"expires\":\"3')" + row), nil, "asked"},
	}
	if python := "/usr/bin/python3"; exists(python) {
		all = append(all, change{"another interpreter", unchanged, []string{"--python", python}, "asked"})
	}
	return all
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// All are asked about by one server and decided while none lives; each has a data directory
// of its own from then on, in which one thing changes.
func TestAChangeBetweenTheQuestionAndTheRunIsAskedAnew(t *testing.T) {
	base := dataDir(t)
	write(t, filepath.Join(base, "own.yaml"), gearFile)
	flags := func(dir string, more ...string) []string {
		return append([]string{"--gear", filepath.Join(dir, "own.yaml")}, more...)
	}
	s := serve(t, base, options{flags: flags(base)})
	a := s.ask(call{
		Code: asking, Timeout: 30, Stdin: "in", Variables: map[string]any{"v": 1},
		Files: []map[string]any{{"path": "a.txt", "text": "x"}},
	})
	s.stop()
	d := openDesk(t, base)
	q := d.approve(a.Operation)
	if err := d.records.Close(); err != nil {
		t.Fatal(err)
	}
	all := changes()
	if !long() { // each starts a server
		all = sample(all)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			copyDir(t, base, dir)
			c.do(t, dir, a.Operation)
			s := serve(t, dir, options{flags: flags(dir, c.flags...)})
			d := openDesk(t, dir)
			c.check(t, s, d, a.Operation, q)
			s.kill()
			verify(t, dir)
		})
	}
}

// sample is what every run tries of a long list: each kind of end, and one in five.
func sample(all []change) []change {
	seen := map[string]bool{}
	var some []change
	for i, c := range all {
		if !seen[c.want] || i%5 == 2 {
			some = append(some, c)
		}
		seen[c.want] = true
	}
	return some
}

func (c change) check(t *testing.T, s *server, d *desk, id string, was *execution.Approval) {
	t.Helper()
	switch c.want {
	case "runs":
		ran(t, s.outcome(id))
		d.started(id, 1)
	case "denied":
		if b := s.outcome(id); b.Status != "denied" || b.Error == nil || b.Error.Code != "POLICY_VIOLATION" {
			t.Errorf("%s", b.raw)
		}
		d.started(id, 0)
	case "waits":
		// A second look has been had once something that came later was run.
		s.use("execute", call{Code: "1"})
		if b := s.now(id); b.Status != "running" || d.state(id) != execution.StateApproved {
			t.Errorf("%s in state %s", b.raw, d.state(id))
		}
		d.started(id, 0)
	case "asked":
		eventually(t, "another question", func() string {
			if b := s.now(id); b.Status == "running" {
				return string(b.raw)
			}
			return ""
		})
		now := d.question(id)
		if b := s.now(id); b.Status != "pending_approval" || now.Hash == was.Hash || now.Answer != nil {
			t.Fatalf("%+v: %s", now, b.raw)
		}
		d.started(id, 0)
		d.refused(yes(id, was), "stale") // the old yes, replayed
		d.approve(id)
		ran(t, s.outcome(id))
		d.started(id, 1)
	}
}
