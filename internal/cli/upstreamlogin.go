package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

const loginHelp = `Log in to a server that asks for OAuth, in your browser. What comes of it is kept encrypted
in the data directory and renewed when needed; every Gearbox of the data directory uses it
from its next attempt on, and no program gets to see it.

The address is printed too, for a browser that does not open by itself. It has to be opened
on this machine.`

func (a *app) upstreamLoginCommand() *cobra.Command {
	var given *config.Given
	var quiet bool
	c := &cobra.Command{
		Use: "login NAME", Short: "Log in to a server with a browser", Long: loginHelp, Args: someArguments(1, 1, "one server"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.upstreamLogin(c.Context(), given, quiet, args[0])
		},
	}
	c.Flags().BoolVar(&quiet, "no-browser", false, "only print the address")
	given = declareServers(c)
	return c
}

func (a *app) upstreamLogin(ctx context.Context, given *config.Given, quiet bool, name string) error {
	l, err := a.settings(given)
	if err != nil {
		return err
	}
	err = sidecar.LogIn(ctx, l.server, name, func(address string) error {
		a.sayf("Open this address to log in to %s:\n  %s\n", name, address)
		if quiet {
			return nil
		}
		if err := upstream.Browse(ctx, address); err != nil {
			a.notef("%v: open it yourself", err)
		}
		return nil
	})
	if err != nil {
		return failed(exitFailed, err)
	}
	a.printf("logged in to %s\n", name)
	return nil
}

func (a *app) upstreamLogoutCommand() *cobra.Command {
	var given *config.Given
	c := &cobra.Command{
		Use: "logout NAME", Short: "Forget the login to a server",
		Long: "Remove what upstream login has kept. The server is not told: where it matters, end the\nlogin there too. A process that has the login goes on with it until it ends.",
		Args: someArguments(1, 1, "one server"),
		RunE: func(c *cobra.Command, args []string) error { return a.upstreamLogout(c.Context(), given, args[0]) },
	}
	given = declareServers(c)
	return c
}

func (a *app) upstreamLogout(ctx context.Context, given *config.Given, name string) error {
	l, err := a.settings(given)
	if err != nil {
		return err
	}
	if err := sidecar.LogOut(ctx, l.server, name); err != nil {
		return failed(exitFailed, err)
	}
	a.printf("logged out of %s\n", name)
	return nil
}
