package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/snippet"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

const snippetHelp = `Scripts that worked, saved by you under a name and with parameters. Servers that start
from then on offer each as a tool, snippet_NAME, which runs as execute does: under the
gear, with the same questions and the same records. A snippet has no rights of its own.

Its pin, the SHA-256 of code, parameters and all else, is kept in the records. A file that
is no longer what was saved is refused. docs/snippets.md says what that protects against.`

func (a *app) snippetCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "snippet", Short: "Save scripts that worked as tools, list, show, run and remove them", Long: snippetHelp, Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.snippetSaveCommand(), a.snippetListCommand(), a.snippetShowCommand(), a.snippetRunCommand(), a.snippetRemoveCommand())
	return c
}

// oneSnippet takes the name of a snippet.
func oneSnippet(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("gearbox snippet list shows what there is", "%s takes one name, not %d arguments", c.CommandPath(), len(args))
	}
	if err := snippet.CheckName(args[0]); err != nil {
		return usage("gearbox snippet list shows what there is", "%w", err)
	}
	return nil
}

func (a *app) snippetListCommand() *cobra.Command {
	var o sidecar.Options
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the snippets, and those that are refused", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.snippetList(c.Context(), o, asJSON) },
	}
	addJSON(c, &asJSON)
	addDataDir(c, &o)
	return c
}

// listedSnippet is the form of --json.
type listedSnippet struct {
	Name           string              `json:"name"`
	Description    string              `json:"description,omitempty"`
	Tool           string              `json:"tool,omitempty"`
	Language       execution.Language  `json:"language,omitempty"`
	Gear           string              `json:"gear,omitempty"`
	TimeoutSeconds float64             `json:"timeout_seconds,omitempty"`
	Parameters     []snippet.Parameter `json:"parameters,omitempty"`
	Pin            *execution.Digest   `json:"pin,omitempty"`
	Refused        string              `json:"refused,omitempty"` // why
	Code           string              `json:"code,omitempty"`    // of show
}

func listed(s snippet.Snippet) listedSnippet {
	pin := s.Pin()
	return listedSnippet{
		Name: s.Name, Description: s.Description, Tool: sidecar.SnippetTool(s.Name), Language: s.Language, Gear: s.Gear,
		TimeoutSeconds: s.TimeoutSeconds, Parameters: s.Parameters, Pin: &pin,
	}
}

func (a *app) snippetList(ctx context.Context, o sidecar.Options, asJSON bool) error {
	return a.none(withRecords(ctx, o, func(r sidecar.Records) error {
		all, err := r.Snippets().List(ctx)
		if err != nil {
			return failed(exitFailed, err)
		}
		out := a.printSnippets
		if asJSON {
			out = a.printSnippetLines
		}
		if err := out(all); err != nil {
			return failed(exitFailed, err)
		}
		if slices.ContainsFunc(all, func(e snippet.Entry) bool { return e.Err != nil }) {
			return exit(exitFailed)
		}
		return nil
	}))
}

func (a *app) printSnippetLines(all []snippet.Entry) error {
	for _, e := range all {
		line := listedSnippet{Name: e.Snippet.Name}
		if e.Err != nil {
			line.Refused = e.Err.Error()
		} else {
			line = listed(e.Snippet)
		}
		if err := a.printLine(line); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printSnippets(all []snippet.Entry) error {
	if len(all) == 0 {
		a.sayf("No snippets.\n")
		return nil
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintln(w, row(cells)) }
	line("NAME", "LANGUAGE", "PARAMETERS", "PIN", "DESCRIPTION")
	for _, e := range all {
		if s := e.Snippet; e.Err != nil {
			line(s.Name, "-", "(refused)", "-", "-")
		} else {
			line(s.Name, string(s.Language), s.Signature(), shortPin(s), s.Description)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range all {
		if e.Err != nil {
			a.complain(e.Err)
		}
	}
	return nil
}

// shortPin is enough of a pin to tell it from others by eye.
func shortPin(s snippet.Snippet) string { return s.Pin().String()[:len("sha256:")+12] }

func (a *app) snippetShowCommand() *cobra.Command {
	var o sidecar.Options
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "Show a snippet with its code", Args: oneSnippet,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.savedSnippet(c.Context(), o, args[0])
			if err != nil {
				return err
			}
			if !asJSON {
				picture{w: a.Out, columns: columnsOf(a.Out)}.snippet(s)
				return nil
			}
			whole := listed(s)
			whole.Code = s.Code
			return a.printLine(whole)
		},
	}
	addJSON(c, &asJSON)
	addDataDir(c, &o)
	return c
}

// snippet prints a snippet for a person.
func (p picture) snippet(s snippet.Snippet) {
	p.field("snippet", s.Name)
	p.field("says", s.Description)
	p.field("language", string(s.Language))
	p.field("gear", s.Gear)
	if s.TimeoutSeconds > 0 {
		p.field("timeout", fmt.Sprintf("%vs", s.TimeoutSeconds))
	}
	for _, one := range s.Parameters {
		value := "required"
		if one.Default != nil {
			value = "default " + string(one.Default)
		}
		p.field("parameter", fmt.Sprintf("%s: %s, %s", one.Name, one.Type, value))
	}
	p.field("pin", s.Pin().String())
	p.lines("code", s.Code, true)
}

// savedSnippet is a snippet of the data directory that is what was saved.
func (a *app) savedSnippet(ctx context.Context, o sidecar.Options, name string) (s snippet.Snippet, err error) {
	err = withRecords(ctx, o, func(r sidecar.Records) error {
		s, err = r.Snippets().Load(ctx, name)
		return err
	})
	return s, noSnippet(name, err)
}

func noSnippet(name string, err error) error {
	if errors.Is(err, snippet.ErrUnknown) || errors.Is(err, store.ErrNoRecords) {
		return failed(exitFailed, &hinted{fmt.Errorf("there is no snippet %q", name), "gearbox snippet list shows what there is"})
	}
	return failed(exitFailed, err)
}

const snippetRunHelp = `Run a snippet here, as exec runs a program: under the gear, with the same questions, output
and exit codes. Arguments are NAME=VALUE, where the value of a string is the text itself and
every other is JSON, or one JSON object of several.`

func (a *app) snippetRunCommand() *cobra.Command {
	f := &execFlags{}
	var args []string
	c := &cobra.Command{
		Use: "run NAME [--arg NAME=VALUE]…", Short: "Run a snippet", Long: snippetRunHelp, Args: oneSnippet,
		Example: "  gearbox snippet run total --arg 'numbers=[1, 2, 3]'\n  gearbox snippet run total --arg '{\"numbers\": [1, 2, 3]}'",
		RunE:    func(c *cobra.Command, names []string) error { return a.snippetRun(c.Context(), f, names[0], args) },
	}
	c.Flags().StringArrayVar(&args, "arg", nil, "an `ARGUMENT`, NAME=VALUE or a JSON object")
	c.Flags().BoolVar(&f.json, "json", false, "print the structured answer as one JSON object")
	f.given = (&settings{}).table().Declare(c.Flags(), forAll)
	return c
}

func (a *app) snippetRun(ctx context.Context, f *execFlags, name string, args []string) error {
	l, err := a.settings(f.given)
	if err != nil {
		return err
	}
	s, err := a.savedSnippet(ctx, l.server, name)
	if err != nil {
		return err
	}
	values, err := arguments(s, args)
	if err != nil {
		return err
	}
	request, err := s.Request(values, execution.Local, asClient("snippet run"))
	if err != nil {
		return a.rejected(f, err)
	}
	return a.runHere(ctx, f, l, request, "snippet run")
}

// arguments are those of the command line, each given once.
func arguments(s snippet.Snippet, args []string) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for _, text := range args {
		some, err := argument(s, text)
		if err != nil {
			return nil, err
		}
		for name, value := range some {
			if values[name] != nil {
				return nil, usage("keep one of them", "the argument %.60q is given twice", name)
			}
			values[name] = value
		}
	}
	return values, nil
}

func argument(s snippet.Snippet, text string) (map[string]json.RawMessage, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, usage("write {\"NAME\": VALUE}, in single quotes", "--arg: not a JSON object: %w", err)
		}
		return all, nil
	}
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return nil, usage("write --arg NAME=VALUE", "--arg %.60q has no value", text)
	}
	for _, p := range s.Parameters {
		if p.Name != name {
			continue
		}
		v, err := p.Value(value)
		if err != nil {
			return nil, usage("parameters: "+s.Signature(), "--arg: %w", err)
		}
		return map[string]json.RawMessage{name: v}, nil
	}
	return nil, usage("parameters: "+s.Signature(), "the snippet %s has no parameter %.60q", s.Name, name)
}

func (a *app) snippetRemoveCommand() *cobra.Command {
	var o sidecar.Options
	c := &cobra.Command{
		Use: "remove NAME", Short: "Remove a snippet, at once also for servers that run", Args: oneSnippet,
		RunE: func(c *cobra.Command, args []string) error {
			if err := sidecar.RemoveSnippet(c.Context(), o, asClient("snippet remove"), args[0]); err != nil {
				return noSnippet(args[0], err)
			}
			a.notef("the snippet %s is removed: calls of it are refused from now on, and servers list it until their next start", args[0])
			return nil
		},
	}
	addDataDir(c, &o)
	return c
}
