package telemetry

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/webhook"
)

// Config is what [New] needs. Logger is required.
type Config struct {
	// Version is the version of this build, and GoVersion that of the Go which compiled
	// it; empty means the one that runs.
	Version, GoVersion string
	// Gear is the gear of calls that name none.
	Gear string
	// Logger is told of scrapes that fail.
	Logger *slog.Logger
	// Now is the clock; nil means the machine's.
	Now func() time.Time
}

// Metrics are the metrics of one process, in a registry of their own. They are safe
// for concurrent use.
type Metrics struct {
	registry     *prometheus.Registry
	descriptions []*Description
	log          *slog.Logger
	now          func() time.Time
	gear         string

	requests counters
	errors   counters
	journal  journalMetrics
	door     doorMetrics
	tools    toolMetrics
	http     httpMetrics
	logins   counters
	webhooks counters
	watched  *watched
}

// New makes the metrics of a process, each series of them at 0.
func New(c Config) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), log: c.Logger, now: c.Now, gear: c.Gear}
	if m.now == nil {
		m.now = time.Now
	}
	m.requests = m.counter("mcp_execution_requests_total",
		"Calls that asked the engine for an execution, whatever became of them.", languages(), gears())
	m.errors = m.counter("mcp_execution_errors_total",
		"Executions that ended with another status than ok, and calls that the engine rejected.", languages(), failures())
	m.journal = m.journalMetrics()
	m.door = m.doorMetrics()
	m.tools = m.toolMetrics()
	m.http = m.httpMetrics()
	m.logins = m.counter("gearbox_logins_total", "Those who came in, once for each session, and requests that were turned away.",
		either("result", "what became of it", accepted, refused))
	m.webhooks = m.counter("gearbox_approval_webhooks_total", "Questions that the webhook was to be told of.",
		Label{
			Name: "result", Values: names(webhook.Results()...),
			Meaning: "delivered; failed: not taken in time; dropped: too many waited; outdated: settled before it could be told",
		})
	m.watched = m.watch()
	m.build(c.Version, cmp.Or(c.GoVersion, runtime.Version()))
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// The results of a login.
const (
	accepted = "accepted"
	refused  = "refused"
)

// Login counts n logins that were accepted or refused.
func (m *Metrics) Login(ok bool, n int) {
	result := refused
	if ok {
		result = accepted
	}
	m.logins.at(result).Add(float64(max(n, 0)))
}

// Webhook counts a question that a webhook was to be told of, by what became of that.
func (m *Metrics) Webhook(result string) { m.webhooks.at(result).Inc() }

// build tells which build this is. Its labels are constants of the process.
func (m *Metrics) build(version, golang string) {
	version = strings.ToValidUTF8(version, "?")
	d := m.describe(Description{
		Name: "gearbox_build_info", Type: Gauge, Meaning: "Always 1; the labels tell which build this is.",
		Labels: []Label{
			{Name: "version", Values: []string{version}, Meaning: "the version of Gearbox"},
			{Name: "go_version", Values: []string{golang}, Meaning: "the version of Go that compiled it"},
		},
	})
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Meaning}, d.labelNames())
	info.WithLabelValues(version, golang).Set(1)
	m.registry.MustRegister(info)
}

// Descriptions are all metrics of this package, sorted by name. Those of the Go runtime
// and of the process come from the Prometheus library and are not among them.
func (m *Metrics) Descriptions() []Description {
	out := make([]Description, 0, len(m.descriptions))
	for _, d := range m.descriptions {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Description) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Gatherer reads all metrics.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// The bounds of one scrape: more than two at once are no scrapes but an attempt to keep
// the process busy.
const (
	scrapes    = 2
	scrapeTime = 10 * time.Second
)

// Handler answers scrapes, in the text form or whatever the scraper prefers.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: scrapeLog{m.log}, ErrorHandling: promhttp.HTTPErrorOnError,
		MaxRequestsInFlight: scrapes, Timeout: scrapeTime,
	})
}

// scrapeLog is the logger that promhttp asks for.
type scrapeLog struct{ log *slog.Logger }

// Println implements [promhttp.Logger].
func (l scrapeLog) Println(v ...any) { l.log.Error("a scrape of the metrics failed", "reason", v) }

func languages() Label {
	return label("language", "what the code is written in; tool is the call of a tool of another server", names(execution.Python, execution.Bash, execution.Tool)...)
}

// gears are the built-in ones: names from files and from callers are not a closed set.
func gears() Label {
	var values []string
	for _, g := range gear.Builtin() {
		values = append(values, g.Name)
	}
	return label("gear", "the gear in force, by name if it is built in", values...)
}

// failures are the statuses of what did not end well.
func failures() Label {
	values := slices.DeleteFunc(execution.Statuses(), func(s execution.Status) bool {
		return !s.Final() || s == execution.StatusOK
	})
	return label("status", "how it ended", names(values...)...)
}

// endings are the statuses of operations that are over.
func endings() Label {
	values := slices.DeleteFunc(execution.Statuses(), func(s execution.Status) bool {
		return !s.Final() || s == execution.StatusRejected
	})
	return label("status", "how it ended", names(values...)...)
}
