package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const configHelp = `Settings are written in gearbox.yaml in the data directory, in the file that --config or
GEARBOX_CONFIG names, in environment variables, and in flags. A flag wins over a
variable, a variable over the file; rules of all places hold together. The variable of
a flag is its name in capitals after GEARBOX_: GEARBOX_POOL_SIZE for --pool-size.

A running server reads its configuration anew when it gets SIGHUP.`

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Check, print and describe the configuration", Args: knownCommand, Long: configHelp,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.configCheckCommand(), a.configPrintCommand(), a.configSchemaCommand())
	return c
}

func (a *app) configCheckCommand() *cobra.Command {
	var given *config.Given
	c := &cobra.Command{
		Use: "check [FILE]", Short: "Say what is wrong with a configuration file",
		Long: "Say what is wrong with FILE, or with the file that a server would read, together with\nwhat the environment and the flags say. Nothing is made, and nothing started but the\ninterpreter of --python. The exit code is 0 if a server would start with it, 1 if not;\nwhether a port or a socket is free is found out by the server alone.",
		RunE: func(c *cobra.Command, args []string) error { return a.configCheck(c.Context(), given, args) },
	}
	given = (&settings{}).table().Declare(c.Flags(), nil)
	return c
}

func (a *app) configCheck(ctx context.Context, given *config.Given, args []string) error {
	switch {
	case len(args) > 1:
		return usage("check them one by one", "config check takes one file: %q is too much", args[1])
	case len(args) == 1 && given.Says(config.FlagFile):
		return usage("leave one of them out", "both --config and %q were given", args[0])
	case len(args) == 1:
		given.Say(config.FlagFile, args[0])
	}
	l, err := load(given)
	if err == nil {
		err = l.resolved.Explain(sidecar.CheckStart(ctx, l.server))
	}
	if err != nil {
		return failed(exitFailed, err)
	}
	for _, w := range l.resolved.Warnings {
		a.notef("%s", w)
	}
	if err := a.checkServers(l.server); err != nil {
		return failed(exitFailed, err)
	}
	if !l.resolved.Found {
		a.printf("%s is not there: what flags and variables do not say has its default\n", l.resolved.File)
		return nil
	}
	a.printf("%s is as it should be\n", l.resolved.File)
	return nil
}

// checkServers tells which of the configured servers cannot be used. The others can.
func (a *app) checkServers(o sidecar.Options) error {
	c, err := sidecar.Servers(o)
	if err != nil {
		return err
	}
	a.warn(c)
	for _, s := range c.Servers {
		if s.Fault != "" && !s.Disabled {
			a.notef("server %q of %s cannot be used: %s", s.Name, s.Origin, s.Fault)
		}
	}
	return nil
}

func (a *app) configPrintCommand() *cobra.Command {
	var given *config.Given
	var asJSON bool
	c := &cobra.Command{
		Use: "print", Short: "Print what holds, and where each value was written", Args: noArguments,
		Long: "Print what would hold for a server with these flags, as a file that gives the same, each\nvalue with where it was written. There are no secrets in it: settings name the files\nof secrets.",
		RunE: func(*cobra.Command, []string) error { return a.configPrint(given, asJSON) },
	}
	given = (&settings{}).table().Declare(c.Flags(), nil)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// printed is the form of --json.
type printed struct {
	// File is the configuration file, empty if there is none.
	File     string         `json:"file"`
	Settings []config.Shown `json:"settings"`
}

func (a *app) configPrint(given *config.Given, asJSON bool) error {
	l, err := a.settings(given)
	if err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return failed(exitUsage, err)
	}
	r := l.resolved
	if asJSON {
		p := printed{Settings: r.Settings()}
		if r.Found {
			p.File = r.File
		}
		return a.printJSON(p)
	}
	note := ""
	if !r.Found {
		note = ", which is not there"
	}
	a.printf("# What holds for gearbox serve. The file is %s%s.\n%s", config.OneLine(r.File), note, r.YAML())
	return nil
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return failed(exitFailed, e.Encode(v))
}

func (a *app) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON schema of the configuration file, for editors", Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.printJSON((&settings{}).table().Schema()) },
	}
}
