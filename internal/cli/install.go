package cli

import (
	"errors"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gearbox-mcp/gearbox/internal/clientconfig"
	"github.com/gearbox-mcp/gearbox/internal/relay"
)

const installHelp = `Write Gearbox into the configuration of an MCP client: its user-wide file, or with
--project its file in the current directory.

The rest of the file stays as it is, comments included, and the previous content is
kept beside it. Installing again changes the entry if the flags differ and writes
nothing if they do not. Flags of serve follow after --.

With --connect the client starts gearbox connect, which passes it on to a server that
runs already: at a URL, or at the path of its socket. Flags of connect follow after --;
a token is named by its file (--token-file), so that it stands in no configuration.

Clients: %s
With --print also: %s`

type installFlags struct {
	client         string
	connect        string // where the server is that runs already; empty for a server of the client's own
	project, print bool
}

func (f *installFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.client, "client", "", "the `CLIENT`: "+clientNames())
	fs.BoolVar(&f.project, "project", false, "use the client's file in the current directory")
}

func clientNames() string {
	var names []string
	for _, c := range clientconfig.Clients() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

func (a *app) installCommand() *cobra.Command {
	f := &installFlags{}
	c := &cobra.Command{
		Use: "install --client CLIENT [--connect URL|PATH] [--project] [--print] [-- FLAGS]", Short: "Put Gearbox into an MCP client",
		Long:    fmt.Sprintf(installHelp, clientNames(), strings.Join(clientconfig.Frameworks(), ", ")),
		Example: "  gearbox install --client claude-code\n  gearbox install --client vscode --project -- --gear restricted\n  gearbox install --client cursor --connect https://gearbox.example/mcp -- --token-file ~/.gearbox-token",
		RunE:    func(c *cobra.Command, args []string) error { return a.install(c, f, args) },
	}
	f.add(c.Flags())
	c.Flags().StringVar(&f.connect, "connect", "", "have the client use the server that runs at `URL|PATH`, by gearbox connect")
	c.Flags().BoolVar(&f.print, "print", false, "print what would be written, and write nothing")
	return c
}

func (a *app) uninstallCommand() *cobra.Command {
	f := &installFlags{}
	c := &cobra.Command{
		Use: "uninstall --client CLIENT [--project]", Short: "Take Gearbox out of an MCP client", Args: noArguments,
		Long: "Take Gearbox out of the configuration of an MCP client. If nothing else was changed\nsince the installation, the file is byte for byte what it was before.",
		RunE: func(*cobra.Command, []string) error { return a.uninstall(f) },
	}
	f.add(c.Flags())
	return c
}

func (a *app) install(c *cobra.Command, f *installFlags, args []string) error {
	if len(args) > 0 && c.ArgsLenAtDash() != 0 {
		return usage("flags of serve or connect follow after --", "install takes no argument %q", args[0])
	}
	words, err := f.started(c.Flags().Changed("connect"), args)
	if err != nil {
		return err
	}
	entry, err := entryFor(words)
	if err != nil {
		return failed(exitFailed, err)
	}
	if f.print {
		return a.printSnippet(f.client, entry)
	}
	target, err := f.target()
	if err != nil {
		return err
	}
	if temporary(entry.Command) {
		return usage("go install github.com/gearbox-mcp/gearbox/cmd/gearbox@latest, or go build -o gearbox ./cmd/gearbox, and run that",
			"%s is removed when this command ends, so no client could start it", entry.Command)
	}
	out, err := clientconfig.Install(target, entry, time.Now())
	if err != nil {
		return failed(exitFailed, err)
	}
	a.tell(target.Client, out)
	return nil
}

func (a *app) printSnippet(client string, e clientconfig.Entry) error {
	if client == "" {
		return usage("add --client, one of: "+clientNames()+", "+strings.Join(clientconfig.Frameworks(), ", "), "which client?")
	}
	if temporary(e.Command) {
		e.Command = installed()
		a.notef("this program is temporary: the text names the place where go install ./cmd/gearbox would put it")
	}
	text, err := clientconfig.Snippet(client, e)
	if err != nil {
		return usage("", "%w", err)
	}
	a.printf("%s", text)
	return nil
}

func (a *app) uninstall(f *installFlags) error {
	target, err := f.target()
	if err != nil {
		return err
	}
	out, err := clientconfig.Uninstall(target, time.Now())
	if err != nil {
		return failed(exitFailed, err)
	}
	a.tell(target.Client, out)
	return nil
}

// parseServeFlags reads the flags that the client will start serve with, so that
// a mistake shows here and not as a server that will not start. It returns the same
// flags in the table's order, with absolute paths.
func parseServeFlags(args []string) ([]string, error) {
	c := &cobra.Command{Use: "serve"}
	given := (&settings{}).table().Declare(c.Flags(), nil)
	if err := c.Flags().Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, usage("see gearbox serve --help", "--help is no flag to start a server with")
		}
		return nil, flagError(c, err)
	}
	if c.Flags().NArg() > 0 {
		return nil, usage("see gearbox serve --help", "serve takes no argument %q", c.Flags().Arg(0))
	}
	flags, err := given.Args()
	return flags, failed(exitUsage, err)
}

// started are the command that the client will start and its flags, so checked.
func (f *installFlags) started(connect bool, args []string) ([]string, error) {
	if connect {
		return parseConnect(f.connect, args)
	}
	flags, err := parseServeFlags(args)
	return append([]string{"serve"}, flags...), err
}

// parseConnect reads where the server is and the flags that the client will start
// connect with. Paths become absolute: the client starts it anywhere.
func parseConnect(where string, args []string) ([]string, error) {
	target, err := relay.ParseTarget(where)
	if err != nil {
		return nil, usage(whereHint, "--connect: %w", err)
	}
	var o connectOptions
	c := &cobra.Command{Use: "connect"}
	o.declare(c)
	if err := c.Flags().Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, usage("see gearbox connect --help", "--help is no flag to connect with")
		}
		return nil, flagError(c, err)
	}
	if c.Flags().NArg() > 0 {
		return nil, usage("see gearbox connect --help", "connect takes one server, and not %q too", c.Flags().Arg(0))
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	words := []string{"connect"}
	c.Flags().Visit(func(flag *pflag.Flag) {
		value := flag.Value.String()
		if flag.Name != "start-timeout" { // the others are paths
			if abs, failed := filepath.Abs(value); failed == nil {
				value = abs
			} else {
				err = failed
			}
		}
		words = append(words, "--"+flag.Name, value)
	})
	return append(words, target.Name), failed(exitUsage, err)
}

// entryFor starts this program with a command and its flags.
func entryFor(words []string) (clientconfig.Entry, error) {
	path, err := os.Executable()
	if err != nil {
		return clientconfig.Entry{}, fmt.Errorf("find this program: %w", err)
	}
	return clientconfig.Entry{Command: path, Args: words}, nil
}

// temporary recognises the binaries of go run, which live in a directory that
// cmd/go calls go-build and a number.
func temporary(path string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if strings.HasPrefix(part, "go-build") {
			return true
		}
	}
	return false
}

// installed is where go install puts the binary.
func installed() string {
	name := "gearbox"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	dir := os.Getenv("GOBIN")
	if paths := filepath.SplitList(build.Default.GOPATH); dir == "" && len(paths) > 0 {
		dir = filepath.Join(paths[0], "bin")
	}
	return filepath.Join(dir, name)
}

func system() clientconfig.System {
	home, _ := os.UserHomeDir() // without one, UserFile says what to do
	return clientconfig.System{OS: runtime.GOOS, Home: home, Getenv: os.Getenv}
}

func (f *installFlags) target() (clientconfig.Target, error) {
	if f.client == "" {
		return clientconfig.Target{}, usage("add --client, one of: "+presentFirst(), "which client?")
	}
	client, err := clientconfig.ParseClient(f.client)
	if err != nil {
		return clientconfig.Target{}, usage("", "%w", err)
	}
	if !f.project {
		path, err := client.UserFile(system())
		return clientconfig.Target{Client: client, Path: path}, failed(exitFailed, err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return clientconfig.Target{}, failed(exitFailed, err)
	}
	path, err := client.ProjectFile(dir)
	if err != nil {
		return clientconfig.Target{}, usage("", "%w", err)
	}
	return clientconfig.Target{Client: client, Path: path, Within: dir}, nil
}

// presentFirst lists the clients, those that are found here marked.
func presentFirst() string {
	found := map[clientconfig.Client]bool{}
	for _, c := range clientconfig.Present(system()) {
		found[c] = true
	}
	var here, others []string
	for _, c := range clientconfig.Clients() {
		if found[c] {
			here = append(here, string(c)+" (found here)")
			continue
		}
		others = append(others, string(c))
	}
	return strings.Join(append(here, others...), ", ")
}

func (a *app) tell(c clientconfig.Client, o clientconfig.Outcome) {
	switch o.Change {
	case clientconfig.Unchanged:
		a.printf("%s: nothing to do, %s is as it should be\n", c.Title(), o.Path)
		return
	case clientconfig.Created, clientconfig.Added, clientconfig.Updated:
		a.printf("%s: %s gearbox in %s\n", c.Title(), o.Change, o.Path)
	case clientconfig.Removed:
		a.printf("%s: removed gearbox from %s\n", c.Title(), o.Path)
	case clientconfig.Restored:
		a.printf("%s: %s is what it was before the installation\n", c.Title(), o.Path)
	case clientconfig.Deleted:
		a.printf("%s: removed %s, which held nothing else\n", c.Title(), o.Path)
	}
	if o.Backup != "" {
		a.printf("  the previous content is in %s\n", o.Backup)
	}
	a.printf("  restart %s to make it count\n", c.Title())
}
