package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/upstream/serverfile"
)

const upstreamHelp = `MCP servers whose tools programs may call. They are configured in the files that
--mcp-servers or mcp_servers in gearbox.yaml names, or else in mcp_servers.json of the
data directory, into which import puts those of other programs.`

func (a *app) upstreamCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "upstream", Short: "Configure, try and use the MCP servers that programs may call", Long: upstreamHelp, Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.upstreamListCommand(), a.upstreamTestCommand(), a.upstreamToolsCommand(), a.upstreamCallCommand(), a.upstreamAcceptCommand(),
		a.upstreamLoginCommand(), a.upstreamLogoutCommand(), a.upstreamImportCommand())
	return c
}

// serverFiles are the files of servers that hold.
func serverFiles(o sidecar.Options) ([]string, error) {
	if o.MCPServers != nil {
		return o.MCPServers, nil
	}
	dir, err := sidecar.DataDirectory(o)
	if err != nil {
		return nil, err
	}
	if path := serverfile.Default(dir); path != "" {
		return []string{path}, nil
	}
	return nil, nil
}

// serverOptions are what files of servers are read with.
func serverOptions(o sidecar.Options) (serverfile.Options, error) {
	self, err := os.Executable()
	if err != nil {
		return serverfile.Options{}, fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return serverfile.Options{}, fmt.Errorf("find the working directory: %w", err)
	}
	home, _ := os.UserHomeDir() // without one, what names it says so
	return serverfile.Options{Lookup: os.LookupEnv, EnvFiles: o.EnvFiles, Home: home, Workspace: dir, Self: self}, nil
}

// strayServers is what an operator should know of a file in the working directory that
// another program would load, empty if there is none.
func strayServers(o sidecar.Options) string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	files, err := serverFiles(o)
	if err != nil || serverfile.Stray(dir, files) == "" {
		return ""
	}
	return serverfile.FileName + " in the working directory is not read by itself: --mcp-servers " + serverfile.FileName + " would have it read"
}
