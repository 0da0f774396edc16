package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

// mostSeries bounds what one process costs whoever stores its metrics. It is raised by
// hand, knowing what for.
const mostSeries = 1600

// flood sends one word through everything that is counted, wherever a caller, a gear
// file or a later version of another room could put it.
func flood(t testing.TB, m *telemetry.Metrics, word string) {
	t.Helper()
	ctx := t.Context()
	request := execution.Request{
		Principal: execution.Principal(word), Client: execution.Client{Name: word, Version: word, Session: word},
		Language: execution.Language(word), Gear: word, Code: word,
	}
	event := audit.Event{
		Type: audit.Type(word), Operation: execution.ID(word), Principal: request.Principal, Client: request.Client, Gear: word,
		Permission: word, Decision: word, Rule: word, Reason: word, Status: execution.Status(word),
	}
	decided := event
	decided.Type, decided.Permission = audit.Decided, word+"("+word+")"
	_, _ = m.Engine(&engineDouble{err: &execution.RejectedError{Code: execution.Code(word)}}).Submit(ctx, request)
	j, id := m.Journal(nothing{}), execution.ID(word)
	result := &execution.Result{Status: execution.Status(word), Gear: word, Error: &execution.Error{Code: word}}
	_ = j.Commit(ctx, id, "", execution.StateSubmitted, execution.Change{Create: &execution.Record{Request: request, Gear: word, Created: time.Unix(1, 0)}}, event)
	_ = j.Commit(ctx, id, execution.StateSubmitted, execution.State(word), execution.Change{}, decided)
	_ = j.Commit(ctx, id, execution.StateRunning, execution.StateFinished, execution.Change{Finished: time.Unix(2, 0), Result: result}, event)
	_ = j.Record(ctx, event, decided)
	_, _ = m.Door(doorDouble{}).Authorize(ctx, authz.Action{Moment: authz.Moment(word)})
	m.ToolCall(word, true, time.Second)
	m.Rejected(execution.Code(word))
	ask := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	ask.URL.Path, ask.Method = "/"+word, word
	m.HTTP(http.NotFoundHandler(), telemetry.Route).ServeHTTP(httptest.NewRecorder(), ask)
	m.HTTP(http.NotFoundHandler(), func(*http.Request) string { return word }).ServeHTTP(httptest.NewRecorder(), ask)
	p := busyPool(word)
	p.Templates[0].Language, p.Templates[0].Preload, p.Templates[0].Programs = execution.Language(word), word, word
	p.Kinds[0].Kind = pool.Kind{Language: execution.Language(word), Programs: pool.ProgramSet(word)}
	p.Kinds[0].Ended[word] = 1
	m.Watch(telemetry.Sources{Pools: func() []telemetry.PoolStatus { return []telemetry.PoolStatus{p} }, Load: func() engine.Load { return engine.Load{} }})
}

// hostile are words that break what is careless with them.
func hostile() []string {
	return []string{
		"", "op_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "token:alice", "\"} 1\ngearbox_forged_total 7\n#", "\x00\xff\xfe", "OTHER", "python ",
		"../../etc/passwd", strings.Repeat("a", 1<<16), "Ünïcödé\u202e", "{}", "1e999",
	}
}

func TestNoWordOfACallerBecomesASeries(t *testing.T) {
	m := metrics(t)
	before := count(t, m)
	if before > mostSeries {
		t.Errorf("%d series from the start: a process shall have at most %d", before, mostSeries)
	}
	for _, word := range hostile() {
		flood(t, m, word)
	}
	if after := count(t, m); after != before {
		t.Errorf("%d series became %d", before, after)
	}
	families := scrape(t, m) // and the text is well-formed
	if n := value(t, families, "mcp_execution_requests_total", "language=other", "gear=other"); n != float64(len(hostile())-1) {
		t.Errorf("%v requests of other gears and languages, want all but the one that named none", n)
	}
	if _, forged := families["gearbox_forged_total"]; forged {
		t.Error("a word wrote a line of its own")
	}
}

// count is the number of series, those of the Go runtime and of the process left out.
func count(t testing.TB, m *telemetry.Metrics) int {
	t.Helper()
	var names []string
	for _, d := range m.Descriptions() {
		names = append(names, d.Name)
	}
	n, err := testutil.GatherAndCount(m.Gatherer(), names...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func FuzzLabels(f *testing.F) {
	for _, word := range hostile() {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		m := metrics(t)
		before := count(t, m)
		flood(t, m, word)
		if after := count(t, m); after != before {
			t.Errorf("%q made %d series of %d", word, after, before)
		}
	})
}
