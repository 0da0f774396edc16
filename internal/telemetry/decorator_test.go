package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

// engineDouble rejects what its err says.
type engineDouble struct {
	telemetry.Engine
	err error
}

func (e *engineDouble) Submit(context.Context, execution.Request) (execution.ID, error) {
	return execution.NewID(), e.err
}

func TestAskedForExecutionsAreCountedWithTheirGear(t *testing.T) {
	m := metrics(t)
	double := &engineDouble{}
	e := m.Engine(double)
	submit := func(r execution.Request) { _, _ = e.Submit(t.Context(), r) }
	submit(execution.Request{Language: execution.Python})
	submit(execution.Request{Language: execution.Python, Gear: "restricted"})
	submit(execution.Request{Language: execution.Bash, Gear: "a gear of the operator"})
	double.err = &execution.RejectedError{Code: execution.CodeUnavailable}
	submit(execution.Request{Language: execution.Python})
	double.err = errors.New("the disk is full")
	submit(execution.Request{Language: execution.Bash})

	got := scrape(t, m)
	const requests, failed = "mcp_execution_requests_total", "mcp_execution_errors_total"
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{2, requests, []string{"language=python", "gear=user_confirmed"}},
		{1, requests, []string{"language=python", "gear=restricted"}},
		{1, requests, []string{"language=bash", "gear=other"}},
		{1, requests, []string{"language=bash", "gear=user_confirmed"}},
		{1, failed, []string{"language=python", "status=rejected"}},
		{1, failed, []string{"language=bash", "status=internal_error"}},
	} {
		if n := value(t, got, c.name, c.labels...); n != c.want {
			t.Errorf("%s%v: %v, want %v", c.name, c.labels, n, c.want)
		}
	}
}

// life commits an operation from its request to its end.
func life(t testing.TB, j telemetry.Journal, l execution.Language, res execution.Result, ran bool) {
	t.Helper()
	id := execution.NewID()
	created := time.Unix(1000, 0)
	who := audit.Event{Operation: id, Principal: execution.Local, Gear: "restricted"}
	event := func(kind audit.Type) audit.Event { e := who; e.Type = kind; return e }
	commit := func(from, to execution.State, c execution.Change, kind audit.Type) {
		if err := j.Commit(t.Context(), id, from, to, c, event(kind)); err != nil {
			t.Fatal(err)
		}
	}
	request := execution.Request{Language: l, Principal: execution.Local}
	commit("", execution.StateSubmitted, execution.Change{Create: &execution.Record{ID: id, Request: request, Gear: "restricted", Created: created}}, audit.Requested)
	state := execution.StateSubmitted
	if ran {
		commit(state, execution.StateRunning, execution.Change{}, audit.Started)
		state = execution.StateRunning
	}
	out, errOut := execution.Output{Total: 700}, execution.Output{Total: 30}
	commit(state, execution.StateFinished, execution.Change{
		Finished: created.Add(40 * time.Millisecond), Result: &res, Stdout: &out, Stderr: &errOut,
	}, audit.Finished)
}

func memory() telemetry.Journal {
	return storetest.NewMemory(func(context.Context, ...audit.Event) error { return nil })
}

func TestEachExecutionEndsOnceInTheMetrics(t *testing.T) {
	m := metrics(t)
	j := m.Journal(memory())
	life(t, j, execution.Python, execution.Result{Status: execution.StatusOK, DurationMS: 12, CPUMS: 1500, MemoryPeak: 20 << 20}, true)
	life(t, j, execution.Bash, execution.Result{Status: execution.StatusTimeout, DurationMS: 10_000}, true)
	life(t, j, execution.Python, execution.Result{Status: execution.StatusDenied}, false)

	got := scrape(t, m)
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{2, "mcp_execution_duration_seconds", []string{"language=python"}},
		{1, "mcp_execution_duration_seconds", []string{"language=bash"}},
		{1, "mcp_execution_errors_total", []string{"language=bash", "status=timeout"}},
		{1, "mcp_execution_errors_total", []string{"language=python", "status=denied"}},
		{1, "gearbox_operations_ended_total", []string{"gear=restricted", "status=ok"}},
		{1, "gearbox_program_duration_seconds", []string{"language=python"}},
		{1, "gearbox_program_memory_peak_bytes", []string{"language=bash"}},
		{1.5, "gearbox_program_cpu_seconds_total", []string{"language=python"}},
		{1400, "gearbox_program_output_bytes_total", []string{"stream=stdout"}},
		{60, "gearbox_program_output_bytes_total", []string{"stream=stderr"}},
		{3, "gearbox_store_commit_duration_seconds", []string{"to=finished"}},
		{2, "gearbox_store_commit_duration_seconds", []string{"to=running"}},
		{3, "gearbox_audit_events_total", []string{"type=requested"}},
	} {
		if n := value(t, got, c.name, c.labels...); n != c.want {
			t.Errorf("%s%v: %v, want %v", c.name, c.labels, n, c.want)
		}
	}
	if sum := got["mcp_execution_duration_seconds"].GetMetric()[0].GetHistogram().GetSampleSum(); sum != 0.04 {
		t.Errorf("bash took %v s, want 0.04", sum)
	}
}

func TestWhatTheStoreDoesNotKeepIsCountedAsAFailureAndNothingElse(t *testing.T) {
	m := metrics(t)
	broken := errors.New("the disk is full")
	j := m.Journal(storetest.NewMemory(func(context.Context, ...audit.Event) error { return broken }))
	create := execution.Change{Create: &execution.Record{}}
	if err := j.Commit(t.Context(), "op_1", "", execution.StateSubmitted, create, audit.Event{Type: audit.Requested}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if err := j.Commit(t.Context(), "op_1", execution.StateRunning, execution.StateFinished, execution.Change{}); !errors.Is(err, engine.ErrConflict) {
		t.Fatal(err)
	}
	if err := j.Record(t.Context(), audit.Event{Type: audit.Refused}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	got := scrape(t, m)
	if n := value(t, got, "gearbox_store_commit_failures_total", "to=submitted", "reason=failed"); n != 1 {
		t.Errorf("failed: %v", n)
	}
	if n := value(t, got, "gearbox_store_commit_failures_total", "to=finished", "reason=conflict"); n != 1 {
		t.Errorf("conflicts: %v", n)
	}
	if n := value(t, got, "gearbox_store_commit_duration_seconds", "to=submitted"); n != 0 {
		t.Errorf("durations: %v", n)
	}
	for _, kind := range []string{"requested", "refused"} {
		if n := value(t, got, "gearbox_audit_events_total", "type="+kind); n != 0 {
			t.Errorf("%s: %v", kind, n)
		}
	}
}

func TestAnOperationOfAnotherProcessEndsWithItsOwnLanguage(t *testing.T) {
	m := metrics(t)
	shared := memory()
	id := execution.NewID()
	event := audit.Event{Operation: id, Principal: execution.Local, Gear: "restricted"}
	create := execution.Change{Create: &execution.Record{ID: id, Gear: "restricted", Request: execution.Request{Language: execution.Bash, Principal: execution.Local}}}
	if err := shared.Commit(t.Context(), id, "", execution.StateSubmitted, create, event); err != nil {
		t.Fatal(err)
	}
	end := execution.Change{Finished: time.Unix(1e6, 0), Result: &execution.Result{Status: execution.StatusInterrupted}}
	if err := m.Journal(shared).Commit(t.Context(), id, execution.StateSubmitted, execution.StateFinished, end, event); err != nil {
		t.Fatal(err)
	}
	got := scrape(t, m)
	if n := value(t, got, "mcp_execution_errors_total", "language=bash", "status=interrupted"); n != 1 {
		t.Errorf("errors: %v", n)
	}
	if n := value(t, got, "mcp_execution_duration_seconds", "language=bash"); n != 0 {
		t.Errorf("a duration was measured from nowhere: %v", n)
	}
}

func TestPermissionsAreCountedByKindAndEffect(t *testing.T) {
	m := metrics(t)
	j := m.Journal(memory())
	err := j.Record(t.Context(),
		audit.Event{Type: audit.Decided, Permission: "net(api.github.com:443)", Decision: "ask"},
		audit.Event{Type: audit.Decided, Permission: "import(json)", Decision: "allow"},
		audit.Event{Type: audit.Decided, Permission: "no kind at all", Decision: "perhaps"})
	if err != nil {
		t.Fatal(err)
	}
	got := scrape(t, m)
	for _, labels := range [][]string{{"kind=net", "effect=ask"}, {"kind=import", "effect=allow"}, {"kind=other", "effect=other"}} {
		if n := value(t, got, "gearbox_permission_decisions_total", labels...); n != 1 {
			t.Errorf("%v: %v", labels, n)
		}
	}
}

// doorDouble answers with its error.
type doorDouble struct{ err error }

func (d doorDouble) Authorize(context.Context, authz.Action) (authz.Permit, error) {
	return authz.Permit{}, d.err
}

func TestTheDoorIsCountedByWhatItDecidesOnTheWhole(t *testing.T) {
	m := metrics(t)
	for want, err := range map[string]error{
		"allow": nil, "deny": &authz.DeniedError{}, "ask": &authz.PendingError{}, "error": errors.New("no record could be written"),
	} {
		_, got := m.Door(doorDouble{err}).Authorize(t.Context(), authz.Action{Moment: authz.BeforeRun})
		if !errors.Is(got, err) {
			t.Errorf("%s: %v became %v", want, err, got)
		}
	}
	got := scrape(t, m)
	for _, effect := range []string{"allow", "deny", "ask", "error"} {
		if n := value(t, got, "gearbox_decisions_total", "moment=before_run", "effect="+effect); n != 1 {
			t.Errorf("%s: %v", effect, n)
		}
	}
}

func TestCallsRejectionsAndLoginsAreCounted(t *testing.T) {
	m := metrics(t)
	m.ToolCall("execute", false, time.Millisecond)
	m.ToolCall("execute", true, time.Second)
	m.Rejected(execution.CodeUnavailable)
	m.Rejected(execution.CodeInternal)
	m.Login(true, 1)
	m.Login(false, 2)
	m.Login(false, -1)
	got := scrape(t, m)
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{1, "gearbox_tool_calls_total", []string{"tool=execute", "outcome=ok"}},
		{1, "gearbox_tool_calls_total", []string{"tool=execute", "outcome=error"}},
		{2, "gearbox_tool_call_duration_seconds", []string{"tool=execute"}},
		{1, "gearbox_rejections_total", []string{"code=UNAVAILABLE"}},
		{1, "gearbox_rejections_total", []string{"code=other"}},
		{1, "gearbox_logins_total", []string{"result=accepted"}},
		{2, "gearbox_logins_total", []string{"result=refused"}},
	} {
		if n := value(t, got, c.name, c.labels...); n != c.want {
			t.Errorf("%s%v: %v, want %v", c.name, c.labels, n, c.want)
		}
	}
}

// BenchmarkCounting is what the metrics add to one execution: the request, the door,
// two permissions, three commits and the call of the tool.
func BenchmarkCounting(b *testing.B) {
	m := telemetry.New(telemetry.Config{Gear: "user_confirmed", Logger: slog.New(slog.DiscardHandler)})
	e, d := m.Engine(&engineDouble{}), m.Door(doorDouble{})
	j := m.Journal(nothing{})
	request := execution.Request{Language: execution.Python}
	create := execution.Change{Create: &execution.Record{Request: request, Gear: "user_confirmed", Created: time.Unix(1, 0)}}
	out := execution.Output{Total: 7}
	end := execution.Change{Finished: time.Unix(2, 0), Result: &execution.Result{Status: execution.StatusOK, DurationMS: 1, CPUMS: 1, MemoryPeak: 1 << 24}, Stdout: &out, Stderr: &out}
	requested, started, finished := []audit.Event{{Type: audit.Requested}}, []audit.Event{{Type: audit.Started}}, []audit.Event{{Type: audit.Finished}}
	decided := []audit.Event{{Type: audit.Decided, Permission: "import(json)", Decision: "allow"}, {Type: audit.Decided, Permission: "import(math)", Decision: "allow"}}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = e.Submit(ctx, request)
		_ = j.Commit(ctx, "op_1", "", execution.StateSubmitted, create, requested...)
		_ = j.Record(ctx, decided...)
		_, _ = d.Authorize(ctx, authz.Action{Moment: authz.BeforeRun})
		_ = j.Commit(ctx, "op_1", execution.StateSubmitted, execution.StateRunning, execution.Change{}, started...)
		_ = j.Commit(ctx, "op_1", execution.StateRunning, execution.StateFinished, end, finished...)
		m.ToolCall("execute", false, time.Millisecond)
	}
}

// nothing keeps nothing.
type nothing struct{}

func (nothing) Commit(context.Context, execution.ID, execution.State, execution.State, execution.Change, ...audit.Event) error {
	return nil
}

func (nothing) Interrupt(context.Context, func(string) bool, func(execution.Record) (execution.Change, audit.Event)) (int, error) {
	return 0, nil
}

func (nothing) Due(context.Context, time.Time) ([]engine.Due, error) { return nil, nil }

func (nothing) Load(context.Context, execution.Principal, execution.ID) (execution.Record, error) {
	return execution.Record{}, engine.ErrNotFound
}

func (nothing) State(context.Context, execution.Principal, execution.ID) (execution.State, error) {
	return "", engine.ErrNotFound
}

func (nothing) Record(context.Context, ...audit.Event) error { return nil }
