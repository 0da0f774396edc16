package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/snippet"
)

const snippetSaveHelp = `Save the code of an operation that ended well, or of a file, under a name. On a terminal
it is shown first, and you are asked whether you mean it; scripts of yours say --yes.

A parameter is NAME:TYPE or NAME:TYPE=DEFAULT, with a type of JSON Schema: string, integer,
number, boolean, array or object. The default of a string is the text itself, every other
is JSON. The code finds parameters as globals, in bash as environment variables. An
operation that had variables needs a parameter for each.

Servers that run go on with what they offer: they offer the snippet from their next start.`

type snippetFlags struct {
	server          sidecar.Options // for its data directory
	operation       string
	file            string
	description     string
	parameters      []string
	gear            string
	timeout         float64
	replace, yes    bool
	json            bool
	geared, timed   bool
	parametersGiven []snippet.Parameter
}

func (a *app) snippetSaveCommand() *cobra.Command {
	f := &snippetFlags{}
	c := &cobra.Command{
		Use: "save NAME (--operation ID | --file FILE)", Short: "Save a script that worked as a tool", Long: snippetSaveHelp, Args: oneSnippet,
		Example: "  gearbox snippet save total --operation op_… --param numbers:array --description 'Adds numbers up.'\n  gearbox snippet save report --file report.py --param 'city:string=Paris' --param limit:integer=10",
		RunE: func(c *cobra.Command, args []string) error {
			f.geared, f.timed = c.Flags().Changed("gear"), c.Flags().Changed("timeout")
			return a.snippetSave(c.Context(), f, args[0])
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.operation, "operation", "", "save the code of operation `ID`, which ended well")
	fs.StringVar(&f.file, "file", "", "save the code of `FILE`, or - for standard input; *.sh and *.bash are bash")
	fs.StringVar(&f.description, "description", "", "`TEXT` by which a model chooses the tool, one line")
	fs.StringArrayVar(&f.parameters, "param", nil, "a `PARAMETER`, NAME:TYPE or NAME:TYPE=DEFAULT; once for each, in order")
	fs.StringVar(&f.gear, "gear", "", "the stricter of the gear `NAME` and the server's holds (default: as the operation named)")
	fs.Float64Var(&f.timeout, "timeout", 0, "stop it after `SECONDS` (default: as the operation named, else the gear's)")
	fs.BoolVar(&f.replace, "replace", false, "put it in the place of the snippet of this name")
	fs.BoolVar(&f.yes, "yes", false, "do not ask whether this is meant")
	addJSON(c, &f.json)
	addDataDir(c, &f.server)
	fs.SortFlags = false
	return c
}

func (a *app) snippetSave(ctx context.Context, f *snippetFlags, name string) error {
	for _, text := range f.parameters {
		p, err := snippet.ParseParameter(text)
		if err != nil {
			return usage("for example --param limit:integer=10", "--param: %w", err)
		}
		f.parametersGiven = append(f.parametersGiven, p)
	}
	s, err := a.snippetToSave(ctx, f, name)
	if err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return usage("", "%w", err)
	}
	if err := a.confirmSnippet(ctx, f, s); err != nil {
		return err
	}
	err = sidecar.SaveSnippet(ctx, f.server, asClient("snippet save"), s, f.replace, execution.ID(f.operation))
	switch {
	case errors.Is(err, snippet.ErrExists):
		return usage("--replace puts this one in its place, gearbox snippet show "+name+" shows it", "%w", err)
	case err != nil:
		return failed(exitFailed, err)
	case f.json:
		return a.printLine(listed(s))
	}
	a.printf("%s\n", s.Pin())
	a.notef("the snippet %s is saved: gearbox snippet run %s runs it, and servers offer the tool %s from their next start", name, name, sidecar.SnippetTool(name))
	return nil
}

// snippetToSave is what the flags say.
func (a *app) snippetToSave(ctx context.Context, f *snippetFlags, name string) (snippet.Snippet, error) {
	s := snippet.Snippet{Name: name, Description: f.description, Language: execution.Python, Parameters: f.parametersGiven}
	switch {
	case (f.operation == "") == (f.file == ""):
		return s, usage("gearbox operations list shows operations", "say either --operation ID or --file FILE")
	case f.operation != "":
		if err := a.fromOperation(ctx, f, &s); err != nil {
			return s, err
		}
	default:
		switch filepath.Ext(f.file) {
		case ".sh", ".bash":
			s.Language = execution.Bash
		}
		code, err := a.readFile(ctx, f.file, execution.MaxCode)
		if err == nil {
			s.Code, err = execution.NormaliseSource(code)
		}
		if err != nil {
			return s, err
		}
	}
	if f.geared {
		s.Gear = f.gear
	}
	if f.timed {
		if f.timeout <= 0 {
			return s, usage("leave it out for the gear's", "--timeout %v: must be more than 0", f.timeout)
		}
		s.TimeoutSeconds = f.timeout
	}
	return s, nil
}

func (a *app) fromOperation(ctx context.Context, f *snippetFlags, s *snippet.Snippet) error {
	return withRecords(ctx, f.server, func(r sidecar.Records) error {
		id := execution.ID(f.operation)
		q, err := r.SnippetFrom(ctx, id)
		if err != nil {
			return failed(exitFailed, notThere(id, err))
		}
		s.Code, s.Language, s.Gear, s.TimeoutSeconds = q.Code, q.Language, q.Gear, q.Timeout.Seconds()
		return undeclared(q, s.Parameters)
	})
}

// undeclared refuses variables of an operation that would be missing when its code runs
// again.
func undeclared(q execution.Request, declared []snippet.Parameter) error {
	known := map[string]bool{}
	for _, p := range declared {
		known[p.Name] = true
	}
	var missing, flags []string
	for _, name := range sortedKeys(q.Variables) {
		if !known[name] {
			missing = append(missing, name)
			flags = append(flags, "--param "+name+":"+string(snippet.TypeOf(q.Variables[name])))
		}
	}
	if missing == nil {
		return nil
	}
	return usage("add "+strings.Join(flags, " "), "the operation had variables that are no parameters: %s", strings.Join(missing, ", "))
}

// confirmSnippet shows what is saved and asks whether it is meant.
func (a *app) confirmSnippet(ctx context.Context, f *snippetFlags, s snippet.Snippet) error {
	if f.yes {
		return nil
	}
	t, err := openTerminal()
	if err != nil || f.json || f.file == "-" {
		return usage("say --yes in a script of yours, after a look at the code", "nothing was saved: %w", errNoTerminal)
	}
	defer t.close()
	_, _ = io.WriteString(t.file, "\n")
	picture{w: t.file, columns: t.columns()}.snippet(s)
	answer, err := t.ask(ctx, fmt.Sprintf("\nSave this as the tool %s? [y/N] ", sidecar.SnippetTool(s.Name)))
	if err != nil && !errors.Is(err, io.EOF) {
		return failed(exitFailed, err)
	}
	if !means(answer, "yes") {
		return failed(exitFailed, errors.New("nothing was saved"))
	}
	return nil
}
