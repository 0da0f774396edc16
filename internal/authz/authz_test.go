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

// human counts the questions and answers none of them.
type human struct {
	asked int
	err   error
}

func (h *human) Open(context.Context, authz.Action) (authz.Ticket, error) {
	h.asked++
	return authz.Ticket{Request: "op_request"}, h.err
}

func everyMechanism(gear.Frozen, policy.Permission) (bool, string) { return true, "" }

func noMechanism(_ gear.Frozen, p policy.Permission) (bool, string) {
	return false, "Nothing here grants " + p.String() + "."
}

type world struct {
	clock    *clock
	record   *record
	approver authz.Approver
	door     *authz.Door
}

func newWorld(t *testing.T, a authz.Approver, m authz.Mechanisms) world {
	t.Helper()
	w := world{clock: &clock{time.Unix(1_000_000, 0)}, record: &record{}, approver: a}
	d, err := authz.New(authz.Config{Recorder: w.record, Approver: a, Mechanisms: m, Now: w.clock.read})
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
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
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
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
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
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
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
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(gear.Frozen{}))
	denied(t, p, err)
	a := action(frozen(t, "restricted"))
	a.Subject = execution.Digest{}
	p, err = w.door.Authorize(t.Context(), a)
	denied(t, p, err)
}

func TestGearWithExecutionOffPermitsNothing(t *testing.T) {
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "read_only")))
	if d := denied(t, p, err); !strings.Contains(d.Error(), "read_only") {
		t.Errorf("the refusal does not name the gear: %v", d)
	}
}

func TestARefusalThatCannotBeRecordedIsStillOneAndSaysSo(t *testing.T) {
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
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

func TestAQuestionWhoseDecisionsCannotBeRecordedIsNoPermit(t *testing.T) {
	w := newWorld(t, &human{}, everyMechanism)
	w.record.err = errors.New("disk full")
	p, err := w.door.Authorize(t.Context(), action(overlaid(t, "restricted", nil, []string{"import(subprocess)"}, nil), perm(policy.Import, "subprocess")))
	if !errors.Is(err, w.record.err) || p.Use(subject("program")) {
		t.Errorf("got %v", err)
	}
}

func TestAPermitBringsWhatWasDecidedForTheRecordOfTheStart(t *testing.T) {
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
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
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
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

func TestAskWithoutApproverIsRefusedAtOnceAndNamesTheRule(t *testing.T) {
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed"), perm(policy.Net, "api.github.com:443")))
	r := denied(t, p, err).Refusals[0]
	if r.Allow != "net(api.github.com:443)" || !strings.Contains(r.Hint, "no approver is connected") {
		t.Errorf("refusal: %+v", r)
	}
}

func TestAskWithApproverIsPending(t *testing.T) {
	h := &human{}
	w := newWorld(t, h, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed"), perm(policy.Net, "api.github.com:443")))
	var pending *authz.PendingError
	if !errors.As(err, &pending) || pending.Request != "op_request" || h.asked != 1 || p.Use(subject("program")) {
		t.Errorf("error %v after %d questions", err, h.asked)
	}
}

func TestApproverThatFailsMeansNo(t *testing.T) {
	h := &human{err: errors.New("store closed")}
	w := newWorld(t, h, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed"), perm(policy.Net, "api.github.com:443")))
	if !errors.Is(err, h.err) || p.Use(subject("program")) {
		t.Errorf("error %v", err)
	}
}

func TestNobodyIsAskedWhenAnotherPermissionIsRefused(t *testing.T) {
	h := &human{}
	w := newWorld(t, h, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed"), perm(policy.Net, "api.github.com:443"), perm(policy.Net, "169.254.169.254:80")))
	if d := denied(t, p, err); len(d.Refusals) != 2 || h.asked != 0 {
		t.Errorf("%d refusals, %d questions", len(d.Refusals), h.asked)
	}
}

func TestNobodyIsAskedForWhatNothingCanCarryOut(t *testing.T) {
	h := &human{}
	w := newWorld(t, h, noMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed"), perm(policy.Net, "api.github.com:443")))
	r := denied(t, p, err).Refusals[0]
	if h.asked != 0 || r.Decision.Effect != policy.Deny || !strings.Contains(r.Hint, "nothing here can carry it out") {
		t.Errorf("%d questions, refusal %+v", h.asked, r)
	}
}

func TestGrantByRuleWithoutMechanismIsRefused(t *testing.T) {
	w := newWorld(t, authz.NoApprover{}, noMechanism)
	p, err := w.door.Authorize(t.Context(), action(frozen(t, "user_confirmed", "net(api.github.com)"), perm(policy.Net, "api.github.com:443")))
	r := denied(t, p, err).Refusals[0]
	if r.Hint != "Nothing here grants net(api.github.com:443)." || r.Allow != "" {
		t.Errorf("refusal: %+v", r)
	}
}

func TestDefaultThatAllowsNeedsNoMechanism(t *testing.T) {
	w := newWorld(t, authz.NoApprover{}, noMechanism)
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
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
	p, err := w.door.Authorize(t.Context(), action(f, perm(policy.Net, "evil.example.com:443")))
	if r := denied(t, p, err).Refusals[0]; r.Allow != "" || r.Decision.Rule != "net(evil.example.com)" ||
		!strings.Contains(r.Hint, "The gear own denies net(evil.example.com).") || !strings.Contains(r.Hint, "No --allow changes that") {
		t.Errorf("refusal: %+v", r)
	}
}

func TestDoorNeedsEverything(t *testing.T) {
	full := authz.Config{Recorder: &record{}, Approver: authz.NoApprover{}, Mechanisms: everyMechanism, Now: time.Now}
	for name, spoil := range map[string]func(*authz.Config){
		"recorder":   func(c *authz.Config) { c.Recorder = nil },
		"approver":   func(c *authz.Config) { c.Approver = nil },
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
	w := newWorld(t, authz.NoApprover{}, everyMechanism)
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
