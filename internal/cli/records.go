package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// withRecords opens the records of a data directory for one command.
func withRecords(ctx context.Context, o sidecar.Options, do func(sidecar.Records) error) error {
	r, err := sidecar.OpenRecords(ctx, o, version())
	if err != nil {
		return failed(exitFailed, err)
	}
	err = do(r)
	if closed := r.Close(); err == nil {
		err = failed(exitFailed, closed)
	}
	return err
}

// none tells that there are no records, which for a list is no failure.
func (a *app) none(err error) error {
	if !errors.Is(err, store.ErrNoRecords) {
		return err
	}
	a.notef("%v", err)
	return nil
}

// printLine prints one object as JSON on a line of its own. What it holds of other people's
// text may be read on a terminal.
func (a *app) printLine(v any) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	if err == nil {
		_, err = a.Out.Write(visible.JSON(line.Bytes()))
	}
	return failed(exitFailed, err)
}

// timeFlag is a moment, written as a date, a time, or how long ago.
type timeFlag struct{ time.Time }

// String implements [pflag.Value].
func (f *timeFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Format(time.RFC3339)
}

// Type implements [pflag.Value].
func (f *timeFlag) Type() string { return "time" }

// Set implements [pflag.Value].
func (f *timeFlag) Set(s string) (err error) {
	f.Time, err = parseTime(s, time.Now())
	return err
}

func parseTime(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint16
		if _, err := fmt.Sscanf(days+"\n", "%d\n", &n); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("write how long ago, as 90m, 36h or 7d, or a time, as 2026-03-01 or 2026-03-01T12:00:00Z")
}

// clock writes a moment of the record. It is UTC, as in the record.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

func addSince(c *cobra.Command, f *timeFlag, what string) {
	c.Flags().Var(f, "since", "only "+what+" since `TIME`: 36h, 7d, 2026-03-01")
}

func addJSON(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "json", false, "print JSON, one object a line")
}

// someArguments demands at least one, and says what.
func someArguments(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || most > 0 && len(args) > most {
			return usage("see "+c.CommandPath()+" --help", "%s takes %s, not %d arguments", c.CommandPath(), what, len(args))
		}
		return nil
	}
}
