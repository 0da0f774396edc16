package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/clientconfig"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/upstream/serverfile"
)

const importHelp = `Put the MCP servers of another program into mcp_servers.json of the data directory, so
that programs may call their tools: those of one CLIENT, of one FILE, or of every client
that is found here.

Variables stay variables: what they hold is not written. A secret that stands in the file
itself is copied, and only you can read the copy. Servers that are there stay as they are;
one whose name another server has is left out unless --replace is given. The previous
content is kept beside the file. Importing again changes nothing.

Clients: %s`

type importFlags struct {
	server         sidecar.Options
	print, replace bool
}

func (a *app) upstreamImportCommand() *cobra.Command {
	f := &importFlags{}
	c := &cobra.Command{
		Use: "import [CLIENT|FILE]", Short: "Take over the MCP servers of another program",
		Long:    fmt.Sprintf(importHelp, strings.Join(importable(), ", ")),
		Example: "  gearbox upstream import claude-desktop\n  gearbox upstream import .vscode/mcp.json --print",
		RunE:    func(_ *cobra.Command, args []string) error { return a.upstreamImport(f, args) },
	}
	c.Flags().BoolVar(&f.replace, "replace", false, "let them take the place of other servers of the same name")
	c.Flags().BoolVar(&f.print, "print", false, "print what would be written, and write nothing")
	addDataDir(c, &f.server)
	return c
}

// importable are the names of the programs whose files are known.
func importable() []string {
	var out []string
	for _, p := range clientconfig.Known(clientconfig.System{Home: "/", Getenv: func(string) string { return "" }}) {
		if !slices.Contains(out, p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}

func (a *app) upstreamImport(f *importFlags, args []string) error {
	if len(args) > 1 {
		return usage("import them one by one", "upstream import takes one client or file, and not %q too", args[1])
	}
	files, err := importFrom(args)
	if err != nil {
		return err
	}
	o, err := serverOptions(f.server)
	if err != nil {
		return failed(exitFailed, err)
	}
	entries, warnings, unread := serverfile.Read(files, o)
	if unread != nil && len(entries) == 0 {
		return failed(exitFailed, unread)
	}
	for _, w := range warnings {
		a.notef("%s", w)
	}
	merged, err := a.importInto(f, entries)
	if err != nil {
		return failed(exitFailed, err)
	}
	a.tellImported(f, entries, merged)
	if unread != nil { // the other files were imported
		return failed(exitFailed, unread)
	}
	if incomplete(entries, merged) {
		return exit(exitFailed)
	}
	return nil
}

// importFrom are the files to read.
func importFrom(args []string) ([]string, error) {
	if len(args) == 0 {
		return thoseThere(clientconfig.Known(system()), "no MCP client that keeps servers is found here")
	}
	if places := clientconfig.PlacesOf(system(), args[0]); places != nil {
		return thoseThere(places, places[0].Title+" keeps no servers here: there is no "+places[0].Path)
	}
	if _, err := os.Lstat(args[0]); err != nil && !strings.ContainsAny(args[0], `/\.`) {
		return nil, usage("use one of "+strings.Join(importable(), ", ")+", or name a file", "unknown client %q", args[0])
	}
	return args, nil
}

func thoseThere(places []clientconfig.Place, none string) ([]string, error) {
	var out []string
	for _, p := range places {
		if p.There() {
			out = append(out, p.Path)
		}
	}
	if out == nil {
		return nil, failed(exitFailed, &hinted{fmt.Errorf("%s", none), "name the file: gearbox upstream import FILE"})
	}
	return out, nil
}

// importInto writes the entries, or prints what would be written.
func (a *app) importInto(f *importFlags, entries []serverfile.Entry) (serverfile.Merged, error) {
	var m serverfile.Merged
	dir, err := sidecar.DataDirectory(f.server)
	if err != nil {
		return m, err
	}
	path := filepath.Join(dir, serverfile.FileName)
	merge := func(old []byte) (text []byte, err error) {
		text, m, err = serverfile.Merge(path, old, entries, f.replace)
		return text, err
	}
	if f.print {
		old, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		text, err := merge(old)
		if err == nil {
			a.printf("%s", text)
		}
		return m, err
	}
	out, err := clientconfig.Rewrite(path, time.Now(), merge)
	if err != nil {
		return m, err
	}
	if out.Change == clientconfig.Unchanged {
		a.printf("%s: nothing to do\n", out.Path)
		return m, nil
	}
	a.printf("%s: %s\n", out.Path, out.Change)
	if out.Backup != "" {
		a.printf("  the previous content is in %s\n", out.Backup)
	}
	return m, nil
}

// tellImported says what became of each server.
func (a *app) tellImported(f *importFlags, entries []serverfile.Entry, m serverfile.Merged) {
	to := a.Out
	if f.print {
		to = a.Err
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		_, _ = fmt.Fprintln(w, row([]string{"  " + fate(e, m), e.Spec.Name, becauseOf(e, m)}))
	}
	_ = w.Flush() // what could not be written is told at the end, see [Streams.lost]
}

// fate is one word for what became of a server.
func fate(e serverfile.Entry, m serverfile.Merged) string {
	switch name := e.Spec.Name; {
	case slices.Contains(m.Added, name):
		return "added"
	case slices.Contains(m.Replaced, name):
		return "replaced"
	case slices.Contains(m.Unchanged, name):
		return "there"
	}
	return "left out"
}

// becauseOf says where a server comes from, or why it was left out.
func becauseOf(e serverfile.Entry, m serverfile.Merged) string {
	switch {
	case e.Self:
		return "it is Gearbox itself"
	case e.Spec.Fault != "":
		return e.Spec.Fault
	case slices.Contains(m.Kept, e.Spec.Name):
		return "another server has the name: --replace puts the one of " + e.Place() + " in its place"
	}
	return e.Place()
}

// incomplete reports whether a server was left out that could have been imported.
func incomplete(entries []serverfile.Entry, m serverfile.Merged) bool {
	return len(m.Kept) > 0 || slices.ContainsFunc(entries, func(e serverfile.Entry) bool {
		return e.Spec.Fault != "" && !e.Self && !e.Elsewhere
	})
}
