package telemetry

import (
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// PoolStatus is how the pool of one backend stands.
type PoolStatus struct {
	Backend string `json:"backend"`
	pool.Stats
}

// Sources are read at each scrape. A nil one tells nothing.
type Sources struct {
	Load  func() engine.Load
	Pools func() []PoolStatus
	// AuditSequence is the number of the last event of the audit chain.
	AuditSequence func() uint64
}

// Watch says what is read at each scrape from now on. Before that it is told as 0.
func (m *Metrics) Watch(s Sources) { m.watched.sources.Store(&s) }

// watched reads how the parts stand when it is scraped, each of them once.
type watched struct {
	sources atomic.Pointer[Sources]
	tables  []*table

	operations, queue, sequence       *table
	waiting, places, short            *table
	live, parked, warm, target, bound *table
	handed, refills, unused, ended    *table
	servers, started, gone, checkout  *table
}

// table is a metric whose values are read at the scrape.
type table struct {
	d    *Description
	desc *prometheus.Desc
	kind prometheus.ValueType
	rows [][]string
}

func (m *Metrics) table(w *watched, kind Type, name, meaning string, labels ...Label) *table {
	d := m.describe(Description{Name: name, Type: kind, Meaning: meaning, Labels: labels})
	t := &table{d: d, desc: prometheus.NewDesc(name, meaning, d.labelNames(), nil), kind: prometheus.GaugeValue, rows: d.rows()}
	if kind == Counter {
		t.kind = prometheus.CounterValue
	}
	w.tables = append(w.tables, t)
	return t
}

// watch describes what is read at the scrape. What is told of a template is told of all
// that share its labels together.
func (m *Metrics) watch() *watched {
	w := &watched{}
	gauge := func(name, meaning string, labels ...Label) *table { return m.table(w, Gauge, name, meaning, labels...) }
	counter := func(name, meaning string, labels ...Label) *table {
		return m.table(w, Counter, name, meaning, labels...)
	}
	backend := label("backend", "what isolates the programs", "linux", "host")
	programs := label("programs", "how many of the host's programs the sandbox holds", names(pool.NoPrograms, pool.ListedPrograms, pool.AllPrograms)...)
	kind := []Label{backend, languages(), programs}

	w.operations = gauge("gearbox_operations", "Operations that are not over.",
		either("state", "running ones have a sandbox, waiting ones wait for one", "running", "waiting"))
	w.queue = gauge("gearbox_operations_limit", "How many operations are taken on at one time.")
	w.sequence = gauge("gearbox_audit_sequence", "Number of the last event of the audit chain.")

	w.waiting = gauge("gearbox_pool_waiting_callers", "Callers that have no turn yet.", backend)
	w.places = gauge("gearbox_pool_children_limit", "How many sandboxes may be at work, of all backends together.", backend)
	w.bound = gauge("gearbox_pool_parked_limit", "How many sandboxes may stand ready.", backend)
	w.short = gauge("gearbox_pool_memory_short", "1 while memory is so short that none stands ready, else 0.", backend)
	w.live = gauge("gearbox_pool_live_children", "Sandboxes that are at work or being made for a caller.", kind...)
	w.parked = gauge("gearbox_pool_parked_children", "Sandboxes that stand ready.", kind...)
	w.warm = gauge("gearbox_pool_warm_children", "Those of them that were warmed up.", kind...)
	w.target = gauge("gearbox_pool_target_children", "How many shall stand ready.", kind...)
	w.handed = counter("gearbox_pool_checkouts_total", "Sandboxes that were handed out.",
		append(slices.Clone(kind), either("origin", "parked: it stood ready; made: the caller waited for its making", "parked", "made"))...)
	w.refills = counter("gearbox_pool_refills_total", "Sandboxes that were made ahead of time.", kind...)
	w.unused = counter("gearbox_pool_unused_total", "Sandboxes that ended without having been handed out.",
		append(slices.Clone(kind), either("reason", "let_go: fewer were wanted; died: nobody wanted that", "let_go", "died"))...)
	w.ended = counter("gearbox_pool_ended_total", "Sandboxes that had been handed out and ended.", append(slices.Clone(kind), causes())...)

	w.servers = gauge("gearbox_fork_servers", "Fork servers that are open.", backend)
	w.started = counter("gearbox_fork_servers_started_total", "Fork servers that were opened.", kind...)
	w.gone = counter("gearbox_fork_servers_ended_total", "Fork servers that were replaced or died.",
		append(slices.Clone(kind), either("reason", "recycled: for their age or work; died: by themselves", "recycled", "died"))...)
	w.checkout = &table{d: m.describe(Description{
		Name: "gearbox_pool_checkout_seconds", Type: Histogram, Labels: []Label{backend}, Buckets: pool.WaitBounds(),
		Meaning: "How long callers waited for their sandbox: for a turn, for a fork server and for the making.",
	})}
	w.checkout.desc, w.checkout.rows = prometheus.NewDesc(w.checkout.d.Name, w.checkout.d.Meaning, w.checkout.d.labelNames(), nil), w.checkout.d.rows()
	m.registry.MustRegister(w)
	return w
}

// exited is how the pool calls it that nobody killed a sandbox.
const exited = "exited"

func causes() Label {
	return label("cause", "why it was ended; exited: nobody ended it", append(names(
		sandbox.CauseFinished, sandbox.CauseTimeout, sandbox.CauseMemory, sandbox.CauseOutput, sandbox.CauseScratch, sandbox.CauseCancelled,
		sandbox.CauseShutdown, sandbox.CauseUnsealed, sandbox.CauseProtocol, sandbox.CauseAbandoned), exited)...)
}
