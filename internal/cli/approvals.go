package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

const approvalsHelp = `Where the rules say to ask a human, the call of an agent waits, and these commands
are for that human. They see the questions of every server of a data directory; what is
approved is run by the server that asked, or, if that is gone, by the next one.

  gearbox approvals watch          be asked as questions come
  gearbox approvals show ID        see exactly what would be run
  gearbox approvals approve ID     permit that, once
  gearbox approvals approve ID --always   and write a rule that allows the like
  gearbox approvals deny ID --message 'use the staging host'`

func (a *app) approvalsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "approvals", Short: "Say yes or no to what agents ask for", Args: knownCommand, Long: approvalsHelp,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.approvalsListCommand(), a.approvalsShowCommand(), a.approveCommand(), a.denyCommand(), a.watchCommand(), a.approvalsCredentialCommand())
	return c
}

// withDecisions opens the questions of a data directory for one command.
func withDecisions(ctx context.Context, o sidecar.Options, do func(sidecar.Records, sidecar.Decisions) error) error {
	return withRecords(ctx, o, func(r sidecar.Records) error {
		d, err := r.Decisions()
		if err != nil {
			return failed(exitFailed, err)
		}
		return do(r, d)
	})
}

func (a *app) approvalsListCommand() *cobra.Command {
	var o sidecar.Options
	var all, asJSON bool
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List the open questions, the oldest first", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage("", "--limit %d: it has to be at least 1", limit)
			}
			return a.none(withDecisions(c.Context(), o, func(r sidecar.Records, d sidecar.Decisions) error {
				found, err := d.Open(c.Context())
				if all {
					found, err = r.All(c.Context(), limit)
				}
				if err != nil {
					return failed(exitFailed, err)
				}
				return a.listQuestions(found, all, asJSON)
			}))
		},
	}
	c.Flags().BoolVar(&all, "all", false, "also those that are over")
	c.Flags().IntVar(&limit, "limit", 50, "with --all the last `N`")
	addJSON(c, &asJSON)
	addDataDir(c, &o)
	c.Flags().SortFlags = false
	return c
}

func (a *app) listQuestions(found []execution.Record, all, asJSON bool) error {
	if asJSON {
		for _, r := range found {
			if err := a.printLine(shownQuestion(r)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(found) == 0 {
		a.sayf("No open questions.\n")
		return nil
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		if !all {
			cells = slices.Delete(cells, 3, 4)
		}
		_, _ = fmt.Fprintln(w, row(cells))
	}
	line("OPERATION", "ASKED", "EXPIRES", "STATE", "PRINCIPAL", "CLIENT", "GEAR", "NEEDS")
	for _, r := range found {
		state := cmp.Or(decided(r), "open")
		line(string(r.ID), clock(r.Approval.Created), clock(r.Approval.Expires), state, string(r.Request.Principal), cmp.Or(clientName(r.Request.Client), "-"), r.Gear, needs(r.Approval)+becauseAgain(r.Approval))
	}
	return failed(exitFailed, w.Flush())
}

// needs names what is asked for in few words.
func needs(q *execution.Approval) string {
	text := ""
	var seen []string
	for _, one := range q.Asked {
		if name := one.String(); !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
	}
	for i, name := range seen {
		switch {
		case i == 3:
			return text + fmt.Sprintf(" and %d more", len(seen)-i)
		case i > 0:
			text += ", "
		}
		text += name
	}
	return text
}

func (a *app) approvalsShowCommand() *cobra.Command {
	var o sidecar.Options
	var asJSON bool
	var file string
	c := &cobra.Command{
		Use: "show ID", Short: "Show exactly what would be run, and what it needs", Args: someArguments(1, 1, "one operation id"),
		Long: "Show exactly what would be run, and what it needs: the whole program, its inputs, and\nwhat the answer \"always\" would write. Characters that do not show, or show as something\nelse, are written as ⟨U+202E⟩.",
		RunE: func(c *cobra.Command, args []string) error {
			return withDecisions(c.Context(), o, func(_ sidecar.Records, d sidecar.Decisions) error {
				r, err := d.Find(c.Context(), execution.ID(args[0]))
				switch {
				case err != nil:
					return notDecided(execution.ID(args[0]), err)
				case file != "":
					return a.showFile(r, file)
				case asJSON:
					return a.printLine(wholeQuestion(r))
				}
				a.pictureOn(d).question(r, time.Now())
				return nil
			})
		},
	}
	c.Flags().StringVar(&file, "file", "", "print the file at `PATH` that came with the call")
	addJSON(c, &asJSON)
	addDataDir(c, &o)
	c.Flags().SortFlags = false
	return c
}

// pictureOn prints on standard output.
func (a *app) pictureOn(d sidecar.Decisions) picture {
	return picture{w: a.Out, columns: columnsOf(a.Out), rulesFile: d.RulesFile()}
}

func (a *app) showFile(r execution.Record, path string) error {
	if f := fileShownAs(r.Request.Files, path); f != nil {
		picture{w: a.Out, columns: columnsOf(a.Out)}.lines(fmt.Sprintf("%s, sha256:%s", visible.Line(f.Path), hashOf(f.Data)), string(f.Data), true)
		return nil
	}
	return failed(exitFailed, &hinted{fmt.Errorf("no file %q came with %s", path, r.ID), "gearbox approvals show " + string(r.ID) + " lists its files"})
}

// fileShownAs is the file whose path is shown as this, or else is this; nil for none. What is
// shown comes first: it is what a person can have read, and no two paths are shown alike.
func fileShownAs(files []execution.File, path string) *execution.File {
	for _, name := range []func(string) string{visible.Line, strings.Clone} {
		for i := range files {
			if name(files[i].Path) == path {
				return &files[i]
			}
		}
	}
	return nil
}

// notDecided explains why a decision does not count, with its cause.
func notDecided(id execution.ID, err error) error {
	var refused *approval.RefusedError
	if !errors.As(err, &refused) {
		return failed(exitFailed, err)
	}
	hint := "gearbox approvals list shows what is open"
	switch refused.Cause {
	case approval.Decided, approval.Late:
		hint = "gearbox operations show " + string(id) + " shows what came of it"
	case approval.Stale:
		hint = "gearbox approvals show " + string(id) + " shows what is asked now"
	case approval.Unproven:
		hint = "it is the one that was set with gearbox approvals credential set"
	case approval.Throttled:
		hint = fmt.Sprintf("try again in %v", refused.RetryAfter.Round(time.Second))
	case approval.Unknown, approval.Malformed:
	}
	return failed(exitFailed, &hinted{fmt.Errorf("refused (%s): %w", refused.Cause, err), hint})
}
