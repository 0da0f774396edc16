//go:build linux

package approvals

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// asking needs a yes to start a program, and shows that it was there.
const asking = "import subprocess\nprint(subprocess.run(['mount', '--version'], capture_output=True, text=True).stdout.split()[0])"

// slow shows that it runs, and goes on until it is ended.
const slow = "import subprocess, time\nsubprocess.run(['mount', '--version'], capture_output=True)\nprint('begun', flush=True)\ntime.sleep(100)"

// ran expects that an operation was run after a yes, and that mount was there.
func ran(t testing.TB, a answer) {
	t.Helper()
	if a.Status != "ok" || a.Stdout != "mount\n" {
		t.Errorf("it did not run: %s", a.raw)
	}
}

func TestAYesLetsTheProgramRunByItselfOverEveryTransport(t *testing.T) {
	for name, over := range map[string]options{"stdio": {}, "http": {http: true}} {
		t.Run(name, func(t *testing.T) {
			dir := dataDir(t)
			s := serve(t, dir, over)
			a := s.ask(call{Code: asking})
			if want := "run(mount) in line 2"; a.Permissions[0] != want {
				t.Errorf("asked for %v, not for %s", a.Permissions, want)
			}
			d := openDesk(t, dir)
			if b := s.now(a.Operation); b.Status != "pending_approval" {
				t.Errorf("%s", b.raw)
			}
			d.approve(a.Operation)
			ran(t, s.outcome(a.Operation))
			d.started(a.Operation, 1)
			verify(t, dir)
		})
	}
}

func TestANoEndsItAndItsMessageReachesTheModel(t *testing.T) {
	dir := dataDir(t)
	s, d := serve(t, dir, options{}), openDesk(t, dir)
	a := s.ask(call{Code: asking})
	d.decide(no(a.Operation, d.question(a.Operation), "use /proc/mounts instead"))
	b := s.outcome(a.Operation)
	if b.Status != "denied" || b.Error == nil || b.Error.Code != "POLICY_VIOLATION" || !strings.Contains(b.Error.Message, "use /proc/mounts instead") || b.Stdout != "" {
		t.Errorf("%s", b.raw)
	}
	d.started(a.Operation, 0)
	d.refused(yes(a.Operation, d.question(a.Operation)), approval.Decided)
	verify(t, dir)
}

// A server may end in between in two ways, and the yes may come before or after the next.
func TestWhatIsAskedOutlivesTheServerThatAsked(t *testing.T) {
	for name, end := range map[string]func(*server){"it is stopped": (*server).stop, "it is killed": (*server).kill} {
		t.Run(name, func(t *testing.T) {
			dir := dataDir(t)
			s := serve(t, dir, options{})
			early, late := s.ask(call{Code: asking}), s.ask(call{Code: asking})
			end(s)
			d := openDesk(t, dir)
			d.approve(early.Operation) // no server lives
			s = serve(t, dir, options{http: true})
			ran(t, s.outcome(early.Operation))
			if b := s.now(late.Operation); b.Status != "pending_approval" || b.Expires != late.Expires {
				t.Errorf("%s", b.raw)
			}
			d.approve(late.Operation)
			ran(t, s.outcome(late.Operation))
			d.started(early.Operation, 1)
			d.started(late.Operation, 1)
			verify(t, dir)
		})
	}
}

func TestWhatAKilledServerRanAfterAYesEndsAsInterruptedAndIsNotRunAgain(t *testing.T) {
	dir := dataDir(t)
	s, d := serve(t, dir, options{}), openDesk(t, dir)
	a := s.ask(call{Code: slow, Timeout: 200})
	d.approve(a.Operation)
	eventually(t, "the program runs", func() string {
		if b := s.now(a.Operation); !strings.Contains(b.Stdout, "begun") {
			return string(b.raw)
		}
		return ""
	})
	s.kill()
	s = serve(t, dir, options{})
	if b := s.outcome(a.Operation); b.Status != "interrupted" {
		t.Errorf("%s", b.raw)
	}
	d.refused(yes(a.Operation, d.question(a.Operation)), approval.Decided)
	d.started(a.Operation, 1)
	verify(t, dir)
}

// The yes comes while the server that asked is dead, and three others look for it.
func TestOfThreeServersOneRunsWhatWasApproved(t *testing.T) {
	dir := dataDir(t)
	s := serve(t, dir, options{})
	var ids []string
	for range 5 {
		ids = append(ids, s.ask(call{Code: asking}).Operation)
	}
	s.kill()
	others := []*server{serve(t, dir, options{}), serve(t, dir, options{http: true}), serve(t, dir, options{})}
	d := openDesk(t, dir)
	for _, id := range ids {
		d.approve(id)
	}
	for i, id := range ids {
		ran(t, others[i%len(others)].outcome(id))
		d.started(id, 1)
		if n := d.of(id, audit.Finished, ""); n != 1 {
			t.Errorf("%s ended %d times", id, n)
		}
	}
	verify(t, dir)
}

// planted is an operation that was asked about long ago: its question expired while no
// server lived. It is approved if yes is set.
func planted(t *testing.T, d *desk, approved bool) string {
	t.Helper()
	asked := time.Now().Add(-2 * time.Hour)
	r := execution.Record{
		ID: execution.NewID(), Instance: "1-DEAD", Gear: "user_confirmed", Created: asked,
		Request: execution.Request{Principal: execution.Local, Language: execution.Python, Code: asking},
	}
	q := execution.Approval{
		Hash: execution.DigestOf([]byte(r.ID)), Summary: "A question.", Created: asked, Expires: asked.Add(time.Hour),
		Asked: []execution.Asked{{Kind: "run", Target: "mount", Line: 2}},
	}
	move := func(from, to execution.State, c execution.Change) {
		t.Helper()
		if err := d.records.Commit(t.Context(), r.ID, from, to, c, audit.Event{Time: asked, Type: audit.Approval, Operation: r.ID, Principal: execution.Local, Decision: "ask"}); err != nil {
			t.Fatal(err)
		}
	}
	move("", execution.StateSubmitted, execution.Change{Create: &r})
	move(execution.StateSubmitted, execution.StatePending, execution.Change{Question: &q})
	if approved {
		answer := execution.Answer{Verdict: execution.Approved, Scope: execution.Once, By: "a test", At: asked}
		move(execution.StatePending, execution.StateApproved, execution.Change{Answer: &answer, Of: q.Hash})
	}
	return string(r.ID)
}

func TestWhatExpiredWhileNoServerLivedIsNotRun(t *testing.T) {
	dir := dataDir(t)
	serve(t, dir, options{}).stop() // makes the records
	d := openDesk(t, dir)
	undecided, approved := planted(t, d, false), planted(t, d, true)
	d.refused(yes(undecided, d.question(undecided)), approval.Late)
	s := serve(t, dir, options{})
	for id, why := range map[string]string{undecided: "Nobody decided", approved: "no server took it up"} {
		if b := s.outcome(id); b.Status != "denied" || b.Error == nil || !strings.Contains(b.Error.Message, why) {
			t.Errorf("%s", b.raw)
		}
		d.started(id, 0)
		if n := d.of(id, audit.Approval, string(execution.Expired)); n != 1 {
			t.Errorf("%d events tell that %s expired", n, id)
		}
	}
	verify(t, dir)
}

// Whoever puts an old copy of the data directory back has turned time back, and an approval
// that was open then can be used then: until it expires. Nothing in the directory can tell;
// a head of the audit chain that was kept elsewhere can. What the copy does not bring is
// a yes that was not in it, or one to something else.
func TestAnOldCopyOfTheRecordsBringsNoYesThatWasNotInIt(t *testing.T) {
	dir := dataDir(t)
	s := serve(t, dir, options{})
	a := s.ask(call{Code: asking})
	s.stop()
	before := filepath.Join(t.TempDir(), "before")
	copyDir(t, dir, before)

	d := openDesk(t, dir)
	q := d.approve(a.Operation)
	s = serve(t, dir, options{})
	ran(t, s.outcome(a.Operation))
	d.refused(yes(a.Operation, q), approval.Decided) // replayed where it was used
	s.kill()

	s, d = serve(t, before, options{}), openDesk(t, before)
	if b := s.now(a.Operation); b.Status != "pending_approval" || d.state(a.Operation) != execution.StatePending {
		t.Errorf("the copy of a question is %s", b.raw)
	}
	other := s.ask(call{Code: asking})
	d.refused(yes(other.Operation, q), approval.Stale) // replayed to the same code
	d.decide(yes(a.Operation, q))                      // the same question, still standing: this cannot be held
	ran(t, s.outcome(a.Operation))
	verify(t, before)
}

// Processes decide by the records, and front ends by the API of two servers.
func TestOfManyDecidersInManyProcessesAndOverTheAPIOneWins(t *testing.T) {
	dir := dataDir(t)
	p := newParties(t, dir, token.Rights{})
	o := options{http: true, token: p.agent}
	s, d := serve(t, dir, o), openDesk(t, dir)
	servers := []*server{s, serve(t, dir, o)}
	questions, processes := 12, 4
	if long() {
		questions, processes = 150, 8
	}
	ids := make([]string, questions)
	for i := range ids {
		ids[i] = s.ask(call{Code: asking}).Operation
	}
	hashes := make([]execution.Digest, questions)
	for i, id := range ids {
		hashes[i] = d.question(id).Hash
	}
	overAPI := make([][]string, len(servers))
	api := func() {
		var all sync.WaitGroup
		for n, one := range servers {
			all.Go(func() {
				overAPI[n] = make([]string, questions)
				for i := range questions {
					if n%2 == 1 {
						i = questions - 1 - i // and so meets the others once more
					}
					overAPI[n][i] = one.decideOverAPI(p.operator, ids[i], []string{"approve", "deny"}[(n+i)%2], hashes[i])
				}
			})
		}
		all.Wait()
	}
	told := together(t, dir, processes, api, func(process int) []approval.Decision {
		var all []approval.Decision
		for i, id := range ids {
			c := yes(id, d.question(id))
			if (process+i)%2 == 1 {
				c = no(id, d.question(id), "")
			}
			c.By = fmt.Sprintf("process %d", process)
			all = append(all, c)
		}
		return all
	})
	told = append(told, overAPI...)
	byAPI := 0
	for i, id := range ids {
		winners := 0
		for _, words := range told {
			switch words[i] {
			case "counts":
				winners++
			case string(approval.Decided):
			default:
				t.Errorf("%s: %s", id, words[i])
			}
		}
		b, q := s.outcome(id), d.question(id)
		if winners != 1 || (b.Status == "ok") != (q.Answer.Verdict == execution.Approved) || b.Status != "ok" && b.Status != "denied" {
			t.Errorf("%d decisions about %s count, %+v: %s", winners, id, q.Answer, b.raw)
		}
		wins := map[execution.Verdict]int{execution.Approved: 1}[q.Answer.Verdict]
		d.started(id, wins)
		if !strings.HasPrefix(q.Answer.By, "process") {
			byAPI++
		}
		if n := d.of(id, audit.Approval, "refused"); n != len(told)-1 {
			t.Errorf("%d refused decisions about %s are recorded", n, id)
		}
	}
	t.Logf("of %d questions %d were answered over the API first", questions, byAPI)
	verify(t, dir)
}

// Callers may leave at any time, and people answer at any time.
func TestACancellationAndAYesAtOnceLeaveOneEnd(t *testing.T) {
	dir := dataDir(t)
	s, d := serve(t, dir, options{}), openDesk(t, dir)
	rounds := 15
	if long() {
		rounds = 200
	}
	for range rounds {
		a := s.ask(call{Code: slow, Timeout: 200})
		q := d.question(a.Operation)
		var both sync.WaitGroup
		both.Go(func() { _ = d.Decide(t.Context(), yes(a.Operation, q)) }) // it may come too late
		b := s.use("cancel_operation", query{Operation: a.Operation})
		both.Wait()
		if b.Status != "cancelled" {
			t.Fatalf("%s", b.raw)
		}
		if n := d.of(a.Operation, audit.Finished, ""); n != 1 {
			t.Fatalf("it ended %d times", n)
		}
	}
	verify(t, dir)
}

func TestCodeThatIsNotToBeKeptIsKeptUntilItIsDecided(t *testing.T) {
	dir := dataDir(t)
	s, d := serve(t, dir, options{flags: []string{"--records-code", "off"}}), openDesk(t, dir)
	const secret = "a-word-that-is-not-kept"
	code := "'" + secret + "'\n" + asking
	approved, denied, withdrawn := s.ask(call{Code: code}), s.ask(call{Code: code, Stdin: secret}), s.ask(call{Code: code})
	s.stop()
	s = serve(t, dir, options{flags: []string{"--records-code", "off"}})
	for _, a := range []answer{approved, denied, withdrawn} {
		if r, err := d.Find(t.Context(), execution.ID(a.Operation)); err != nil || r.Request.Code != code {
			t.Errorf("what a human has to see is gone: %+v, %v", r, err)
		}
	}
	d.decide(no(denied.Operation, d.question(denied.Operation), "")) // by a process that keeps code
	d.approve(approved.Operation)
	ran(t, s.outcome(approved.Operation))
	if b := s.use("cancel_operation", query{Operation: withdrawn.Operation}); b.Status != "cancelled" {
		t.Errorf("%s", b.raw)
	}
	for _, a := range []answer{approved, denied, withdrawn} {
		r, err := d.records.Find(t.Context(), execution.ID(a.Operation))
		if err != nil || r.State != execution.StateFinished || r.Request.Code != "" || len(r.Request.Stdin) != 0 || r.Approval != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	s.stop()
	if err := d.records.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, secret)
	verify(t, dir)
}

// holds expects that no file of the records holds a text.
func holds(t *testing.T, dir, secret string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, store.File+"*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		if text := read(t, name); strings.Contains(text, secret) {
			t.Errorf("%s holds it", name)
		}
	}
}
