package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
)

// Handler masks what passes it, in messages and in attributes of any kind.
func (r *Redactor) Handler(next slog.Handler) slog.Handler { return &handler{next, r} }

type handler struct {
	slog.Handler
	r *Redactor
}

// Handle implements [slog.Handler].
func (h *handler) Handle(ctx context.Context, rec slog.Record) error {
	out := slog.NewRecord(rec.Time, rec.Level, h.r.Text(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.r.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(h.r.attrs(attrs)), h.r}
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.r}
}

func (r *Redactor) attrs(in []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, 0, len(in))
	for _, a := range in {
		out = append(out, r.attr(a))
	}
	return out
}

func (r *Redactor) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch {
	case r.Secret(a.Key):
		return slog.String(a.Key, Mask)
	case v.Kind() == slog.KindString:
		return slog.String(a.Key, r.Field(a.Key, v.String()))
	case v.Kind() == slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(r.attrs(v.Group())...)}
	case v.Kind() == slog.KindAny:
		return slog.Any(a.Key, r.Value(a.Key, v.Any()))
	default: // numbers, truths and times
		return slog.Attr{Key: a.Key, Value: v}
	}
}

// Value masks a value of any type, by its keys and texts all the way down. What has
// more than a text comes back as what JSON makes of it; what JSON cannot write comes
// back as a text that says so, because it cannot be looked through.
func (r *Redactor) Value(key string, v any) any {
	if v != nil && r.Secret(key) {
		return Mask
	}
	if s, ok := textOf(v); ok {
		return r.Field(key, s)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return r.Text(fmt.Sprintf("[not to be written: %v]", err))
	}
	var plain any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // large ones keep their digits
	if err := d.Decode(&plain); err != nil {
		return r.Text(fmt.Sprintf("[not to be read: %v]", err))
	}
	return r.walk(key, plain)
}

// textOf is the text of a value that is one: a string of any type or an error.
func textOf(v any) (s string, ok bool) {
	defer func() {
		if p := recover(); p != nil { // a nil pointer behind an interface
			s, ok = fmt.Sprintf("[not to be read: %v]", p), true
		}
	}()
	switch v := v.(type) {
	case string:
		return v, true
	case error:
		return v.Error(), true
	case json.Marshaler:
		return "", false
	case fmt.Stringer:
		return v.String(), true
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.String {
		return rv.String(), true
	}
	return "", false
}

// walk masks what came out of JSON and stands at a key, in its place.
func (r *Redactor) walk(key string, v any) any {
	switch v := v.(type) {
	case string:
		return r.Field(key, v)
	case []any:
		for i := range v {
			v[i] = r.walk(key, v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			masked := any(Mask)
			if inner == nil || !r.Secret(k) {
				masked = r.walk(k, inner)
			}
			out[r.Text(k)] = masked
		}
		return out
	default:
		return v
	}
}
