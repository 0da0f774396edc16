//go:build linux

package approvals

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// parties are the holders of tokens of a data directory.
type parties struct{ agent, other, operator string }

func newParties(t testing.TB, dir string, agent token.Rights) parties {
	return parties{holder(t, dir, "agent", agent), holder(t, dir, "other", token.Rights{}), holder(t, dir, "operator", token.Rights{Role: token.Operator})}
}

// as is a session of another holder of a token with the same server.
func (s *server) as(secret string) *server {
	s.t.Helper()
	other := *s
	other.client = newWeb(s.address, secret)
	s.t.Cleanup(other.client.close)
	if err := greet(s.t.Context(), other.client); err != nil {
		s.t.Fatal(err)
	}
	return &other
}

// metric is the value of a metric of the server.
func (s *server) metric(operator, name string) float64 {
	s.t.Helper()
	w := newWeb(s.address, operator)
	defer w.close()
	resp, err := w.do(s.t.Context(), http.MethodGet, "/metrics", "", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	s.t.Fatalf("the server does not tell %s", name)
	return 0
}

// decideOverAPI hands in a decision as a front end does, and tells what came of it in the
// words of [decider].
func (s *server) decideOverAPI(operator, id, decision string, of execution.Digest) string {
	w := newWeb(s.address, operator)
	defer w.close()
	body, err := json.Marshal(map[string]any{"decision": decision, "hash": of.String()})
	if err != nil {
		return "failed: " + err.Error()
	}
	resp, err := w.do(s.t.Context(), http.MethodPost, "/api/v1/approvals/"+id, "application/json", body)
	if err != nil {
		return "failed: " + err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		return "counts"
	}
	var refused struct {
		Error struct{ Message, Cause string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&refused); err != nil || refused.Error.Cause == "" {
		return fmt.Sprintf("failed: %s %s %v", resp.Status, refused.Error.Message, err)
	}
	return refused.Error.Cause
}

// computes expects that the other principal's program runs while others' wait.
func computes(t testing.TB, s *server) {
	t.Helper()
	if a := s.execute(call{Code: "print(1)"}); a.Status != "ok" || a.Stdout != "1\n" {
		t.Errorf("beside what waits: %s", a.raw)
	}
}

// until computes until done is closed, and once at least.
func until(t testing.TB, s *server, done <-chan struct{}) (n int) {
	t.Helper()
	for {
		computes(t, s)
		n++
		select {
		case <-done:
			return n
		default:
		}
	}
}

// flood asks about n programs at once, all of them on their way before the first is
// answered, and returns the operations.
func flood(t testing.TB, s *server, n int) []string {
	t.Helper()
	ids := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			a, err := use(ctx, s.client, "execute", call{Code: asking})
			for err == nil && a.Status == "running" { // what is not analysed within the call's own time
				a, err = use(ctx, s.client, "get_operation", query{Operation: a.Operation})
			}
			if err != nil || a.Status != "pending_approval" {
				t.Errorf("call %d: %s, %v", i, a.raw, err)
			}
			ids[i] = a.Operation
		})
	}
	all.Wait()
	return ids
}

// standing expects so many open questions.
func (d *desk) standing(n int) {
	d.t.Helper()
	if open, err := d.records.Pending(d.t.Context()); err != nil || len(open) != n {
		d.t.Fatalf("%d questions stand, and not %d: %v", len(open), n, err)
	}
}

// A thousand calls at once, as agents that plan make them: all come to wait, which costs the
// server nothing, and nobody else waits for them or for what is decided.
func TestAFloodOfQuestionsIsAskedCostsNothingAndDisturbsNobody(t *testing.T) {
	n, approved := 300, 10
	if long() {
		n = 980 // and twenty before: as many as a principal may have
	}
	dir := dataDir(t)
	p := newParties(t, dir, token.Rights{})
	o := options{http: true, token: p.agent, flags: []string{"--pool-size", "1"}}
	s, d := serve(t, dir, o), openDesk(t, dir)
	other := s.as(p.other)
	computes(t, other)
	ids := flood(t, s, 20)
	s.close() // idle connections
	before, goroutines := settled(t, s), s.metric(p.operator, "go_goroutines")

	flooded := make(chan struct{})
	go func() { defer close(flooded); ids = append(ids, flood(t, s, n)...) }()
	beside := until(t, other, flooded)
	if t.Failed() {
		t.FailNow()
	}
	d.standing(len(ids))
	s.close()
	after, goroutinesAfter := settled(t, s), s.metric(p.operator, "go_goroutines")
	t.Logf("%d programs of another principal ran meanwhile; with 20 questions %+v and %v goroutines, with %d more %+v and %v", beside, before, goroutines, n, after, goroutinesAfter)
	if after.descriptors > before.descriptors+4 || after.processes > before.processes+2 || after.threads > before.threads+8 ||
		after.memory > before.memory+64<<10 || goroutinesAfter > goroutines+10 {
		t.Errorf("with 20 questions it held %+v and %v goroutines, with %d more %+v and %v", before, goroutines, n, after, goroutinesAfter)
	}

	s.stop()
	s = serve(t, dir, o)
	other = s.as(p.other)
	d.standing(len(ids))
	decided := make(chan struct{})
	go func() {
		defer close(decided)
		for i, id := range ids {
			if q := d.question(id); i%(len(ids)/approved) == 0 {
				d.decide(yes(id, q))
			} else {
				d.decide(no(id, q, ""))
			}
		}
	}()
	until(t, other, decided)
	ran, denied := 0, 0
	for _, id := range ids {
		switch a := s.outcome(id); a.Status {
		case "ok":
			ran++
		case "denied":
			denied++
		default:
			t.Errorf("%s", a.raw)
		}
	}
	if ran != approved || ran+denied != len(ids) || d.count(audit.Started, "") < approved {
		t.Errorf("%d ran and %d were denied of %d", ran, denied, len(ids))
	}
	d.standing(0)
	verify(t, dir)
}

// The bound is that of the principal, whichever server asks, and whoever else waits.
func TestNoMoreQuestionsOfAPrincipalStandThanMay(t *testing.T) {
	dir := dataDir(t)
	p := newParties(t, dir, token.Rights{})
	o := options{http: true, token: p.agent, flags: []string{"--approvals-max-pending", "3"}}
	s, d := serve(t, dir, o), openDesk(t, dir)
	another := serve(t, dir, o)
	first := s.ask(call{Code: asking})
	another.ask(call{Code: asking})
	s.ask(call{Code: asking})
	for _, full := range []*server{s, another} {
		a := full.execute(call{Code: asking})
		if a.Status != "denied" || a.Error == nil || a.Error.Code != "UNAVAILABLE" || !strings.Contains(a.Error.Message, "approvals.max_pending") {
			t.Errorf("%s", a.raw)
		}
	}
	computes(t, s) // what needs nobody goes on
	s.as(p.other).ask(call{Code: asking})
	d.decide(no(first.Operation, d.question(first.Operation), ""))
	another.ask(call{Code: asking})
	d.standing(4)
	verify(t, dir)
}

// What is taken up after a yes counts as under way, as a new execution does.
func TestAYesLetsNobodyHaveMoreUnderWayThanAtOnce(t *testing.T) {
	dir := dataDir(t)
	p := newParties(t, dir, token.Rights{Concurrency: 1})
	s, d := serve(t, dir, options{http: true, token: p.agent}), openDesk(t, dir)
	var ids []string
	for range 2 {
		ids = append(ids, s.ask(call{Code: slow, Timeout: 200}).Operation)
	}
	for _, id := range ids {
		d.approve(id)
	}
	state := func(id string, want execution.State) {
		t.Helper()
		eventually(t, id+" is "+string(want), func() string {
			if now := d.state(id); now != want {
				return string(now)
			}
			return ""
		})
	}
	state(ids[0], execution.StateRunning)
	if a := s.execute(call{Code: "1"}); a.Status != "rejected" || a.Error == nil || a.Error.Code != "UNAVAILABLE" {
		t.Errorf("a new one beside it: %s", a.raw)
	}
	if now := d.state(ids[1]); now != execution.StateApproved {
		t.Errorf("the second is %s", now)
	}
	if a := s.use("cancel_operation", query{Operation: ids[0]}); a.Status != "cancelled" {
		t.Errorf("%s", a.raw)
	}
	state(ids[1], execution.StateRunning)
	if a := s.use("cancel_operation", query{Operation: ids[1]}); a.Status != "cancelled" {
		t.Errorf("%s", a.raw)
	}
	eventually(t, "there is room again", func() string {
		if a := s.execute(call{Code: "1"}); a.Status != "ok" {
			return string(a.raw)
		}
		return ""
	})
	verify(t, dir)
}

// BenchmarkWaitersForHumans is what a server works while a hundred calls wait for humans, of
// a thousand questions: its own processor time in each second (-benchtime 10x for ten).
func BenchmarkWaitersForHumans(b *testing.B) {
	for _, waiters := range []int{0, 100} {
		b.Run(strconv.Itoa(waiters), func(b *testing.B) {
			dir := dataDir(b)
			p := newParties(b, dir, token.Rights{})
			s := serve(b, dir, options{http: true, token: p.agent, flags: []string{"--pool-size", "1"}})
			ids := flood(b, s, 1000)
			s.close()
			ctx, cancel := context.WithCancel(b.Context())
			var all sync.WaitGroup
			for _, id := range slices.Clone(ids)[:waiters] {
				wait := 600.0
				all.Go(func() {
					_, _ = use(ctx, s.client, "get_operation", query{Operation: id, Wait: &wait}) // until the end
				})
			}
			settled(b, s)
			second := time.NewTicker(time.Second)
			defer second.Stop()
			began := s.metric(p.operator, "process_cpu_seconds_total")
			for b.Loop() {
				<-second.C
			}
			spent := s.metric(p.operator, "process_cpu_seconds_total") - began
			b.ReportMetric(1000*spent/b.Elapsed().Seconds(), "cpu-ms/s")
			cancel()
			all.Wait()
		})
	}
}
