package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
	"github.com/gearbox-mcp/gearbox/internal/web"
)

// RecordOptions say how operations and audit events are kept. A nil field is its
// documented default; the zero value is all defaults.
type RecordOptions struct {
	// Durability is what a commit survives, one of [Durabilities]; empty means the first.
	Durability string
	// Code is "off" when code and inputs are taken away once an operation has ended.
	Code string
	// Age, Count and Size bound what is kept of finished operations, the oldest go first; 0
	// does not bound.
	Age   *time.Duration
	Count *int
	Size  *execution.Bytes
}

// Durabilities are the values of [RecordOptions.Durability].
func Durabilities() []string { return []string{string(store.Process), string(store.Power)} }

// The defaults keep a month of what people do, and no more than a disk can bear of what
// machines do. The ranges end where a number would be a slip of the hand.
const (
	keptAge   = 30 * 24 * time.Hour
	keptCount = 100_000
	keptSize  = execution.GiB

	MostAge   = 100 * 365 * 24 * time.Hour
	MostCount = 1_000_000_000
	MostSize  = 1 << 50
)

func (o RecordOptions) retention() store.Retention {
	r := store.Retention{Age: keptAge, Count: keptCount, Size: keptSize}
	if o.Age != nil {
		r.Age = *o.Age
	}
	if o.Count != nil {
		r.Count = *o.Count
	}
	if o.Size != nil {
		r.Size = *o.Size
	}
	return r
}

// openRecords opens the records of the data directory, and what looks on as they are
// written.
func (s *Sidecar) openRecords(ctx context.Context, o Options, dir string, l *slog.Logger) (telemetry.Journal, error) {
	durability, err := store.ParseDurability(o.Records.Durability)
	if err != nil {
		return nil, err
	}
	s.records, err = store.Open(ctx, store.Options{
		Dir: dir, Instance: string(s.instance.ID()), Version: s.self.Version, Durability: durability, DropCode: o.Records.Code == "off",
	})
	if err != nil {
		return nil, err
	}
	servers, err := o.configured(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range servers.Servers {
		names = append(names, one.Name)
	}
	s.metrics = telemetry.New(telemetry.Config{Version: s.self.Version, Gear: s.gears.base().Name(), Servers: names, Logger: l})
	return telemetry.Redacted(s.metrics.Journal(telemetry.Log(s.records, l)), s.redactor), nil
}

// watch has the metrics read what they are told of only when they are asked.
func (s *Sidecar) watch(ctx context.Context) {
	s.metrics.Watch(telemetry.Sources{
		Load: s.engine.Load, Pools: s.places.pools,
		AuditSequence: func() uint64 {
			head, err := s.records.Head(ctx)
			if err != nil {
				return 0
			}
			return uint64(head.Seq)
		},
	})
}

const (
	// recoverEvery is how long the operation of a dead process may go unfinished when
	// nobody asks for it.
	recoverEvery = 10 * time.Second
	retainEvery  = 10 * time.Minute
)

// keepRecords finishes what dead processes left and removes what is too old, at once and
// from time to time, until ctx ends.
func (s *Sidecar) keepRecords(ctx context.Context, l *slog.Logger) {
	deserted, old := time.NewTicker(recoverEvery), time.NewTicker(retainEvery)
	defer deserted.Stop()
	defer old.Stop()
	s.recover(ctx, l)
	s.retain(ctx, l)
	for {
		select {
		case <-ctx.Done():
			return
		case <-deserted.C:
			s.recover(ctx, l)
		case <-old.C:
			s.retain(ctx, l)
		}
	}
}

func (s *Sidecar) recover(ctx context.Context, l *slog.Logger) {
	n, err := s.engine.Recover(ctx)
	if err != nil && ctx.Err() == nil {
		l.Error("operations of dead processes could not be finished", "error", err)
	}
	if n > 0 {
		l.Warn("operations of dead processes were finished as interrupted", "count", n)
	}
}

func (s *Sidecar) retain(ctx context.Context, l *slog.Logger) {
	s.reloading.Lock()
	r := s.options.Records.retention()
	s.reloading.Unlock()
	n, err := s.records.Retain(ctx, r, time.Now())
	if err != nil && ctx.Err() == nil {
		l.Error("operations that are too old could not be removed", "error", err)
	}
	if n > 0 {
		l.Info("operations that are too old were removed", "count", n)
	}
}

// lister lists the operations of one principal.
type lister struct{ records *store.SQLite }

var _ web.Lister = lister{}

// List implements [web.Lister].
func (l lister) List(ctx context.Context, p execution.Principal, before execution.ID, limit int) ([]execution.Record, error) {
	if p == "" {
		return nil, errors.New("nobody's operations are listed")
	}
	found, err := l.records.Operations(ctx, store.Filter{Principal: p, Before: before, Limit: limit})
	if errors.Is(err, engine.ErrNotFound) {
		return nil, &execution.RejectedError{Code: execution.CodeNotFound, Field: "before", Message: "there is no such operation"}
	}
	var out []execution.Record
	for _, o := range found {
		out = append(out, execution.Record{
			ID: o.ID, Instance: o.Instance, Gear: o.Gear, State: o.State, Created: o.Created, Finished: o.Finished,
			Request: execution.Request{Principal: o.Principal, Client: o.Client, Language: o.Language},
			Result:  execution.Result{Status: o.Status, ExitCode: o.ExitCode},
		})
	}
	return out, err
}

// logins records who comes over HTTP.
type logins struct {
	journal telemetry.Journal
	metrics *telemetry.Metrics
}

var _ web.Logins = logins{}

// Login implements [web.Logins].
func (l logins) Login(ctx context.Context, in web.Login) error {
	e := audit.Event{
		Time: time.Now(), Type: audit.Login, Principal: in.Principal, Client: execution.Client{Name: in.UserAgent},
		Decision: "refused", Reason: in.Reason, Details: map[string]string{"remote": in.Remote},
	}
	if in.Accepted {
		e.Decision = "accepted"
	}
	if in.Unrecorded > 0 {
		e.Details["unrecorded"] = strconv.Itoa(in.Unrecorded)
	}
	if err := l.journal.Record(ctx, e); err != nil {
		return err
	}
	l.metrics.Login(in.Accepted, 1+in.Unrecorded)
	return nil
}

// recordStart records what a server starts with, when nothing but this can keep it from
// serving. One that cannot be recorded does not start. Commands that end with one run
// change nothing, and their runs have events.
func (s *Sidecar) recordStart(ctx context.Context, o Options, t Transport) error {
	now := s.gears.now.Load()
	err := s.journal.Record(ctx, audit.Event{
		Time: time.Now(), Type: audit.Config, Principal: execution.Local, Gear: now.base.Name(),
		Client:   execution.Client{Name: "gearbox serve", Version: s.self.Version},
		Decision: "taken", Reason: "a server started",
		Details: map[string]string{
			"new": o.inForce(now).String(), "settings": o.Settings.String(), "rules": now.base.Digest().String(), "transport": string(t),
		},
	})
	if err != nil {
		return fmt.Errorf("record the start: %w", err)
	}
	return nil
}

// recordedChanges records changes of the configuration.
type recordedChanges struct{ journal telemetry.Journal }

var _ ChangeLog = recordedChanges{}

// Changed implements [ChangeLog].
func (r recordedChanges) Changed(ctx context.Context, c Change) error {
	e := audit.Event{
		Time: time.Now(), Type: audit.Config, Principal: execution.Local, Decision: "taken", Reason: "the configuration was read anew",
		Details: map[string]string{"old": c.Old.String(), "new": c.New.String()},
	}
	if c.Refused != "" {
		e.Decision, e.Reason = "refused", c.Refused
	}
	for key, settings := range map[string][]string{"taken": c.Taken, "waiting": c.Waiting} {
		if len(settings) > 0 {
			e.Details[key] = strings.Join(settings, " ")
		}
	}
	return r.journal.Record(ctx, e)
}
