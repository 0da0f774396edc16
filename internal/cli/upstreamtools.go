package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gateway"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

func (a *app) upstreamToolsCommand() *cobra.Command {
	var given *config.Given
	var detail string
	c := &cobra.Command{
		Use: "tools [NAME]", Short: "Show the tools of the servers as programs see them",
		Long:    "Show the tools of one server or of all, as Python functions. Servers are started for that\nand ended again; the exit code is 1 if one of them cannot be used.",
		Example: "  gearbox upstream tools github\n  gearbox upstream tools --detail name",
		RunE:    func(c *cobra.Command, args []string) error { return a.upstreamTools(c.Context(), given, detail, args) },
	}
	c.Flags().StringVar(&detail, "detail", string(catalog.DetailSignature), "how much to tell of each, `LEVEL` "+levelNames())
	given = declareServers(c)
	return c
}

func levelNames() string {
	var all []string
	for _, d := range catalog.Details() {
		all = append(all, string(d))
	}
	return strings.Join(all, ", ")
}

func (a *app) upstreamTools(ctx context.Context, given *config.Given, detail string, args []string) error {
	server := ""
	switch {
	case len(args) > 1:
		return usage("leave the name out for all", "upstream tools takes one server, and not %q too", args[1])
	case len(args) == 1:
		server = args[0]
	}
	if !catalog.Detail(detail).Valid() {
		return usage("one of "+levelNames(), "--detail %q is no level", detail)
	}
	return a.withUpstreams(ctx, given, func(u *sidecar.Upstreams) error {
		if server != "" {
			if _, err := u.Named(server); err != nil {
				return usage("gearbox upstream list shows all", "%w", err)
			}
		}
		text, err := u.Tools(ctx, server, detail)
		if err != nil {
			return failed(exitFailed, &hinted{err, "gearbox upstream test tells more"})
		}
		a.printf("%s", text)
		if server != "" {
			return nil
		}
		missing := u.Missing()
		for _, s := range missing {
			a.notef("%s is missing: %s", s.Name, visible.Line(s.Reason))
		}
		if len(u.Servers) == 0 {
			a.notef("%s", noServers)
		}
		if len(missing) > 0 {
			return exit(exitFailed)
		}
		return nil
	})
}

const acceptHelp = `Accept what a server says of its tools now, in the place of what was accepted before: all
of its tools that have changed, or one of them. Until that is done programs are shown the
old definition, and each call waits for a human who has seen the difference.

The differences are shown first, with their digest, and you are asked on the terminal.
A script of yours passes the digest of what you have seen with --seen instead. Where the
data directory asks for a credential (gearbox approvals credential), so does this.`

func (a *app) upstreamAcceptCommand() *cobra.Command {
	var given *config.Given
	var seen string
	c := &cobra.Command{
		Use: "accept SERVER[.TOOL]", Short: "Accept changed definitions of tools, after looking at them", Long: acceptHelp,
		Args: someArguments(1, 1, "one server, or one of its tools"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withUpstreams(c.Context(), given, func(u *sidecar.Upstreams) error { return a.upstreamAccept(c.Context(), u, args[0], seen) })
		},
	}
	c.Flags().StringVar(&seen, "seen", "", "accept, without asking, exactly what has this `DIGEST`")
	given = declareServers(c)
	return c
}

func (a *app) upstreamAccept(ctx context.Context, u *sidecar.Upstreams, name, seen string) error {
	server, only := name, ""
	if _, err := u.Named(name); err != nil {
		at := toolAt(u, name)
		if at < 0 {
			return usage("gearbox upstream list shows all", "%w", err)
		}
		server, only = name[:at], name[at+1:]
	}
	changes, err := u.Changes(ctx, server)
	if err != nil {
		return failed(exitFailed, err)
	}
	if only != "" {
		changes = ofTool(changes, only)
	}
	if len(changes) == 0 {
		a.printf("nothing of %s has changed since it was accepted\n", visible.Line(name))
		return nil
	}
	digest := a.showChanges(changes)
	if err := a.meantAccept(ctx, name, seen, digest); err != nil {
		return err
	}
	proof, err := a.credentialFor(ctx, u)
	if err == nil {
		err = u.Accept(ctx, changes, proof, asClient("upstream accept"))
	}
	if err != nil {
		return failed(exitFailed, fmt.Errorf("nothing was accepted: %w", err))
	}
	a.printf("accepted\n")
	return nil
}

// toolAt is where in server.tool the dot behind a configured server stands; below 0 if
// nowhere.
func toolAt(u *sidecar.Upstreams, name string) int {
	for at := strings.LastIndexByte(name, '.'); at > 0; at = strings.LastIndexByte(name[:at], '.') {
		if _, err := u.Named(name[:at]); err == nil {
			return at
		}
	}
	return -1
}

func ofTool(changes []gateway.Change, name string) []gateway.Change {
	for _, c := range changes {
		if c.Now.Name == name {
			return []gateway.Change{c}
		}
	}
	return nil
}

// showChanges prints differences, and returns the digest of what was shown.
func (a *app) showChanges(changes []gateway.Change) execution.Digest {
	parts := [][]byte{[]byte("changed definitions")}
	for _, c := range changes {
		a.printf("%s has changed:\n", visible.Line(c.Now.ID()))
		for _, d := range c.Differences {
			a.printf("  %s\n", visible.Line(d.String()))
		}
		parts = append(parts, []byte(c.Now.ID()), c.Pin[:])
	}
	return execution.DigestOf(parts...)
}

// meantAccept is nil when what was shown is to be accepted.
func (a *app) meantAccept(ctx context.Context, name, seen string, digest execution.Digest) error {
	if seen != "" {
		if seen != digest.String() {
			return failed(exitFailed, &hinted{errors.New("nothing was accepted: what has changed is not what --seen names"), "look at it again; its digest is " + digest.String()})
		}
		return nil
	}
	t, err := openTerminal()
	if err != nil {
		return failed(exitFailed, &hinted{fmt.Errorf("nothing was accepted: %w", err), fmt.Sprintf("to accept exactly this: gearbox upstream accept %s --seen %s", name, digest)})
	}
	defer t.close()
	answer, err := t.ask(ctx, "\nAccept this? [y/N] ")
	if err != nil && !errors.Is(err, io.EOF) {
		return failed(exitFailed, err)
	}
	if !means(answer, "yes") {
		return failed(exitFailed, errors.New("nothing was accepted"))
	}
	return nil
}
