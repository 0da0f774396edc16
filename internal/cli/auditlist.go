package cli

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// eventFilter says which events a list shows.
type eventFilter struct {
	operation, principal, kind string
	since                      timeFlag
	limit                      int
	follow, asJSON             bool
}

func (a *app) auditListCommand() *cobra.Command {
	var o sidecar.Options
	f := &eventFilter{}
	c := &cobra.Command{
		Use: "list", Short: "List the last events", Args: noArguments,
		Long: "List the last events, the newest at the end.",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.none(withRecords(c.Context(), o, func(r sidecar.Records) error { return a.auditList(c.Context(), r, f) }))
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.operation, "operation", "", "only those of operation `ID`")
	fs.StringVar(&f.principal, "principal", "", "only those of principal `NAME`")
	fs.StringVar(&f.kind, "type", "", "only those of `TYPE`: "+strings.Join(typeNames(), ", "))
	addSince(c, &f.since, "those")
	fs.IntVar(&f.limit, "limit", 50, "at most the last `N`")
	addFollow(c, &f.follow)
	addJSON(c, &f.asJSON)
	addDataDir(c, &o)
	fs.SortFlags = false
	return c
}

func typeNames() []string {
	var names []string
	for _, t := range audit.Types() {
		names = append(names, string(t))
	}
	return names
}

func (f *eventFilter) check() error {
	if f.limit < 1 {
		return usage("", "--limit %d: it has to be at least 1", f.limit)
	}
	if f.kind != "" && !slices.Contains(typeNames(), f.kind) {
		hint := "one of: " + strings.Join(typeNames(), ", ")
		if near := policy.Nearest(f.kind, typeNames()); near != "" {
			hint = "did you mean " + near + "?"
		}
		return usage(hint, "no event has the type %q", f.kind)
	}
	return nil
}

func (f *eventFilter) wants(e audit.Event) bool {
	return (f.operation == "" || e.Operation == execution.ID(f.operation)) &&
		(f.principal == "" || e.Principal == execution.Principal(f.principal)) &&
		(f.kind == "" || e.Type == audit.Type(f.kind)) && !e.Time.Before(f.since.Time)
}

func (a *app) auditList(ctx context.Context, r sidecar.Records, f *eventFilter) error {
	head, err := r.Head(ctx)
	if err != nil {
		return failed(exitFailed, err)
	}
	newestFirst := r.Latest(ctx, head.Seq+1)
	if f.operation != "" {
		newestFirst = r.LatestOf(ctx, execution.ID(f.operation), head.Seq+1)
	}
	last, err := f.last(newestFirst)
	if err != nil {
		return failed(exitFailed, err)
	}
	if err := a.printEvents(last, f.asJSON); err != nil || !f.follow {
		return failed(exitFailed, err)
	}
	return a.followAudit(ctx, r, head.Seq, true, func(entries []audit.Entry) error {
		var wanted []audit.Entry
		for _, e := range entries {
			if event, err := e.Event(); err != nil || f.wants(event) {
				wanted = append(wanted, e)
			}
		}
		return a.printEvents(wanted, f.asJSON)
	})
}

// last are the newest that are wanted, in order. An event that cannot be read is always
// among them.
func (f *eventFilter) last(newestFirst iter.Seq2[audit.Entry, error]) ([]audit.Entry, error) {
	var found []audit.Entry
	for e, err := range newestFirst {
		if err != nil {
			return nil, err
		}
		if event, err := e.Event(); err == nil && !f.wants(event) {
			continue
		}
		if found = append(found, e); len(found) == f.limit {
			break
		}
	}
	slices.Reverse(found)
	return found, nil
}

// printEvents prints each text as it stands in the record, or a table of them.
func (a *app) printEvents(entries []audit.Entry, asJSON bool) error {
	if asJSON {
		for _, e := range entries {
			a.printf("%s\n", e.Text)
		}
		return nil
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, entry := range entries {
		e, err := entry.Event()
		cells := []string{strconv.FormatInt(entry.Seq, 10), clock(e.Time), string(e.Type), cmp.Or(string(e.Principal), "-"), cmp.Or(string(e.Operation), "-"), summary(e)}
		if err != nil {
			cells = []string{cells[0], "-", "-", "-", "-", "cannot be read: " + err.Error()}
		}
		_, _ = fmt.Fprintln(w, row(cells))
	}
	return w.Flush()
}

// summary is what an event says beside who and when.
func summary(e audit.Event) string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	switch e.Type {
	case audit.Requested:
		add(clientName(e.Client))
		add("gear " + e.Gear)
	case audit.Decided:
		add(e.Decision + " " + e.Permission)
		add("rule " + e.Rule)
	case audit.Finished:
		add(string(e.Status))
		add("exit code " + strconv.Itoa(e.ExitCode))
		add(fmt.Sprintf("%.2f ms", float64(e.Usage.Wall)/float64(time.Millisecond)))
	case audit.ToolCall:
		add(string(e.Status) + " " + e.Permission)
	case audit.Approval:
		add(e.Decision)
		add(strings.TrimSuffix(e.Reason, "."))
	case audit.Started, audit.Refused, audit.Login, audit.Config:
		add(e.Reason)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Details)) {
		add(name + "=" + e.Details[name])
	}
	return strings.Join(parts, ", ")
}

// followPause is the time between two looks at the record.
const followPause = 200 * time.Millisecond

// atOnce is how many events are printed together.
const atOnce = 500

// followAudit hands on the events behind a number, and with more those that come, until ctx
// ends, which is how one stops it.
func (a *app) followAudit(ctx context.Context, r sidecar.Records, after int64, more bool, print func([]audit.Entry) error) error {
	for {
		var some []audit.Entry
		for e, err := range r.Events(ctx, after) {
			if err != nil && ctx.Err() == nil {
				return failed(exitFailed, err)
			}
			if err != nil {
				break
			}
			after = e.Seq
			if some = append(some, e); len(some) == atOnce {
				break
			}
		}
		if err := print(some); err != nil {
			return failed(exitFailed, err)
		}
		if len(some) == atOnce {
			continue
		}
		if !more || ctx.Err() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}
