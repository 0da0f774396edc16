//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// caught is a program that tells what a call came to.
const caught = `
def told(f, **arguments):
    try:
        return f(**arguments)
    except tools.ToolError as e:
        return [type(e).__name__, str(e)]
`

func TestAProgramWaitsForAYesToItsCallAndItsTimeStandsStill(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	id := a.call("s.echo(n=1)")
	q := a.question(id)
	if q.Approval.Summary != "The call of S.echo needs a human's yes." || q.Approval.Asked[0].String() != "tool(S.echo)" || q.Approval.Asked[0].Allow != "tool(S.echo)" {
		t.Errorf("%+v", q.Approval)
	}
	if asked := a.engine.AskedBy(id); !slices.Equal(asked, []execution.ID{q.ID}) || len(a.engine.AskedBy("op_other")) != 0 {
		t.Errorf("asked %v", asked)
	}
	a.clock.pass(5 * time.Minute) // of a timeout of two seconds
	if len(a.server.calls()) != 0 {
		t.Error("it was called without a yes")
	}
	a.approve(q)
	r := a.wait(id)
	if got := value[map[string]int](t, r); got["n"] != 1 || len(a.server.calls()) != 1 || r.DurationMS > 100_000 {
		t.Errorf("%+v", r)
	}
	if r := a.wait(q.ID); r.Status != execution.StatusOK {
		t.Errorf("the call's own operation: %+v", r)
	}
	if len(a.engine.AskedBy(id)) != 0 {
		t.Error("it is still asked about")
	}
}

func TestTheTimeOfARunPassesAgainWhileItsApprovedCallIsMade(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	a.server.slow = make(chan struct{})
	id := a.call("s.echo(n=1)")
	a.approve(a.question(id))
	for len(a.server.calls()) == 0 && t.Context().Err() == nil {
		a.resume()
	}
	a.clock.pass(3 * time.Second)
	if r := a.wait(id); r.Status != execution.StatusTimeout {
		t.Errorf("%+v", r)
	}
}

func TestARunStandsStillForNoLongerThanItMay(t *testing.T) {
	a := newAsker(t, benchConfig{}, func(c *engine.Config) { c.MaxPause = func() time.Duration { return time.Minute } })
	id := a.call(caught + "[told(s.echo, n=1), told(s.echo, n=2)]")
	q := a.question(id)
	if d := q.Approval.Expires.Sub(q.Approval.Created); d > time.Minute {
		t.Errorf("the question stands for %v", d)
	}
	a.clock.pass(time.Minute + time.Second)
	got := value[[][]string](t, a.wait(id))
	if got[0][0] != "ApprovalDenied" || !strings.Contains(got[0][1], "Nobody decided") || got[1][0] != "ApprovalDenied" || !strings.Contains(got[1][1], "for as long as it may") {
		t.Errorf("%q", got)
	}
	if r := a.wait(q.ID); r.Status != execution.StatusCancelled || len(a.server.calls()) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestANoWithAMessageReachesTheProgramWhichGoesOn(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	id := a.call(caught + "[told(s.echo, n=1), 'and on']")
	a.decide(a.question(id), execution.Refused, "use the staging host")
	got := value[[]any](t, a.wait(id))
	told := got[0].([]any)
	if told[0] != "ApprovalDenied" || !strings.Contains(told[1].(string), "use the staging host") || got[1] != "and on" || len(a.server.calls()) != 0 {
		t.Errorf("%q", got)
	}
}

func TestAnApprovedCallThatFailsTellsTheProgramInTheToolsOwnWords(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	id := a.call(caught + "told(s.echo, n='fails')")
	a.approve(a.question(id))
	if got := value[[]string](t, a.wait(id)); got[0] != "ToolError" || got[1] != "no such luck" {
		t.Errorf("%q", got)
	}
}

func TestTheEndOfARunWithdrawsWhatItsCallsAsked(t *testing.T) {
	for name, end := range map[string]func(*asker, execution.ID){
		"cancelled": func(a *asker, id execution.ID) { _, _ = a.engine.Cancel(context.Background(), execution.Local, id) },
		"shut down": func(a *asker, _ execution.ID) { a.engine.Shut() },
		"killed":    func(a *asker, _ execution.ID) { a.hold.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsker(t, benchConfig{}, nil)
			a.holdChildren()
			id := a.call("s.echo(n=1)")
			q := a.question(id)
			end(a, id)
			a.wait(id)
			r, err := a.desk().Find(t.Context(), q.ID)
			if err != nil || r.State != execution.StateFinished || r.Result.Status != execution.StatusCancelled {
				t.Errorf("%+v, %v", r, err)
			}
			a.refuses(yes(q.ID, q.Approval), approval.Decided, "no longer open")
			if len(a.server.calls()) != 0 {
				t.Error("it was called")
			}
		})
	}
}

func TestACallOfAServerThatDiedIsNotMadeByAnother(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	q := a.question(a.call("s.echo(n=1)"))
	other := a.another(t) // knows of no program that waits
	a.decide(q, execution.Approved, "")
	if _, err := other.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := a.wait(q.ID); r.Status != execution.StatusInterrupted || !strings.Contains(r.Stderr, "has ended") || len(a.server.calls()) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestTwoCallsOfARunAreAskedAboutAtOnceAndAnsweredInAnyOrder(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	a.holdChildren()
	id := a.call("r = await asyncio.gather(s.aio.echo(n=1), s.aio.echo(n=2))\nr")
	both := a.questions(id, 2)
	a.clock.pass(time.Minute)
	a.approve(both[1])
	a.clock.pass(time.Minute) // one still waits
	a.approve(a.question(id))
	if got := marshalled(value[[]any](t, a.wait(id))); fmt.Sprint(got) != `[{"n":1} {"n":2}]` {
		t.Errorf("%v", got)
	}
	if rested, woke := a.hold.rested.Load(), a.hold.woke.Load(); rested != 1 || woke != 1 {
		t.Errorf("its place was lent %d times and taken back %d times", rested, woke)
	}
}

func TestAfterAlwaysLaterCallsOfTheSameRunAreMadeUnasked(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	id := a.call("[s.echo(n=i)['n'] for i in range(3)]")
	q := a.question(id)
	rules, err := gear.ParseOverlays([]string{q.Approval.Asked[0].Allow}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.gears.set(rules) // as the answer always does
	a.approve(q)
	if got := value[[]int](t, a.wait(id)); !slices.Equal(got, []int{0, 1, 2}) || len(a.server.calls()) != 3 {
		t.Errorf("%v, %v", got, a.server.calls())
	}
}

func TestRulesThatChangeWhileACallIsAskedAboutDecideOnIt(t *testing.T) {
	for name, c := range map[string]struct{ allow, deny, want string }{
		"allowed": {"tool(S.echo)", "", `{"n":1}`},
		"denied":  {"", "tool(S.echo)", `"PolicyDenied"`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsker(t, benchConfig{}, nil)
			id := a.call(caught + "told(s.echo, n=1)")
			q := a.question(id)
			rules, err := gear.ParseOverlays(strings.Fields(c.allow), nil, strings.Fields(c.deny))
			if err != nil {
				t.Fatal(err)
			}
			if err := a.engine.Outdate(t.Context(), []execution.Record{q}, &askGears{rules: rules, calls: 200, gear: "user_confirmed"}); err != nil {
				t.Fatal(err)
			}
			a.gears.set(rules)
			a.refuses(yes(q.ID, q.Approval), approval.Stale, "the rules changed")
			if a.resume() != 1 {
				t.Error("it was not decided anew")
			}
			r := a.wait(id)
			if r.Status != execution.StatusOK || !strings.Contains(string(r.Value), c.want) {
				t.Errorf("%s: %+v", r.Value, r)
			}
		})
	}
}

func TestWithNobodyToAskAProgramIsToldAtOnceWhichRuleWouldPermitItsCall(t *testing.T) {
	a := newAsker(t, benchConfig{patience: -1}, nil)
	id := a.call(caught + "told(s.echo, n=1)")
	got := value[[]string](t, a.wait(id))
	if got[0] != "PolicyDenied" || !strings.Contains(got[1], "--allow 'tool(S.echo)'") || !strings.Contains(got[1], "nobody is asked here") {
		t.Errorf("%q", got)
	}
}

func TestARunThatWaitsCountsOnceAmongThoseOfItsPrincipal(t *testing.T) {
	var entered atomic.Int64
	a := newAsker(t, benchConfig{}, func(c *engine.Config) {
		c.Enter = func(execution.Principal) (func(), error) {
			entered.Add(1)
			return nil, &execution.RejectedError{Code: execution.CodeUnavailable, Message: "one is under way"}
		}
	})
	id := a.call("s.echo(n=1)")
	a.approve(a.question(id))
	value[map[string]int](t, a.wait(id))
	if entered.Load() != 0 {
		t.Error("the call counted as an execution beside the run that waits for it")
	}
}

func TestWhileARunWaitsForAHumanOthersHaveItsPlace(t *testing.T) {
	a := newAsker(t, benchConfig{turns: 1}, nil)
	var waiting []execution.ID
	for range 3 { // where one may be at work
		id := a.call("s.echo(n=1)['n']")
		a.question(id)
		waiting = append(waiting, id)
	}
	if got := value[int](t, a.run(execution.Request{Code: "6 * 7"})); got != 42 {
		t.Error(got)
	}
	for _, id := range waiting {
		a.approve(a.question(id))
		value[int](t, a.wait(id))
	}
}

func TestNoMoreRunsWaitThanThePoolCanBear(t *testing.T) {
	a := newAsker(t, benchConfig{turns: 1}, nil)
	a.holdChildren()
	a.hold.full.Store(true)
	got := value[[]string](t, a.wait(a.call(caught+"told(s.echo, n=1)")))
	if got[0] != "ApprovalDenied" || !strings.Contains(got[1], "too many runs wait") || len(a.server.calls()) != 0 {
		t.Errorf("%q", got)
	}
}

func TestALoopOfCallsIsALoopOfQuestionsUpToTheLimitOfCalls(t *testing.T) {
	const calls = 20
	a := newAsker(t, benchConfig{}, nil)
	a.gears.calls = calls
	id := a.call("made = 0\ntry:\n    while True:\n        s.echo(n=made)\n        made += 1\nexcept tools.CallLimitExceeded:\n    pass\nmade")
	seen := map[execution.Digest]bool{}
	for range calls {
		q := a.question(id)
		seen[q.Approval.Hash] = true
		a.approve(q)
		a.wait(q.ID)
	}
	if got := value[int](t, a.wait(id)); got != calls || len(seen) != calls || len(a.server.calls()) != calls {
		t.Errorf("%d calls after %d questions", got, len(seen))
	}
}

func TestAYesIsOneToTheToolAsItWasDescribed(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	id := a.call("s.echo(n=1)")
	q := a.question(id)
	a.server.describe("another", "Its description changed.")
	a.approve(q)
	again := a.question(id)
	if again.ID != q.ID || again.Approval.Hash == q.Approval.Hash || again.Approval.Again != execution.AgainOther || len(a.server.calls()) != 0 {
		t.Errorf("%+v, called %v", again.Approval, a.server.calls())
	}
	a.refuses(yes(q.ID, q.Approval), approval.Stale, "asked about again")
	a.approve(again)
	value[map[string]int](t, a.wait(id))
	if len(a.server.calls()) != 1 {
		t.Errorf("called %v", a.server.calls())
	}
}

func TestAChangedToolAsksEvenWhereTheRulesAllowItsCall(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	rules, err := gear.ParseOverlays([]string{"tool(**)"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.gears.set(rules)
	a.server.describe("another", "Its description changed.")
	id := a.call("s.echo(n=1)")
	if q := a.question(id); q.Approval.Asked[0].Reason != "Its description changed." || q.Approval.Asked[0].Allow != "" {
		t.Errorf("%+v", q.Approval)
	}
}

// meantS tells what the functions of s are, once the server was waited for.
type meantS struct {
	mu     sync.Mutex
	waited [][]string
}

func (m *meantS) Await(_ context.Context, targets []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waited = append(m.waited, targets)
}

func (m *meantS) Meant(target string) (policy.Permission, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return policy.Permission{Kind: policy.Tool, Target: "S.echo"}, strings.HasSuffix(target, "s.echo") && len(m.waited) > 0
}

func TestServersAreWaitedForBeforeAScriptOnlyWhereItsQuestionIsAboutTheirTools(t *testing.T) {
	m := &meantS{}
	a := newAsker(t, benchConfig{}, func(c *engine.Config) { c.Bindings, c.ApproveScripts = m, true })
	value[int](t, a.run(execution.Request{Code: "6 * 7"}))
	if len(m.waited) != 0 {
		t.Errorf("a program without tools waited for %v", m.waited)
	}
	a = newAsker(t, benchConfig{}, func(c *engine.Config) { c.Bindings = m })
	id := a.call("s.echo(n=1)")
	a.approve(a.question(id))
	value[map[string]int](t, a.wait(id))
	if len(m.waited) != 0 {
		t.Errorf("a program whose calls are asked about one by one waited for %v", m.waited)
	}
}

func TestAYesToAScriptIsOneToTheCallsThatStandInItWhereTheOperatorSaysSo(t *testing.T) {
	a := newAsker(t, benchConfig{}, func(c *engine.Config) { c.Bindings, c.ApproveScripts = &meantS{}, true })
	id := a.call("first = s.echo(n=1)['n']\nsecond = tools.call('S', 'other', {'n': 2})['n']\n[first, second]")
	a.until(id, func(r execution.Result) bool { return r.Status == execution.StatusPendingApproval })
	q := a.bench.question(id)
	if q.Asked[0].String() != "tool(S.echo)" || q.Asked[0].Line != 3 || len(q.Asked) != 1 {
		t.Errorf("%+v", q)
	}
	if err := a.desk().Decide(t.Context(), yes(id, q)); err != nil {
		t.Fatal(err)
	}
	a.resume()
	other := a.question(id) // the one that the analysis did not see
	if other.Approval.Asked[0].String() != "tool(S.other)" || len(a.server.calls()) != 1 {
		t.Errorf("%+v, called %v", other.Approval, a.server.calls())
	}
	a.approve(other)
	if got := value[[]int](t, a.wait(id)); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("%v", got)
	}
}

func TestTheRecordTellsWhoAskedAboutACallAndWhatItCame(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	id := a.call("s.echo(n=1)")
	q := a.question(id)
	a.approve(q)
	a.wait(id)
	var types []audit.Type
	for _, e := range a.events.all() {
		if e.Operation == q.ID {
			types = append(types, e.Type)
		}
	}
	want := []audit.Type{audit.Requested, audit.Decided, audit.Approval, audit.Approval, audit.Decided, audit.Started, audit.ToolCall, audit.ToolCall, audit.Finished}
	if !slices.Equal(types, want) {
		t.Errorf("%v", types)
	}
}
