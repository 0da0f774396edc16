package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
	"github.com/gearbox-mcp/gearbox/internal/upstream/serverfile"
)

const listHelp = `List the configured MCP servers: where each is configured, how it is reached, and how the
running Gearbox processes of the data directory stand with it. Nothing is started:
gearbox upstream test does that.`

const noServers = "no MCP servers are configured: gearbox upstream import takes over those of other programs, --mcp-servers FILE names a file of them"

// listedServer is one server in the form of --json.
type listedServer struct {
	Name        string             `json:"name"`
	Alias       string             `json:"alias,omitempty"`
	Description string             `json:"description,omitempty"`
	Transport   upstream.Transport `json:"transport"`
	Origin      string             `json:"origin"`
	Disabled    bool               `json:"disabled,omitempty"`
	Lazy        bool               `json:"lazy,omitempty"`
	// Fault is why it cannot be used as it is configured.
	Fault string `json:"fault,omitempty"`
	// Running is how each running process stands with it.
	Running []runningServer `json:"running,omitempty"`
}

type runningServer struct {
	PID int `json:"pid"`
	sidecar.ServerStatus
}

func (a *app) upstreamListCommand() *cobra.Command {
	var given *config.Given
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the configured servers, and how each stands", Long: listHelp, Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.upstreamList(c.Context(), given, asJSON) },
	}
	addJSON(c, &asJSON)
	given = declareServers(c)
	return c
}

// declareServers adds the flags that say which servers there are.
func declareServers(c *cobra.Command) *config.Given {
	return (&settings{}).table().Declare(c.Flags(), func(s config.Setting) bool {
		return s.Key == "" || s.Key == "mcp_servers" || s.Key == "env_file"
	})
}

func (a *app) upstreamList(ctx context.Context, given *config.Given, asJSON bool) error {
	l, err := a.settings(given)
	if err != nil {
		return err
	}
	c, err := sidecar.Servers(l.server)
	if err != nil {
		return failed(exitUsage, l.resolved.Explain(err))
	}
	a.warn(c)
	_, reports, err := sidecar.Instances(ctx, l.server)
	if err != nil {
		return failed(exitFailed, err)
	}
	all := serversListed(c.Servers, reports)
	if asJSON {
		for _, s := range all {
			if err := a.printLine(s); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		a.notef("%s", noServers)
		return nil
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, row([]string{"NAME", "TRANSPORT", "TOOLS", "CONFIGURED IN", "STATE"}))
	for _, s := range all {
		state, tools := s.state()
		_, _ = fmt.Fprintln(w, row([]string{s.Name, string(s.Transport), tools, s.Origin, state}))
	}
	return failed(exitFailed, w.Flush())
}

// warn tells what was found in the files of servers.
func (a *app) warn(c serverfile.Config) {
	for _, w := range c.Warnings {
		a.notef("%s", w)
	}
}

func serversListed(servers []upstream.Spec, reports []sidecar.Report) []listedServer {
	var all []listedServer
	for _, s := range servers {
		one := listedServer{
			Name: s.Name, Alias: s.Alias, Description: s.Description, Transport: s.Transport, Origin: s.Origin, Disabled: s.Disabled, Lazy: s.Lazy, Fault: s.Fault,
		}
		for _, r := range reports {
			if r.Status == nil {
				continue
			}
			for _, now := range r.Status.Servers {
				if now.Name == s.Name {
					one.Running = append(one.Running, runningServer{r.PID, now})
				}
			}
		}
		all = append(all, one)
	}
	return all
}

// state is how a server stands, in words, and how many tools it has.
func (s listedServer) state() (state, tools string) {
	switch {
	case s.Disabled:
		return "disabled", "-"
	case s.Fault != "":
		return "cannot be used: " + s.Fault, "-"
	case len(s.Running) == 0:
		return "not started", "-"
	}
	last := s.Running[len(s.Running)-1] // that of the process which started last
	if last.State == upstream.Ready {
		tools = strconv.Itoa(last.Tools)
	}
	return serverState(last.ServerStatus) + fmt.Sprintf(" (process %d)", last.PID), cmp.Or(tools, "-")
}

// serverState is the state of a session, with the reason where there is one.
func serverState(s sidecar.ServerStatus) string {
	if s.Reason == "" {
		return string(s.State)
	}
	return string(s.State) + ": " + s.Reason
}
