package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const doctorHelp = `Find out what this machine can do, by building a complete tiny sandbox step by
step and by reading every file of the interpreter. The exit code is 0 if code
would run, 1 if not.

--repair replaces the embedded interpreter by a fresh copy first.`

func (a *app) doctorCommand() *cobra.Command {
	var given *config.Given
	var asJSON, repair bool
	c := &cobra.Command{
		Use: "doctor", Short: "Find out what this machine can do, and how to mend what it cannot", Long: doctorHelp, Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), given, asJSON, repair) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	c.Flags().BoolVar(&repair, "repair", false, "replace the embedded interpreter by a fresh copy")
	given = (&settings{}).table().Declare(c.Flags(), forAll)
	return c
}

func (a *app) doctor(ctx context.Context, given *config.Given, asJSON, repair bool) error {
	l, err := a.settings(given)
	if err != nil {
		return err
	}
	o := l.server
	if note := strayServers(o); note != "" {
		a.notef("%s", note)
	}
	if repair {
		if err := sidecar.Repair(ctx, o, silent(), a.progress()); err != nil {
			return failed(exitFailed, err)
		}
	}
	o.Transport = sidecar.TransportDoctor
	s, err := sidecar.Open(ctx, o, version(), silent(), a.progress())
	if err != nil {
		return failed(exitUsage, l.resolved.Explain(err))
	}
	d := s.Diagnose(ctx)
	if err := s.Close(); err != nil {
		return failed(exitFailed, err)
	}
	if err := a.printDiagnosis(d, asJSON); err != nil {
		return failed(exitFailed, err)
	}
	if !d.Healthy {
		return exit(exitFailed)
	}
	return nil
}

func (a *app) printDiagnosis(d sidecar.Diagnosis, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(a.Out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(d)
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, c := range d.Checks {
		mark := "ok"
		if !c.OK {
			mark = "FAILED"
		} else if c.Warning {
			mark = "warning"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", mark, c.Name, c.Detail)
		if c.Hint != "" {
			_, _ = fmt.Fprintf(w, "\t\tmend: %s\n", c.Hint)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !d.Healthy {
		a.printf("\nexecute would answer UNAVAILABLE on this machine.\n")
		return nil
	}
	a.printf("\nCode runs at isolation level %s, backend %s, Python %s (%s).\n", d.Isolation, d.Backend, d.Python.Version, d.Python.Path)
	return nil
}
