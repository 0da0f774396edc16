package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// desk is the real desk over real records, as one process of a data directory has them.
type desk struct {
	*approval.Desk
	*store.SQLite
}

func (d desk) Asked(ctx context.Context, standing bool, before execution.ID, limit int) ([]execution.Record, error) {
	return d.Questions(ctx, standing, before, limit)
}

func (desk) Always(q *execution.Approval) []string { return []string{q.Asked[0].Allow} }

func (d desk) Find(ctx context.Context, id execution.ID) (execution.Record, error) {
	return d.Desk.Find(ctx, id)
}

// openDesk is another process each time, as far as the records can tell.
func openDesk(t testing.TB, dir string) desk {
	t.Helper()
	records, err := store.Open(t.Context(), store.Options{Dir: dir, Instance: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = records.Close() })
	return desk{approval.NewDesk(records, credential.Open(dir, credential.None, time.Now), time.Now), records}
}

// asking is a site whose humans are asked.
type asking struct {
	*site

	dir      string
	desk     desk
	operator string // a token
}

func startAsking(t testing.TB, change func(*Server)) *asking {
	t.Helper()
	dir := t.TempDir()
	d := openDesk(t, dir)
	s := &asking{site: start(t, Config{Approvals: d}, change), dir: dir, desk: d}
	s.operator = "Bearer " + s.create("boss", token.Rights{Role: token.Operator})
	return s
}

const askingCode = "import subprocess\nsubprocess.run(['mount'])\n"

// ask puts a question that stands for so long.
func (d desk) put(t testing.TB, patience time.Duration) execution.Record {
	t.Helper()
	now := time.Now().UTC()
	r := execution.Record{
		ID: execution.NewID(), Instance: t.Name(), Gear: "user_confirmed", State: execution.StateSubmitted, Created: now,
		Request: execution.Request{
			Principal: "token:a", Client: execution.Client{Name: "an agent", Version: "1"}, Language: execution.Python, Code: askingCode,
			Timeout: 5 * time.Second, Stdin: []byte("typed"), Variables: map[string]json.RawMessage{"n": json.RawMessage(`{"a":1}`)},
			Files: []execution.File{{Path: "in/data.bin", Data: []byte{0xff, 0}}, {Path: "in/long.txt", Data: []byte(strings.Repeat("ü", headBytes))}, {Path: "a\u202eb", Data: []byte("<script>\u202e</script>\r\n")}, {Path: "empty"}},
		},
	}
	q := execution.Approval{
		Summary: "This program needs a human's yes to run(mount).", Created: now, Expires: now.Add(patience),
		Asked: []execution.Asked{{Kind: "run", Target: "mount", Line: 2, Column: 1, Source: "subprocess.run(['mount'])", Reason: "the gear asks", Allow: "run(mount)"}},
	}
	q.Hash = execution.DigestOf([]byte(r.ID), []byte(q.Expires.String()))
	d.move(t, r.ID, "", execution.StateSubmitted, execution.Change{Create: &r})
	d.move(t, r.ID, execution.StateSubmitted, execution.StatePending, execution.Change{Question: &q})
	r.Approval = &q
	return r
}

func (d desk) move(t testing.TB, id execution.ID, from, to execution.State, c execution.Change) {
	t.Helper()
	err := d.Commit(t.Context(), id, from, to, c, audit.Event{Time: time.Now(), Type: audit.Approval, Operation: id, Principal: "token:a"})
	if err != nil {
		t.Fatal(err)
	}
}

// end ends an operation on which nobody decided.
func (d desk) end(t testing.TB, r execution.Record, s execution.Status) {
	t.Helper()
	change, _ := engine.Closed(r, s, execution.CodeCancelled, "ended", time.Now())
	d.move(t, r.ID, execution.StatePending, execution.StateFinished, change)
}

// yes is a decision as a front end sends it.
func yes(r execution.Record) string {
	return fmt.Sprintf(`{"decision":"approve","hash":%q}`, r.Approval.Hash)
}

// decide sends a decision.
func (s *asking) decide(id execution.ID, body string, header ...string) answer {
	s.t.Helper()
	return s.ask("POST", "/api/v1/approvals/"+string(id), body, append([]string{"Authorization", s.operator, "Content-Type", "application/json"}, header...)...)
}

// answer decides by another way than the API.
func (d desk) answer(t testing.TB, r execution.Record, v execution.Verdict) {
	t.Helper()
	c := approval.Decision{Operation: r.ID, Hash: r.Approval.Hash, Verdict: v, By: "a terminal"}
	if v == execution.Refused {
		c.Message = "no"
	}
	if err := d.Decide(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}
