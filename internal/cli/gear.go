package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func (a *app) gearCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "gear", Short: "List, show and explain gears", Args: knownCommand,
		Long: "A gear is a named policy: what code may do at once, what a human is asked, what is\nrefused. Besides the built-in ones there are those in <data-dir>/gears.",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.gearListCommand(), a.gearShowCommand(), a.gearExplainCommand())
	return c
}

// knownCommand refuses a word that names no command below c. Cobra does so for
// the root alone.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	hint := "one of: " + strings.Join(names, ", ")
	if near := policy.Nearest(args[0], names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return usage(hint, "%s has no command %q", c.CommandPath(), args[0])
}

func (a *app) gearListCommand() *cobra.Command {
	var o sidecar.Options
	c := &cobra.Command{
		Use: "list", Short: "List the gears", Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.gearList(o) },
	}
	addDataDir(c, &o)
	return c
}

func addDataDir(c *cobra.Command, o *sidecar.Options) {
	c.Flags().StringVar(&o.DataDir, "data-dir", "", "the data directory, `DIR`")
}

func (a *app) gearList(o sidecar.Options) error {
	entries, err := sidecar.ListGears(o)
	if err != nil {
		return failed(exitUsage, err)
	}
	broken := 0
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		if e.Err != nil {
			broken++
			_, _ = fmt.Fprintf(w, "%s\t%s\t(cannot be read)\n", e.Gear.Name, e.Gear.Origin)
			a.notef("%v", e.Err)
			continue
		}
		name := e.Gear.Name
		if name == sidecar.DefaultGear {
			name += " (default)"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", name, e.Gear.Origin, firstLine(e.Gear.Description))
	}
	if err := w.Flush(); err != nil {
		return failed(exitFailed, err)
	}
	if broken > 0 {
		return exit(exitFailed)
	}
	return nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func (a *app) gearShowCommand() *cobra.Command {
	var o sidecar.Options
	c := &cobra.Command{
		Use: "show NAME|FILE.yaml", Short: "Print a gear as a file, with all that it extends", Args: oneGear,
		RunE: func(_ *cobra.Command, args []string) error { return a.gearShow(o, args[0]) },
	}
	addDataDir(c, &o)
	return c
}

func oneGear(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("gearbox gear list shows what there is", "%s takes one gear, not %d", c.CommandPath(), len(args))
	}
	return nil
}

func (a *app) gearShow(o sidecar.Options, name string) error {
	o.Gear = name
	g, _, err := sidecar.FindGear(o)
	if err != nil {
		return failed(exitUsage, err)
	}
	text, err := g.Show()
	if err != nil {
		return failed(exitFailed, err)
	}
	a.printf("# %s (%s)\n%s", g.Name, g.Origin, text)
	return nil
}

const explainHelp = `Say what a gear would decide on a program, permission by permission, with the rule
that decides and why. The program is analysed in the sandbox and never run.

The exit code is 0 if the program would run, 120 if not.`

func (a *app) gearExplainCommand() *cobra.Command {
	f := &execFlags{}
	c := &cobra.Command{
		Use: "explain NAME|FILE.yaml [-c CODE | FILE | -]", Short: "Say what a gear would decide on a program, and why", Long: explainHelp,
		Example: "  gearbox gear explain restricted -c 'import subprocess'",
		RunE: func(c *cobra.Command, args []string) error {
			f.hasCode = c.Flags().Changed("code")
			if len(args) == 0 {
				return oneGear(c, args)
			}
			return a.gearExplain(c.Context(), f, args[0], args[1:])
		},
	}
	fs := c.Flags()
	fs.StringVarP(&f.code, "code", "c", "", "the `CODE` to explain")
	addLanguage(fs, f)
	f.given = (&settings{}).table().Declare(fs, func(s config.Setting) bool {
		return s.Adds || s.Flag == config.FlagDataDir || s.Flag == config.FlagFile
	})
	return c
}

func (a *app) gearExplain(ctx context.Context, f *execFlags, name string, args []string) error {
	request, err := a.request(ctx, f, args)
	if err != nil {
		return a.rejected(f, err)
	}
	l, err := a.settings(f.given)
	if err != nil {
		return err
	}
	l.server.Gear = name
	_, frozen, err := sidecar.FindGear(l.server)
	if err != nil {
		return failed(exitUsage, err)
	}
	if refusal := unread(frozen, request); refusal != "" {
		a.printf("%s\n", refusal)
		return exit(exitDenied)
	}
	permissions, err := a.permissions(ctx, l.server.DataDir, request)
	if err != nil {
		return a.rejected(f, err)
	}
	verdicts, err := sidecar.Explain(l.server, frozen, permissions)
	if err != nil {
		return failed(exitUsage, err)
	}
	return a.printExplanation(verdicts)
}

// unread says why a gear refuses a program without looking at what it does.
func unread(g gear.Frozen, r execution.Request) string {
	if !g.Enabled() {
		return fmt.Sprintf("deny   The gear %s does not run code: its execution is off.", g.Name())
	}
	if !g.AllowsLanguage(r.Language) {
		return fmt.Sprintf("deny   The gear %s does not run %s.", g.Name(), r.Language)
	}
	s := g.Source()
	if v := analysis.SourceLimits(r.Code, s.Characters, s.Lines); v != nil {
		return fmt.Sprintf("deny   The source is longer than the gear %s accepts (%s). %s", g.Name(), v.Rule, v.Hint)
	}
	return ""
}

// permissions analyses the program in the sandbox of the default gear, whatever
// gear is to be explained: one without isolation is no reason to parse a stranger's
// code outside.
func (a *app) permissions(ctx context.Context, dataDir string, r execution.Request) ([]policy.Permission, error) {
	s, err := sidecar.Open(ctx, sidecar.Options{DataDir: dataDir, Transport: sidecar.TransportExplain, Pool: sidecar.OnDemand()}, version(), silent(), a.progress())
	if err != nil {
		return nil, err
	}
	permissions, err := s.Engine().Permissions(ctx, r)
	return permissions, errors.Join(err, s.Close())
}

func (a *app) printExplanation(lines []authz.Verdict) error {
	worst := policy.Allow
	if len(lines) == 0 {
		a.printf("The program needs no permission.\n")
	}
	for _, l := range lines {
		d := l.Decision
		place := ""
		if d.Permission.Line > 0 {
			place = fmt.Sprintf("line %d, column %d: ", d.Permission.Line, d.Permission.Column)
		}
		rule := d.Rule
		if string(d.Layer) != rule {
			rule += " (" + string(d.Layer) + ")"
		}
		a.printf("%-5s  %s%s\n       rule %s: %s\n", d.Effect, place, d.Permission, rule, l.Hint)
		if d.Effect != policy.Allow {
			worst = d.Effect
		}
		if l.Allow != "" {
			a.printf("       to permit it: --allow %s\n", shellQuote(l.Allow))
		}
	}
	if worst != policy.Allow {
		return exit(exitDenied)
	}
	return nil
}
