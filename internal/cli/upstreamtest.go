package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

const testHelp = `Start each configured server, or those that are named, and say how many tools it offers and
how long that took, or why it cannot be used and how to mend it. They are ended again.

The exit code is 1 if one of them cannot be used.`

// testedServer is one server in the form of --json.
type testedServer struct {
	Name     string   `json:"name"`
	OK       bool     `json:"ok"`
	State    string   `json:"state"`
	Reason   string   `json:"reason,omitempty"`
	Tools    int      `json:"tools"`
	Took     float64  `json:"seconds"`
	Protocol string   `json:"protocol,omitempty"`
	Title    string   `json:"title,omitempty"`
	Version  string   `json:"version,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Stderr   string   `json:"stderr,omitempty"`
}

func (a *app) upstreamTestCommand() *cobra.Command {
	var given *config.Given
	var asJSON bool
	c := &cobra.Command{
		Use: "test [NAME…]", Short: "Start servers, and say whether they can be used", Long: testHelp,
		RunE: func(c *cobra.Command, args []string) error { return a.upstreamTest(c.Context(), given, asJSON, args) },
	}
	addJSON(c, &asJSON)
	given = declareServers(c)
	return c
}

// withUpstreams opens the configured servers for one command.
func (a *app) withUpstreams(ctx context.Context, given *config.Given, do func(*sidecar.Upstreams) error) error {
	l, err := a.settings(given)
	if err != nil {
		return err
	}
	u, err := sidecar.OpenUpstreams(ctx, l.server, version(), silent())
	if err != nil {
		return failed(exitUsage, l.resolved.Explain(err))
	}
	a.warn(u.Config)
	err = do(u)
	if closed := u.Close(); err == nil {
		err = failed(exitFailed, closed)
	}
	return err
}

func (a *app) upstreamTest(ctx context.Context, given *config.Given, asJSON bool, names []string) error {
	return a.withUpstreams(ctx, given, func(u *sidecar.Upstreams) error {
		for _, n := range names {
			if _, err := u.Named(n); err != nil {
				return usage("gearbox upstream list shows all", "%w", err)
			}
		}
		if len(names) == 0 {
			for _, s := range u.Servers {
				names = append(names, s.Name)
			}
		}
		if len(names) == 0 {
			return failed(exitFailed, errors.New(noServers))
		}
		tested, err := u.Test(ctx, names)
		if err != nil {
			return failed(exitCancelled, err)
		}
		return a.tellTested(tested, asJSON)
	})
}

func (a *app) tellTested(tested []sidecar.Tested, asJSON bool) error {
	code := 0
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, t := range tested {
		ok := t.State == upstream.Ready
		if !ok && t.State != upstream.Disabled {
			code = exitFailed
		}
		if asJSON {
			if err := a.printLine(testedServer{
				t.Name, ok, string(t.State), t.Reason, t.Tools, t.Took.Seconds(), t.Protocol, t.Title, t.Version, t.Notes, t.Stderr,
			}); err != nil {
				return err
			}
			continue
		}
		mark, detail := "ok", fmt.Sprintf("%d tools over %s in %s, %s %s", t.Tools, t.Transport, seconds(t.Took.Seconds()), t.Title, t.Version)
		switch {
		case t.State == upstream.Disabled:
			mark, detail = "off", t.Reason
		case !ok:
			mark, detail = "FAILED", t.Reason
		}
		_, _ = fmt.Fprintln(w, row([]string{mark, t.Name, detail}))
		for _, n := range t.Notes {
			_, _ = fmt.Fprintln(w, row([]string{"", "", "note: " + n}))
		}
	}
	if err := w.Flush(); err != nil {
		return failed(exitFailed, err)
	}
	if code != 0 {
		return exit(code)
	}
	return nil
}
