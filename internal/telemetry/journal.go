package telemetry

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Journal is what keeps operations and events.
type Journal interface {
	engine.Journal
	authz.Recorder
}

// journalMetrics are what a journal tells: an operation passes it at each step, once.
type journalMetrics struct {
	duration   histograms
	ended      counters
	ran        histograms
	cpu        counters
	memory     histograms
	output     counters
	commits    histograms
	failed     counters
	events     counters
	permission counters
}

func (m *Metrics) journalMetrics() journalMetrics {
	to := label("to", "the state that the operation moved to",
		names(execution.States()...)...)
	return journalMetrics{
		duration: m.histogram("mcp_execution_duration_seconds",
			"Time from the request of an execution to its recorded end. Those that waited for a human are not in it.",
			durationBuckets(), languages()),
		ended: m.counter("gearbox_operations_ended_total", "Operations that ended, by how.", gears(), endings()),
		ran: m.histogram("gearbox_program_duration_seconds",
			"Wall time of programs, from their first instruction to their end.", durationBuckets(), languages()),
		cpu: m.counter("gearbox_program_cpu_seconds_total", "Processor time that programs used, user and system.", languages()),
		memory: m.histogram("gearbox_program_memory_peak_bytes", "The most memory that each program held at one time.",
			memoryBuckets(), languages()),
		output: m.counter("gearbox_program_output_bytes_total", "Bytes that programs wrote.",
			either("stream", "where they wrote to", stdout, stderr)),
		commits: m.histogram("gearbox_store_commit_duration_seconds",
			"Time that the store took to make a transition durable, of those that it made.", commitBuckets(), to),
		failed: m.counter("gearbox_store_commit_failures_total", "Transitions that the store did not make.", to,
			either("reason", "conflict: the operation was in another state; failed: it could not be written", conflict, failed)),
		events: m.counter("gearbox_audit_events_total", "Audit events that were kept, by type.", eventTypes()),
		permission: m.counter("gearbox_permission_decisions_total",
			"Permissions that were decided on; an execution may need several.", kinds(), effects()),
	}
}

// Values that this file chooses itself.
const (
	stdout   = "stdout"
	stderr   = "stderr"
	conflict = "conflict"
	failed   = "failed"
)

func eventTypes() Label {
	return label("type", "what happened", names(audit.Types()...)...)
}

func kinds() Label {
	return label("kind", "the kind of effect that was asked for", names(
		policy.Import, policy.Read, policy.Write, policy.Net, policy.Run, policy.Env, policy.Install, policy.Tool, policy.Unsafe)...)
}

func effects() Label {
	return label("effect", "what was decided", names(policy.Allow, policy.Ask, policy.Deny)...)
}

// From the answer of a warm sandbox to the longest run that can be asked for.
func durationBuckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
}

// From a row in memory to a disk that is stuck.
func commitBuckets() []float64 {
	return []float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, 1, 10}
}

// From an idle interpreter to the largest limit that is common.
func memoryBuckets() []float64 {
	var out []float64
	for b := 4 * execution.MiB; b <= 4*execution.GiB; b *= 2 {
		out = append(out, float64(b))
	}
	return out
}

// Journal counts what passes a journal: how operations end, what their programs used,
// what was decided about them, and how the journal itself does.
func (m *Metrics) Journal(next Journal) Journal {
	return &countedJournal{Journal: next, m: m, live: map[execution.ID]beginning{}}
}

// countedJournal remembers what it needs of an operation from its first commit to its
// last.
type countedJournal struct {
	Journal
	m *Metrics

	mu   sync.Mutex // guards live
	live map[execution.ID]beginning
}

// beginning is what only the first commit tells.
type beginning struct {
	language execution.Language
	gear     string
	created  time.Time
}

// Record implements [authz.Recorder].
func (j *countedJournal) Record(ctx context.Context, events ...audit.Event) error {
	err := j.Journal.Record(ctx, events...)
	if err == nil {
		j.m.count(events)
	}
	return err
}

// Commit implements [engine.Journal].
func (j *countedJournal) Commit(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events ...audit.Event) error {
	began := j.m.now()
	err := j.Journal.Commit(ctx, id, from, to, c, events...)
	jm := &j.m.journal
	switch {
	case errors.Is(err, engine.ErrConflict):
		jm.failed.at(string(to), conflict).Inc()
		return err
	case errors.Is(err, engine.ErrManyPending):
		return err // it was refused, and is counted as it ends
	case err != nil:
		jm.failed.at(string(to), failed).Inc()
		return err
	}
	jm.commits.at(string(to)).Observe(j.m.now().Sub(began).Seconds())
	j.m.count(events)
	j.follow(ctx, id, from, to, c, events)
	return nil
}

// follow takes note of where an operation has gone.
func (j *countedJournal) follow(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events []audit.Event) {
	switch {
	case to == execution.StateFinished:
		b, direct := j.take(id)
		if !direct {
			b = j.recall(ctx, id, events)
		}
		j.m.end(b, from, c)
	case c.Create != nil && to == execution.StateSubmitted:
		j.mu.Lock()
		defer j.mu.Unlock()
		j.live[id] = beginning{c.Create.Request.Language, c.Create.Gear, c.Create.Created}
	case to != execution.StateSubmitted && to != execution.StateRunning:
		j.take(id) // it waits, perhaps for hours and for another process
	}
}

func (j *countedJournal) take(id execution.ID) (beginning, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, ok := j.live[id]
	delete(j.live, id)
	return b, ok
}

// recall asks the journal for an operation that did not go straight from its request to
// its end in this process. When it was created says nothing about how long it took.
func (j *countedJournal) recall(ctx context.Context, id execution.ID, events []audit.Event) beginning {
	if len(events) == 0 {
		return beginning{}
	}
	r, err := j.Load(ctx, events[0].Principal, id)
	if err != nil {
		return beginning{gear: events[0].Gear}
	}
	return beginning{language: r.Request.Language, gear: r.Gear}
}

// end counts an operation that is over.
func (m *Metrics) end(b beginning, from execution.State, c execution.Change) {
	jm, language := &m.journal, string(b.language)
	if !b.created.IsZero() {
		jm.duration.at(language).Observe(c.Finished.Sub(b.created).Seconds())
	}
	if c.Result == nil {
		return
	}
	status := string(c.Result.Status)
	jm.ended.at(b.gear, status).Inc()
	if c.Result.Status != execution.StatusOK {
		m.errors.at(language, status).Inc()
	}
	if from != execution.StateRunning {
		return
	}
	jm.ran.at(language).Observe(c.Result.DurationMS / 1e3)
	jm.cpu.at(language).Add(max(c.Result.CPUMS, 0) / 1e3)
	jm.memory.at(language).Observe(float64(c.Result.MemoryPeak))
	jm.wrote(stdout, c.Stdout)
	jm.wrote(stderr, c.Stderr)
}

func (jm *journalMetrics) wrote(stream string, o *execution.Output) {
	if o != nil {
		jm.output.at(stream).Add(float64(max(o.Total, 0)))
	}
}

// count counts events that were kept.
func (m *Metrics) count(events []audit.Event) {
	for i := range events {
		e := &events[i]
		m.journal.events.at(string(e.Type)).Inc()
		if e.Type == audit.Decided {
			kind, _, _ := strings.Cut(e.Permission, "(")
			m.journal.permission.at(kind, e.Decision).Inc()
		}
	}
}
