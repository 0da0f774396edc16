package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

func (a *app) operationsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "operations", Short: "List, show, cancel and delete what was run", Args: knownCommand,
		Long: "An operation is the record of one execution: what was asked, by whom, and what came\nof it. These commands see those of every principal and every server of a data\ndirectory, also while the servers run.",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.operationsListCommand(), a.operationsShowCommand(), a.operationsCancelCommand(), a.operationsDeleteCommand())
	return c
}

func (a *app) operationsListCommand() *cobra.Command {
	var o sidecar.Options
	var f store.Filter
	var principal, status, before string
	var since timeFlag
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List operations, the newest first", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.Limit < 1 {
				return usage("", "--limit %d: it has to be at least 1", f.Limit)
			}
			f.Principal, f.Before, f.Since = execution.Principal(principal), execution.ID(before), since.Time
			if err := setStatus(&f, status); err != nil {
				return err
			}
			return a.none(withRecords(c.Context(), o, func(r sidecar.Records) error { return a.operationsList(c.Context(), r, f, asJSON) }))
		},
	}
	fs := c.Flags()
	fs.StringVar(&principal, "principal", "", "only those of principal `NAME`")
	fs.StringVar(&status, "status", "", "only those with `STATUS`: submitted, running, or how they ended")
	addSince(c, &since, "those taken on")
	fs.IntVar(&f.Limit, "limit", 50, "at most `N`")
	fs.StringVar(&before, "before", "", "only those taken on before operation `ID`: the last of one page gives the next")
	addJSON(c, &asJSON)
	addDataDir(c, &o)
	fs.SortFlags = false
	return c
}

// setStatus takes the name of a state or of a status.
func setStatus(f *store.Filter, name string) error {
	var states []string
	for _, s := range execution.States() {
		states = append(states, string(s))
	}
	names := slices.Clone(states)
	for _, s := range execution.Statuses() {
		if s.Final() && s != execution.StatusRejected {
			names = append(names, string(s))
		}
	}
	switch {
	case slices.Contains(states, name):
		f.State = execution.State(name)
	case name == "" || slices.Contains(names, name):
		f.Status = execution.Status(name)
	default:
		hint := "one of: " + strings.Join(names, ", ")
		if near := policy.Nearest(name, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		return usage(hint, "no operation has the status %q", name)
	}
	return nil
}

func (a *app) operationsList(ctx context.Context, r sidecar.Records, f store.Filter, asJSON bool) error {
	found, err := r.Operations(ctx, f)
	if err != nil {
		return failed(exitFailed, err)
	}
	if asJSON {
		for _, o := range found {
			if err := a.printLine(listedOperation{o, o.Code.String()}); err != nil {
				return err
			}
		}
	} else if err := a.printOperations(found); err != nil {
		return failed(exitFailed, err)
	}
	if len(found) == f.Limit {
		a.notef("older ones: --before %s", found[len(found)-1].ID)
	}
	return nil
}

// listedOperation is the form of --json.
type listedOperation struct {
	store.Operation

	Code string `json:"code_sha256"`
}

func (a *app) printOperations(found []store.Operation) error {
	if len(found) == 0 {
		a.sayf("No operations.\n")
		return nil
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintln(w, row(cells)) }
	line("CREATED", "OPERATION", "STATUS", "EXIT", "LANGUAGE", "GEAR", "PRINCIPAL", "CLIENT")
	for _, o := range found {
		exit := "-"
		if o.State == execution.StateFinished {
			exit = strconv.Itoa(o.ExitCode)
		}
		line(clock(o.Created), string(o.ID), standing(o), exit, string(o.Language), o.Gear, string(o.Principal), cmp.Or(clientName(o.Client), "-"))
	}
	return w.Flush()
}

// standing is how an operation ended, or where it is.
func standing(o store.Operation) string { return cmp.Or(string(o.Status), string(o.State)) }

func clientName(c execution.Client) string { return strings.TrimSpace(c.Name + " " + c.Version) }

func (a *app) operationsShowCommand() *cobra.Command {
	var o sidecar.Options
	var asJSON bool
	c := &cobra.Command{
		Use: "show ID", Short: "Show an operation: what was asked, and what came of it", Args: someArguments(1, 1, "one operation id"),
		RunE: func(c *cobra.Command, args []string) error {
			return withRecords(c.Context(), o, func(r sidecar.Records) error {
				return a.operationShow(c.Context(), r, execution.ID(args[0]), asJSON)
			})
		},
	}
	addJSON(c, &asJSON)
	addDataDir(c, &o)
	return c
}

func (a *app) operationShow(ctx context.Context, r sidecar.Records, id execution.ID, asJSON bool) error {
	o, record, err := r.Operation(ctx, id)
	if err != nil {
		return failed(exitFailed, notThere(id, err))
	}
	shown := shownOperation{listedOperation: listedOperation{o, o.Code.String()}, Request: shownRequest(record.Request)}
	if o.State == execution.StateFinished {
		answer := engine.Answer(record)
		shown.Result = &answer
	}
	if asJSON {
		return a.printLine(shown)
	}
	return a.printOperation(shown)
}

func notThere(id execution.ID, err error) error {
	if errors.Is(err, engine.ErrNotFound) {
		return &hinted{fmt.Errorf("there is no operation %q", string(id)), "gearbox operations list shows what there is"}
	}
	return err
}

// shownOperation is the form of --json.
type shownOperation struct {
	listedOperation

	Request requestShown      `json:"request"`
	Result  *execution.Result `json:"result,omitempty"` // once it is finished
}

// requestShown is what was asked. Code that is not kept is empty.
type requestShown struct {
	Code           string         `json:"code"`
	Gear           string         `json:"gear,omitempty"`
	TimeoutSeconds float64        `json:"timeout_seconds,omitempty"`
	Stdin          string         `json:"stdin,omitempty"`
	Variables      map[string]any `json:"variables,omitempty"`
	Files          []fileShown    `json:"files,omitempty"`
}

type fileShown struct {
	Path string          `json:"path"`
	Size execution.Bytes `json:"size_bytes"`
}

func shownRequest(q execution.Request) requestShown {
	s := requestShown{Code: q.Code, Gear: q.Gear, TimeoutSeconds: q.Timeout.Seconds(), Stdin: string(q.Stdin)}
	for name, value := range q.Variables {
		if s.Variables == nil {
			s.Variables = map[string]any{}
		}
		s.Variables[name] = value
	}
	for _, f := range q.Files {
		s.Files = append(s.Files, fileShown{f.Path, execution.Bytes(len(f.Data))})
	}
	return s
}

func (a *app) printOperation(s shownOperation) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			_, _ = fmt.Fprintln(w, row([]string{name, value}))
		}
	}
	line("operation", string(s.ID))
	line("status", standing(s.Operation))
	if s.Result != nil {
		line("exit code", strconv.Itoa(s.ExitCode))
		line("finished", clock(s.Finished))
		line("ran for", fmt.Sprintf("%.2f ms", s.Result.DurationMS))
		line("isolation", string(s.Result.Isolation))
	}
	line("created", clock(s.Created))
	line("principal", string(s.Principal))
	line("client", clientName(s.Client))
	line("session", s.Client.Session)
	line("server", s.Instance)
	line("gear", s.Gear)
	line("language", string(s.Language))
	if call, ok := s.call(); ok {
		line("tool", call.Tool)
		line("run", string(call.Run))
	}
	line("code", s.Code)
	for _, f := range s.Request.Files {
		line("file", fmt.Sprintf("%s, %v", f.Path, f.Size))
	}
	if err := w.Flush(); err != nil {
		return failed(exitFailed, err)
	}
	if call, ok := s.call(); ok {
		a.section("arguments", call.Lines())
	} else {
		a.section("code", s.Request.Code)
	}
	a.section("stdin", s.Request.Stdin)
	if s.Result != nil {
		a.section("stdout", s.Result.Stdout)
		a.section("stderr", s.Result.Stderr)
		a.section("value", string(s.Result.Value))
	}
	return nil
}

// call is the call of a tool that the operation was, if it was one and that is kept.
func (s shownOperation) call() (execution.Call, bool) {
	return execution.CallOf(execution.Request{Language: s.Language, Code: s.Request.Code})
}

// section prints text of a program, line by line behind a margin, so that nothing in it
// can pass for a heading, steer the terminal or hide. Tabs are what columns are made of.
func (a *app) section(name, text string) {
	if text == "" {
		return
	}
	a.printf("\n%s:\n", name)
	for line := range strings.Lines(text) {
		a.printf("  %s\n", visible.Line(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")))
	}
}

const cancelHelp = `Cancel operations of any principal, whichever server runs them, and print how each
ended, once it has. One that had ended before is left as it is, which is no error.
One whose server is dead ends as interrupted. Who asked is in the audit record.`

func (a *app) operationsCancelCommand() *cobra.Command {
	var o sidecar.Options
	c := &cobra.Command{
		Use: "cancel ID…", Short: "Cancel operations, and wait for their end", Long: cancelHelp, Args: someArguments(1, 0, "operation ids"),
		RunE: func(c *cobra.Command, args []string) error {
			return withRecords(c.Context(), o, func(r sidecar.Records) error { return a.operationsCancel(c.Context(), r, args) })
		},
	}
	addDataDir(c, &o)
	return c
}

func (a *app) operationsCancel(ctx context.Context, r sidecar.Records, ids []string) error {
	for _, id := range ids {
		o, before, err := r.CancelOperation(ctx, execution.ID(id), asClient("operations cancel"))
		switch {
		case err != nil:
			return failed(exitFailed, notThere(execution.ID(id), err))
		case before:
			a.printf("%s had ended: %s\n", id, o.Status)
		default:
			a.printf("%s ended: %s\n", id, o.Status)
		}
	}
	return nil
}

func (a *app) operationsDeleteCommand() *cobra.Command {
	var o sidecar.Options
	c := &cobra.Command{
		Use: "delete ID…", Short: "Delete operations that have ended", Args: someArguments(1, 0, "operation ids"),
		Long: "Delete operations that have ended: what was asked and what came of it. Their audit\nevents stay, and the deletion is one more.",
		RunE: func(c *cobra.Command, args []string) error {
			return withRecords(c.Context(), o, func(r sidecar.Records) error { return a.operationsDelete(c.Context(), r, args) })
		},
	}
	addDataDir(c, &o)
	return c
}

func (a *app) operationsDelete(ctx context.Context, r sidecar.Records, ids []string) error {
	for _, id := range ids {
		err := r.DeleteOperation(ctx, execution.ID(id), asClient("operations delete"))
		if errors.Is(err, store.ErrUnfinished) {
			return failed(exitFailed, &hinted{fmt.Errorf("%s has not ended", id), "wait for its end, or end it with gearbox operations cancel " + id})
		}
		if err != nil {
			return failed(exitFailed, notThere(execution.ID(id), err))
		}
		a.printf("deleted %s\n", id)
	}
	return nil
}
