package authz_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// asked puts the question about an action.
func asked(t *testing.T, w world, a authz.Action) execution.Approval {
	t.Helper()
	_, err := w.door.Authorize(t.Context(), a)
	var pending *authz.PendingError
	if !errors.As(err, &pending) {
		t.Fatalf("%+v is not asked about: %v", a.Asks, err)
	}
	return pending.Question
}

func TestEveryPartOfWhatWouldHappenChangesTheQuestion(t *testing.T) {
	w := newWorld(t, anHour, everyMechanism)
	base := func() authz.Action {
		return action(frozen(t, "user_confirmed"), perm(policy.Run, "git"), perm(policy.Env, "A"))
	}
	seen := map[execution.Digest]string{}
	add := func(name string, a authz.Action) {
		t.Helper()
		q := asked(t, w, a)
		if other, there := seen[q.Hash]; there {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[q.Hash] = name
	}
	add("the base", base())
	if q := asked(t, w, base()); seen[q.Hash] == "" {
		t.Error("an equal question has another hash")
	}
	for name, change := range map[string]func(*authz.Action){
		"the operation":        func(a *authz.Action) { a.Operation += "x" },
		"the principal":        func(a *authz.Action) { a.Principal += "x" },
		"bytes moved on":       func(a *authz.Action) { a.Operation, a.Principal = a.Operation+"l", "ocal" },
		"the moment":           func(a *authz.Action) { a.Moment += "x" },
		"the code":             func(a *authz.Action) { a.Code[31] ^= 1 },
		"the subject":          func(a *authz.Action) { a.Subject[0] ^= 1 },
		"code and subject":     func(a *authz.Action) { a.Code, a.Subject = a.Subject, a.Code },
		"a kind":               func(a *authz.Action) { a.Asks[0].Kind = policy.Env },
		"a target":             func(a *authz.Action) { a.Asks[0].Target = "gi" },
		"a target with a line": func(a *authz.Action) { a.Asks[0].Target = "git) 3:5" },
		"a line":               func(a *authz.Action) { a.Asks[0].Line++ },
		"a column":             func(a *authz.Action) { a.Asks[0].Column++ },
		"line and column":      func(a *authz.Action) { a.Asks[0].Line, a.Asks[0].Column = 5, 3 },
		"the order":            func(a *authz.Action) { slices.Reverse(a.Asks) },
		"one less":             func(a *authz.Action) { a.Asks = a.Asks[:1] },
		"one more":             func(a *authz.Action) { a.Asks = append(a.Asks, perm(policy.Env, "B")) },
		"one twice":            func(a *authz.Action) { a.Asks = append(a.Asks, a.Asks[1]) },
	} {
		a := base()
		change(&a)
		add(name, a)
	}
	w.clock.now = w.clock.now.Add(1)
	add("the end", base())
}

// Somebody who can write the records can make a question list more than was shown. The
// sandbox is made for that list, so that a yes with another list is none.
func TestAYesCountsForTheListThatWasShownAlone(t *testing.T) {
	w := newWorld(t, anHour, everyMechanism)
	a := action(frozen(t, "user_confirmed"), perm(policy.Run, "git"), perm(policy.Env, "A"))
	q := asked(t, w, a)
	q.Answer = &execution.Answer{Verdict: execution.Approved, By: "a test"}
	for name, change := range map[string]func(*execution.Approval){
		"one more":        func(q *execution.Approval) { q.Asked = append(q.Asked, execution.Asked{Kind: "run", Target: "*"}) },
		"one less":        func(q *execution.Approval) { q.Asked = q.Asked[:1] },
		"another target":  func(q *execution.Approval) { q.Asked[0].Target = "*" },
		"another kind":    func(q *execution.Approval) { q.Asked[0].Kind = "env" },
		"another order":   func(q *execution.Approval) { slices.Reverse(q.Asked) },
		"another line":    func(q *execution.Approval) { q.Asked[0].Line++ },
		"another end":     func(q *execution.Approval) { q.Expires = q.Expires.Add(time.Hour) },
		"another hash":    func(q *execution.Approval) { q.Hash[1] ^= 1 },
		"no hash":         func(q *execution.Approval) { q.Hash = execution.Digest{} },
		"a no":            func(q *execution.Approval) { q.Answer = &execution.Answer{Verdict: execution.Refused} },
		"an expired yes":  func(q *execution.Approval) { q.Answer = &execution.Answer{Verdict: execution.Expired} },
		"an unknown word": func(q *execution.Approval) { q.Answer = &execution.Answer{Verdict: "APPROVED"} },
		"no answer":       func(q *execution.Approval) { q.Answer = nil },
	} {
		other := q
		other.Asked = slices.Clone(q.Asked)
		change(&other)
		b := a
		b.Approval = &other
		if p, err := w.door.Authorize(t.Context(), b); err == nil || p.Use(a.Subject) || p.Approved() {
			t.Errorf("%s: a permit, %v", name, err)
		}
	}
	a.Approval = &q
	if p, err := w.door.Authorize(t.Context(), a); err != nil || !p.Approved() || !p.Use(a.Subject) {
		t.Errorf("the yes as it was given: %v", err)
	}
	w.clock.now = q.Expires
	if _, err := w.door.Authorize(t.Context(), a); err == nil {
		t.Error("it counts at the moment at which it expires")
	}
}

func TestAPermitByTheRulesRestsOnNoYes(t *testing.T) {
	w := newWorld(t, anHour, everyMechanism)
	a := action(frozen(t, "user_confirmed"), perm(policy.Run, "git"))
	q := asked(t, w, a)
	q.Answer = &execution.Answer{Verdict: execution.Approved, By: "a test"}
	a.Approval, a.Gear = &q, frozen(t, "user_confirmed", "run(git)")
	if p, err := w.door.Authorize(t.Context(), a); err != nil || p.Approved() || !p.Use(a.Subject) {
		t.Errorf("%v, approved %t", err, p.Approved())
	}
}

// A program may need very many permissions in one very long line.
func TestAQuestionStaysSmallHoweverLongTheLinesAre(t *testing.T) {
	w := newWorld(t, anHour, everyMechanism)
	a := action(frozen(t, "user_confirmed"))
	a.Source = "\n\n" + strings.Repeat("x\u202e", 1<<18)
	for i := range 2000 {
		a.Asks = append(a.Asks, perm(policy.Run, fmt.Sprintf("p%d", i)))
	}
	q, size := asked(t, w, a), 0
	for _, one := range q.Asked {
		size += len(one.Source)
		if strings.ContainsRune(one.Source, '\u202e') {
			t.Fatal("the source reorders what is shown")
		}
	}
	if len(q.Asked) != 2000 || size > 4<<20 || len(q.Summary) > 1000 {
		t.Errorf("%d permissions, %d bytes of source, a summary of %d", len(q.Asked), size, len(q.Summary))
	}
}

func FuzzNoTwoQuestionsAreOne(f *testing.F) {
	f.Add("git", "A", "git A", "")
	f.Add("a) 1:1", "b", "a", ") 1:1b")
	f.Add("a", "", "", "a")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		w := newWorld(t, anHour, everyMechanism)
		ask := func(one, two string) execution.Digest {
			q := action(frozen(t, "user_confirmed"), perm(policy.Run, "git"))
			q.Operation, q.Principal = execution.ID(one), execution.Principal(two)
			return asked(t, w, q).Hash
		}
		if same := a == c && b == d; (ask(a, b) == ask(c, d)) != same {
			t.Errorf("%q, %q and %q, %q", a, b, c, d)
		}
	})
}
