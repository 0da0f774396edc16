package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const auditHelp = `The audit record of a data directory: each request, decision, start, end, refusal,
login and change of the configuration, in one chain over all servers. Each event
carries the hash of the one before, so that what is changed, dropped or moved later is
found, and named, by gearbox audit verify.

Whoever can write the records can also make a whole new chain. Keep an anchor, as
gearbox audit anchor prints it, where nobody on this machine can change it: it fixes
everything up to its event.`

func (a *app) auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "audit", Short: "Verify, list and export the audit record", Args: knownCommand, Long: auditHelp,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.auditVerifyCommand(), a.auditListCommand(), a.auditShowCommand(), a.auditExportCommand(), a.auditAnchorCommand())
	return c
}

const verifyHelp = `Check that every event is what was recorded, in its place, and that none is missing;
with --anchor also that the record goes through that event. FILE is an export, - is
standard input; without it the data directory's own record is checked.

The exit code is 1 if the chain is broken, and the first broken link is named.`

func (a *app) auditVerifyCommand() *cobra.Command {
	var o sidecar.Options
	var anchors []string
	var asJSON bool
	c := &cobra.Command{
		Use: "verify [FILE|-]", Short: "Check the chain, and name the first broken link", Long: verifyHelp, Args: someArguments(0, 1, "at most one file"),
		RunE: func(c *cobra.Command, args []string) error {
			known, err := parseAnchors(anchors)
			if err != nil {
				return err
			}
			report, err := a.auditVerify(c.Context(), o, args, known)
			return a.verified(report, err, asJSON)
		},
	}
	c.Flags().StringArrayVar(&anchors, "anchor", nil, "an event that the record has to go through, `SEQ:HASH`; may be repeated")
	addJSON(c, &asJSON)
	addDataDir(c, &o)
	c.Flags().SortFlags = false
	return c
}

func parseAnchors(texts []string) ([]audit.Anchor, error) {
	var all []audit.Anchor
	for _, s := range texts {
		anchor, err := audit.ParseAnchor(s)
		if err != nil {
			return nil, usage("", "--anchor: %w", err)
		}
		all = append(all, anchor)
	}
	return all, nil
}

func (a *app) auditVerify(ctx context.Context, o sidecar.Options, args []string, anchors []audit.Anchor) (report audit.Report, err error) {
	if len(args) == 0 {
		err = withRecords(ctx, o, func(r sidecar.Records) error {
			report, err = r.Verify(ctx, anchors...)
			return err
		})
		return report, err
	}
	if args[0] == "-" {
		return audit.VerifyLines(a.In, anchors...)
	}
	f, err := os.Open(args[0])
	if err != nil {
		return report, usage("", "%w", err)
	}
	report, err = audit.VerifyLines(f, anchors...)
	return report, errors.Join(err, f.Close())
}

// verdictOf is the form of --json.
type verdictOf struct {
	Whole bool         `json:"whole"`
	From  audit.Anchor `json:"from"`
	Head  audit.Anchor `json:"head"` // the last event up to which it is whole
	Seq   int64        `json:"broken_at,omitempty"`
	Fault audit.Fault  `json:"fault,omitempty"`
	Error string       `json:"error,omitempty"`
}

func (a *app) verified(r audit.Report, err error, asJSON bool) error {
	var broken *audit.BrokenError
	if err != nil && !errors.As(err, &broken) {
		var said *usageError
		if errors.As(err, &said) {
			return err
		}
		return failed(exitFailed, err)
	}
	if asJSON {
		v := verdictOf{Whole: err == nil, From: r.From, Head: r.Head}
		if broken != nil {
			v.Seq, v.Fault, v.Error = broken.Seq, broken.Fault, broken.Detail
		}
		if err := a.printLine(v); err != nil {
			return err
		}
		if broken != nil {
			return exit(exitFailed)
		}
		return nil
	}
	if err != nil {
		return failed(exitFailed, err)
	}
	a.printf("%s\n", whole(r))
	return nil
}

func whole(r audit.Report) string {
	switch {
	case r.Count() == 0:
		return "There are no events."
	case r.From.Seq == 0:
		return fmt.Sprintf("The chain is whole: events 1 to %d. Its head is %s", r.Head.Seq, r.Head)
	}
	return fmt.Sprintf("The chain is whole from event %d to %d; what came before is not in it, and was %s. Its head is %s", r.From.Seq+1, r.Head.Seq, r.From, r.Head)
}

func (a *app) auditShowCommand() *cobra.Command {
	var o sidecar.Options
	c := &cobra.Command{
		Use: "show SEQ", Short: "Print one event as JSON, with its hash and the one before", Args: someArguments(1, 1, "the number of one event"),
		RunE: func(c *cobra.Command, args []string) error {
			seq, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || seq < 1 {
				return usage("gearbox audit list shows the numbers", "%q is no number of an event", args[0])
			}
			return withRecords(c.Context(), o, func(r sidecar.Records) error { return a.auditShow(c.Context(), r, seq) })
		},
	}
	addDataDir(c, &o)
	return c
}

func (a *app) auditShow(ctx context.Context, r sidecar.Records, seq int64) error {
	for e, err := range r.Events(ctx, seq-1) {
		if err != nil {
			return failed(exitFailed, err)
		}
		if e.Seq != seq {
			break
		}
		return failed(exitFailed, audit.WriteLine(a.Out, e))
	}
	return failed(exitFailed, &hinted{fmt.Errorf("there is no event %d", seq), "gearbox audit list shows what there is"})
}

func (a *app) auditExportCommand() *cobra.Command {
	var o sidecar.Options
	var after int64
	var follow bool
	c := &cobra.Command{
		Use: "export", Short: "Print events as lines of JSON that can be verified on their own", Args: noArguments,
		Long:    "Print events, the oldest first, as lines {\"previous\", \"hash\", \"event\"}. gearbox audit\nverify FILE checks them, on any machine, also when the export begins behind the first.",
		Example: "  gearbox audit export > audit.jsonl && gearbox audit verify audit.jsonl",
		RunE: func(c *cobra.Command, _ []string) error {
			if after < 0 {
				return usage("", "--after %d: events count from 1", after)
			}
			return withRecords(c.Context(), o, func(r sidecar.Records) error {
				return a.followAudit(c.Context(), r, after, follow, func(entries []audit.Entry) error { return writeLines(a.Out, entries) })
			})
		},
	}
	c.Flags().Int64Var(&after, "after", 0, "only events behind number `SEQ`")
	addFollow(c, &follow)
	addDataDir(c, &o)
	c.Flags().SortFlags = false
	return c
}

func addFollow(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "follow", false, "go on with new events as they come, until interrupted")
}

func writeLines(w io.Writer, entries []audit.Entry) error {
	for _, e := range entries {
		if err := audit.WriteLine(w, e); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) auditAnchorCommand() *cobra.Command {
	var o sidecar.Options
	var asJSON bool
	c := &cobra.Command{
		Use: "anchor", Short: "Print the last event's number and hash, to be kept elsewhere", Args: noArguments,
		Long: "Print SEQ:HASH of the last event. Kept where nobody on this machine can change it, it\nlets gearbox audit verify --anchor find a record that was cut or written anew.",
		RunE: func(c *cobra.Command, _ []string) error {
			return withRecords(c.Context(), o, func(r sidecar.Records) error {
				head, err := r.Head(c.Context())
				switch {
				case err != nil:
					return failed(exitFailed, err)
				case asJSON:
					return a.printLine(head)
				}
				a.printf("%s\n", head)
				return nil
			})
		},
	}
	addJSON(c, &asJSON)
	addDataDir(c, &o)
	return c
}
