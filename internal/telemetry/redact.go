package telemetry

import (
	"context"
	"reflect"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/logging"
)

// Redacted masks secrets in the free text of events before they are kept: what is in
// an audit chain cannot be taken out again. Values of a type of their own, such as an
// operation's id or a principal, are no free text and stay as they are. The records of
// operations are not touched.
func Redacted(next Journal, r *logging.Redactor) Journal { return &redactedJournal{next, r} }

type redactedJournal struct {
	Journal
	r *logging.Redactor
}

// Record implements [authz.Recorder].
func (j *redactedJournal) Record(ctx context.Context, events ...audit.Event) error {
	return j.Journal.Record(ctx, j.masked(events)...)
}

// Commit implements [engine.Journal].
func (j *redactedJournal) Commit(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events ...audit.Event) error {
	return j.Journal.Commit(ctx, id, from, to, c, j.masked(events)...)
}

// Interrupt implements [engine.Journal].
func (j *redactedJournal) Interrupt(ctx context.Context, alive func(string) bool, end func(execution.Record) (execution.Change, audit.Event)) (int, error) {
	return j.Journal.Interrupt(ctx, alive, func(r execution.Record) (execution.Change, audit.Event) {
		change, event := end(r)
		return change, j.masked([]audit.Event{event})[0]
	})
}

// masked leaves the caller's events as they are.
func (j *redactedJournal) masked(events []audit.Event) []audit.Event {
	out := make([]audit.Event, len(events))
	for i, e := range events {
		maskTexts(j.r, reflect.ValueOf(&e).Elem())
		out[i] = e
	}
	return out
}

var (
	freeText  = reflect.TypeFor[string]()
	freeTexts = reflect.TypeFor[map[string]string]()
)

// maskTexts goes through the fields of a struct, those that a later version adds
// included.
func maskTexts(r *logging.Redactor, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !f.CanSet(): // inside of a time
			return
		case f.Type() == freeText:
			if s := f.String(); s != "" {
				f.SetString(r.Text(s))
			}
		case f.Type() == freeTexts && f.Len() > 0:
			f.Set(reflect.ValueOf(maskMap(r, f.Interface().(map[string]string)))) //nolint:forcetypeassert // the type was looked at
		case f.Kind() == reflect.Struct:
			maskTexts(r, f)
		}
	}
}

func maskMap(r *logging.Redactor, in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for k, v := range in {
		if masked, is := r.JSON(v); is && !r.Secret(k) {
			out[r.Text(k)] = masked
			continue
		}
		out[r.Text(k)] = r.Field(k, v)
	}
	return out
}
