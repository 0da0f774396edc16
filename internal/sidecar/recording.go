package sidecar

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
	"github.com/gearbox-mcp/gearbox/internal/web"
)

// RecordOptions say how operations and audit events are kept.
type RecordOptions struct {
	// Durability is what a commit survives; empty means [store.Process].
	Durability store.Durability
	// DropCode takes code and inputs away once an operation has ended.
	DropCode bool
	// Retention bounds what is kept of finished operations; a zero bound means the
	// default, a negative one none.
	Retention store.Retention
}

// defaultRetention keeps a month of what people do, and no more than a disk can bear of
// what machines do.
var defaultRetention = store.Retention{Age: 30 * 24 * time.Hour, Count: 100_000, Size: execution.GiB}

func (o RecordOptions) retention() store.Retention {
	return store.Retention{
		Age:   bound(o.Retention.Age, defaultRetention.Age),
		Count: bound(o.Retention.Count, defaultRetention.Count),
		Size:  bound(o.Retention.Size, defaultRetention.Size),
	}
}

func bound[T ~int | ~int64](set, standard T) T {
	switch {
	case set == 0:
		return standard
	case set < 0:
		return 0
	}
	return set
}

// openRecords opens the records of the data directory, and what looks on as they are
// written.
func (s *Sidecar) openRecords(ctx context.Context, o Options, dir string, redactor *logging.Redactor, l *slog.Logger) (telemetry.Journal, error) {
	var err error
	s.records, err = store.Open(ctx, store.Options{
		Dir: dir, Instance: string(s.instance.ID()), Version: s.self.Version,
		Durability: o.Records.Durability, DropCode: o.Records.DropCode,
	})
	if err != nil {
		return nil, err
	}
	s.metrics = telemetry.New(telemetry.Config{Version: s.self.Version, Gear: s.gears.base.Name(), Logger: l})
	return telemetry.Redacted(s.metrics.Journal(telemetry.Log(s.records, l)), redactor), nil
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
func (s *Sidecar) keepRecords(ctx context.Context, r store.Retention, l *slog.Logger) {
	deserted, old := time.NewTicker(recoverEvery), time.NewTicker(retainEvery)
	defer deserted.Stop()
	defer old.Stop()
	s.recover(ctx, l)
	s.retain(ctx, r, l)
	for {
		select {
		case <-ctx.Done():
			return
		case <-deserted.C:
			s.recover(ctx, l)
		case <-old.C:
			s.retain(ctx, r, l)
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

func (s *Sidecar) retain(ctx context.Context, r store.Retention, l *slog.Logger) {
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
