package authz_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// clock is set by hand.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

// record keeps events until it is told to fail.
type record struct {
	mu     sync.Mutex
	events []audit.Event
	err    error
}

func (r *record) Record(_ context.Context, events ...audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	r.events = append(r.events, events...)
	return nil
}

// An hour is how long questions stand, and nobody has no time to be asked.
const (
	anHour = time.Hour
	nobody = time.Duration(0)
)

func everyMechanism(gear.Frozen, policy.Permission) (bool, string) { return true, "" }

func noMechanism(_ gear.Frozen, p policy.Permission) (bool, string) {
	return false, "Nothing here grants " + p.String() + "."
}

type world struct {
	clock  *clock
	record *record
	door   *authz.Door
}

func newWorld(t *testing.T, patience time.Duration, m authz.Mechanisms) world {
	t.Helper()
	w := world{clock: &clock{time.Unix(1_000_000, 0)}, record: &record{}}
	d, err := authz.New(authz.Config{Recorder: w.record, Patience: func() time.Duration { return patience }, Mechanisms: m, Now: w.clock.read})
	if err != nil {
		t.Fatal(err)
	}
	w.door = d
	return w
}

func frozen(t *testing.T, name string, allow ...string) gear.Frozen {
	t.Helper()
	return overlaid(t, name, allow, nil, nil)
}

func overlaid(t *testing.T, name string, allow, ask, deny []string) gear.Frozen {
	t.Helper()
	g, err := gear.OpenRegistry(t.TempDir()).Get(name)
	if err != nil {
		t.Fatal(err)
	}
	o, err := gear.ParseOverlays(allow, ask, deny)
	if err != nil {
		t.Fatal(err)
	}
	f, err := gear.Freeze(g, nil, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// open is a sandboxed gear whose default allows everything.
func open(t *testing.T) gear.Frozen {
	t.Helper()
	f, err := gear.Freeze(gear.Gear{Name: "open", Execution: true, Isolation: gear.Sandbox, Default: policy.Allow}, nil, nil, gear.Overlays{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func subject(s string) execution.Digest { return execution.DigestOf([]byte(s)) }

func action(g gear.Frozen, asks ...policy.Permission) authz.Action {
	return authz.Action{
		Operation: "op_test", Principal: execution.Local, Gear: g, Moment: authz.BeforeRun,
		Code: subject("source"), Subject: subject("program"), Asks: asks,
	}
}

func perm(k policy.Kind, target string) policy.Permission {
	return policy.Permission{Kind: k, Target: target, Line: 3, Column: 5}
}

func denied(t *testing.T, p authz.Permit, err error) *authz.DeniedError {
	t.Helper()
	var d *authz.DeniedError
	if !errors.As(err, &d) {
		t.Fatalf("error %v is no refusal", err)
	}
	if p.Use(subject("program")) {
		t.Fatal("a refusal came with a permit that can be used")
	}
	return d
}

func TestZeroPermitCoversNothing(t *testing.T) {
	var p authz.Permit
	if p.Covers(subject("program"), perm(policy.Import, "os")) || p.Use(subject("program")) || p.Use(execution.Digest{}) {
		t.Error("the zero permit is good for something")
	}
}

func TestPermitIsGoodOnceAndForItsSubjectOnly(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "restricted"), perm(policy.Import, "math")))
	if err != nil {
		t.Fatal(err)
	}
	if p.Use(subject("another program")) || p.Use(execution.Digest{}) {
		t.Error("the permit was used for another subject")
	}
	if !p.Covers(subject("program"), perm(policy.Import, "math")) {
		t.Error("the permit does not cover what was asked for")
	}
	if p.Covers(subject("program"), perm(policy.Import, "json")) || p.Covers(subject("another program"), perm(policy.Import, "math")) {
		t.Error("the permit covers what was not asked for")
	}
	if !p.Use(subject("program")) {
		t.Error("the permit cannot be used")
	}
	if p.Use(subject("program")) {
		t.Error("the permit was used twice")
	}
}

func TestPermitExpires(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "restricted")))
	if err != nil {
		t.Fatal(err)
	}
	w.clock.now = w.clock.now.Add(time.Hour)
	if p.Use(subject("program")) {
		t.Error("an expired permit was used")
	}
}

func TestOfManyUsersOfOnePermitOneWins(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "restricted")))
	if err != nil {
		t.Fatal(err)
	}
	var won atomic.Int32
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			if p.Use(subject("program")) {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d users won", won.Load())
	}
}

func TestWithoutGearOrSubjectNothingIsPermitted(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(gear.Frozen{}))
	denied(t, p, err)
	a := action(frozen(t, "restricted"))
	a.Subject = execution.Digest{}
	p, err = w.door.Authorize(t.Context(), a)
	denied(t, p, err)
}

func TestGearWithExecutionOffPermitsNothing(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "read_only")))
	if d := denied(t, p, err); !strings.Contains(d.Error(), "read_only") {
		t.Errorf("the refusal does not name the gear: %v", d)
	}
}

func TestARefusalThatCannotBeRecordedIsStillOneAndSaysSo(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	w.record.err = errors.New("disk full")
	for name, a := range map[string]authz.Action{
		"by a rule":       action(frozen(t, "restricted"), perm(policy.Import, "subprocess")),
		"by nobody asked": action(overlaid(t, "restricted", nil, []string{"import(subprocess)"}, nil), perm(policy.Import, "subprocess")),
		"by the gear":     action(frozen(t, "read_only")),
	} {
		p, err := w.door.Authorize(t.Context(), a)
		if !errors.Is(err, w.record.err) {
			t.Errorf("%s: the failure of the record is not reported: %v", name, err)
		}
		denied(t, p, err)
	}
}

func TestAPermitBringsWhatWasDecidedForTheRecordOfTheStart(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "restricted"), perm(policy.Import, "math"), perm(policy.Import, "json")))
	if err != nil {
		t.Fatal(err)
	}
	events := p.Decisions()
	if len(w.record.events) != 0 || len(events) != 2 || events[0].Permission != "import(math)" || events[1].Permission != "import(json)" ||
		events[0].Type != audit.Decided || events[0].Decision != "allow" || events[0].Rule == "" || events[0].Reason == "" {
		t.Errorf("recorded %v, to be recorded %+v", w.record.events, events)
	}
	if none := (authz.Permit{}).Decisions(); none != nil {
		t.Errorf("the zero permit decided %v", none)
	}
}

func TestOneRefusedPermissionRefusesAll(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "restricted"), perm(policy.Import, "math"), perm(policy.Import, "subprocess")))
	d := denied(t, p, err)
	if len(d.Refusals) != 1 {
		t.Fatalf("refusals: %+v", d.Refusals)
	}
	r := d.Refusals[0]
	if r.Decision.Permission != perm(policy.Import, "subprocess") || r.Allow != "import(subprocess)" {
		t.Errorf("refusal: %+v", r)
	}
	if !strings.Contains(r.Hint, "The gear restricted does not list the module subprocess.") {
		t.Errorf("hint: %s", r.Hint)
	}
	if n := len(w.record.events); n != 3 {
		t.Errorf("%d events recorded, want two decisions and a refusal", n)
	}
}

func TestAskWithNobodyToAskIsRefusedAtOnceAndNamesTheRule(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed"), perm(policy.Net, "api.github.com:443")))
	r := denied(t, p, err).Refusals[0]
	if r.Allow != "net(api.github.com:443)" || !strings.Contains(r.Hint, "nobody is asked here") {
		t.Errorf("refusal: %+v", r)
	}
}

func pending(t *testing.T, p authz.Permit, err error) *authz.PendingError {
	t.Helper()
	var e *authz.PendingError
	if !errors.As(err, &e) || p.Use(subject("program")) {
		t.Fatalf("error %v", err)
	}
	return e
}

func TestAskIsOneQuestionAboutAllThatNeedsAYes(t *testing.T) {
	w := newWorld(t, anHour, everyMechanism)
	a := action(frozen(t, "user_confirmed"), perm(policy.Net, "api.github.com:443"), perm(policy.Import, "json"), perm(policy.Run, "git"))
	a.Source = "one\ntwo"
	a.Asks[0].Line, a.Asks[0].Column = 2, 7
	p, err := w.door.Authorize(t.Context(), a)
	e := pending(t, p, err)
	q := e.Question
	if len(q.Asked) != 2 || q.Asked[0].String() != "net(api.github.com:443)" || q.Asked[0].Source != "two" || q.Asked[0].Allow != "net(api.github.com:443)" ||
		q.Asked[1].String() != "run(git)" || !strings.Contains(q.Summary, "run(git)") || q.Hash.IsZero() || !q.Expires.Equal(w.clock.now.Add(anHour)) {
		t.Errorf("the question is %+v", q)
	}
	if len(w.record.events) != 0 || len(e.Events) != 4 || e.Events[3].Type != audit.Approval || e.Events[3].Details["hash"] != q.Hash.String() {
		t.Errorf("recorded %v, to be recorded with the question %+v", w.record.events, e.Events)
	}
}

func TestAYesPermitsExactlyWhatWasAsked(t *testing.T) {
	w := newWorld(t, anHour, everyMechanism)
	a := action(frozen(t, "user_confirmed"), perm(policy.Run, "git"), perm(policy.Import, "json"))
	p, err := w.door.Authorize(t.Context(), a)
	q := pending(t, p, err).Question
	yes := func(change func(*execution.Approval, *authz.Action)) (authz.Permit, error) {
		answered, again := q, a
		answered.Answer = &execution.Answer{Verdict: execution.Approved, By: "a test"}
		change(&answered, &again)
		again.Approval = &answered
		return w.door.Authorize(t.Context(), again)
	}
	p, err = yes(func(*execution.Approval, *authz.Action) {})
	if err != nil || !p.Covers(a.Subject, a.Asks[0]) {
		t.Fatalf("the very same is not permitted: %v", err)
	}
	if e := p.Decisions()[0]; e.Decision != "allow" || e.Rule != "approval" || !strings.Contains(e.Reason, "a test") {
		t.Errorf("recorded %+v", e)
	}
	for name, change := range map[string]func(*execution.Approval, *authz.Action){
		"no answer":           func(q *execution.Approval, _ *authz.Action) { q.Answer = nil },
		"a no":                func(q *execution.Approval, _ *authz.Action) { q.Answer.Verdict = execution.Refused },
		"another operation":   func(_ *execution.Approval, a *authz.Action) { a.Operation = "op_other" },
		"another principal":   func(_ *execution.Approval, a *authz.Action) { a.Principal = "token:other" },
		"another subject":     func(_ *execution.Approval, a *authz.Action) { a.Subject = subject("another program") },
		"another code":        func(_ *execution.Approval, a *authz.Action) { a.Code = subject("code") },
		"one more permission": func(_ *execution.Approval, a *authz.Action) { a.Asks = append(a.Asks, perm(policy.Run, "curl")) },
		"another permission":  func(_ *execution.Approval, a *authz.Action) { a.Asks = []policy.Permission{perm(policy.Run, "gitk")} },
		"another place": func(_ *execution.Approval, a *authz.Action) {
			a.Asks = []policy.Permission{{Kind: policy.Run, Target: "git", Line: 9}}
		},
		"a later end":           func(q *execution.Approval, _ *authz.Action) { q.Expires = q.Expires.Add(anHour) },
		"no hash":               func(q *execution.Approval, _ *authz.Action) { q.Hash = execution.Digest{} },
		"the hash of something": func(q *execution.Approval, _ *authz.Action) { q.Hash = subject("something") },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := yes(change)
			pending(t, p, err)
		})
	}
	w.clock.now = q.Expires
	p, err = yes(func(*execution.Approval, *authz.Action) {})
	pending(t, p, err)
}

func TestAYesDoesNotOpenWhatIsDenied(t *testing.T) {
	w := newWorld(t, anHour, everyMechanism)
	a := action(overlaid(t, "user_confirmed", nil, nil, []string{"run(git)"}), perm(policy.Run, "git"))
	a.Approval = &execution.Approval{Hash: subject("x"), Expires: w.clock.now.Add(anHour), Answer: &execution.Answer{Verdict: execution.Approved}}
	p, err := w.door.Authorize(t.Context(), a)
	denied(t, p, err)
}

func TestNobodyIsAskedWhenAnotherPermissionIsRefused(t *testing.T) {
	w := newWorld(t, anHour, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed"), perm(policy.Net, "api.github.com:443"), perm(policy.Net, "169.254.169.254:80")))
	if d := denied(t, p, err); len(d.Refusals) != 2 {
		t.Errorf("%d refusals", len(d.Refusals))
	}
}

func TestNobodyIsAskedForWhatNothingCanCarryOut(t *testing.T) {
	w := newWorld(t, anHour, noMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed"), perm(policy.Net, "api.github.com:443")))
	r := denied(t, p, err).Refusals[0]
	if r.Decision.Effect != policy.Deny || !strings.Contains(r.Hint, "nothing here can carry it out") {
		t.Errorf("refusal %+v", r)
	}
}

func TestGrantByRuleWithoutMechanismIsRefused(t *testing.T) {
	w := newWorld(t, nobody, noMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed", "net(api.github.com)"), perm(policy.Net, "api.github.com:443")))
	r := denied(t, p, err).Refusals[0]
	if r.Hint != "Nothing here grants net(api.github.com:443)." || r.Allow != "" {
		t.Errorf("refusal: %+v", r)
	}
}

func TestDefaultThatAllowsNeedsNoMechanism(t *testing.T) {
	w := newWorld(t, nobody, noMechanism)
	p, err := w.door.Authorize(t.Context(), action(open(t), perm(policy.Net, "api.github.com:443"), perm(policy.Read, "/etc/passwd")))
	if err != nil || !p.Use(subject("program")) {
		t.Errorf("refused: %v", err)
	}
}

func TestRefusalByTheGearItselfNamesNoRuleToAdd(t *testing.T) {
	deny, err := policy.ParseRule("net(evil.example.com)")
	if err != nil {
		t.Fatal(err)
	}
	g := gear.Gear{Name: "own", Execution: true, Isolation: gear.Sandbox, Default: policy.Ask, Rules: policy.RuleSet{Deny: []policy.Rule{deny}}}
	f, err := gear.Freeze(g, nil, nil, gear.Overlays{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(f, perm(policy.Net, "evil.example.com:443")))
	if r := denied(t, p, err).Refusals[0]; r.Allow != "" || r.Decision.Rule != "net(evil.example.com)" ||
		!strings.Contains(r.Hint, "The gear own denies net(evil.example.com).") || !strings.Contains(r.Hint, "No --allow changes that") {
		t.Errorf("refusal: %+v", r)
	}
}

func TestDoorNeedsEverything(t *testing.T) {
	full := authz.Config{Recorder: &record{}, Patience: func() time.Duration { return 0 }, Mechanisms: everyMechanism, Now: time.Now}
	for name, spoil := range map[string]func(*authz.Config){
		"recorder":   func(c *authz.Config) { c.Recorder = nil },
		"patience":   func(c *authz.Config) { c.Patience = nil },
		"mechanisms": func(c *authz.Config) { c.Mechanisms = nil },
		"clock":      func(c *authz.Config) { c.Now = nil },
	} {
		c := full
		spoil(&c)
		if _, err := authz.New(c); err == nil {
			t.Errorf("a door without %s was made", name)
		}
	}
}

func TestRecordHoldsDigestsAndReasonsNotSource(t *testing.T) {
	w := newWorld(t, nobody, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "restricted"), perm(policy.Run, "git")))
	denied(t, p, err)
	first := w.record.events[0]
	if first.Type != audit.Decided || first.Permission != "run(git)" || first.Decision != "deny" || first.Rule != "default" ||
		first.Code != subject("source") || first.Operation != "op_test" || first.Time != w.clock.now || first.Reason == "" {
		t.Errorf("event: %+v", first)
	}
	last := w.record.events[len(w.record.events)-1]
	if last.Type != audit.Refused || last.Status != execution.StatusDenied {
		t.Errorf("event: %+v", last)
	}
}
