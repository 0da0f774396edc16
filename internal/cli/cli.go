// Package cli is the command line: it reads arguments, calls sidecar, and writes
// for people.
//
// What belongs here: commands, flags, wording, exit codes. What does not: any
// decision about a program, and any knowledge of backends or files of the data
// directory.
//
// # Rules of the interface
//
//   - Standard output holds what was asked for and nothing else: a program's own
//     output, a report, a list. Everything said about it goes to standard error.
//   - Nothing is asked but what the rules want a human to decide, and that only on a
//     terminal. What is missing is an error that says what to add.
//   - An error says what, where, and in a line of its own how to mend it.
//   - No colours and no moving parts. Progress is told on a terminal only.
//   - Every command works without a terminal.
//   - A process that was started is gone when the command returns.
//   - Exit codes are made in one place, [exitCode] and [codeOf], and documented
//     in the help text.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Streams are the three standard streams of the process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Hangups may be empty.
	Hangups Hangups
}

// app is one run of the command line.
type app struct {
	Streams

	onTerminal bool // standard input was one at the start
	hangups    hangups
}

// Main runs one command line, without the program's name, and returns the exit
// code of the process. When ctx ends, what runs is cancelled.
func Main(ctx context.Context, s Streams, args []string) int {
	s.Out, s.Err = &checked{Writer: s.Out}, &checked{Writer: s.Err}
	a := &app{Streams: s, onTerminal: isTerminal(s.In)}
	defer a.follow(s.Hangups)()
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var said exit
	if lost := a.lost(); lost != nil && (err == nil || errors.As(err, &said)) {
		err = failed(exitFailed, lost)
	}
	a.complain(err)
	return exitCode(err)
}

const about = `Gearbox runs code for AI agents in a kernel sandbox and speaks MCP with them.

  gearbox demo                          see it work
  gearbox install --client claude-code  put it into your client
  gearbox exec -c 'sum(range(10))'      run something yourself
  gearbox doctor                        find out what this machine can do`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "gearbox", Short: "Run code for AI agents in a kernel sandbox", Long: about + "\n\n" + exitCodes,
		SilenceErrors: true, SilenceUsage: true, // complain prints, once and in one form
		PersistentPreRunE:          saysSomething,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true},
		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(a.serveCommand(), a.connectCommand(), a.execCommand(), a.agentCommand(), a.installCommand(), a.uninstallCommand(),
		a.demoCommand(), a.debugCommand(), a.statusCommand(), a.operationsCommand(), a.approvalsCommand(), a.auditCommand(), a.tokenCommand(), a.doctorCommand(),
		a.gearCommand(), a.upstreamCommand(), a.snippetCommand(), a.configCommand(), a.versionCommand())
	return root
}

// saysSomething refuses flags that were given with nothing in them, most likely by a
// variable of a script that was not set: what was meant to bound something would bound
// nothing. Settings and code have checks of their own.
func saysSomething(c *cobra.Command, _ []string) error {
	var errs []error
	c.Flags().Visit(func(f *pflag.Flag) {
		said := []string{f.Value.String()}
		list, several := f.Value.(pflag.SliceValue)
		switch {
		case several:
			said = list.GetSlice()
		case f.Value.Type() != "string" || f.Name == "code":
			return
		}
		if len(said) == 0 || slices.Contains(said, "") {
			errs = append(errs, fmt.Errorf("--%s is empty", f.Name))
		}
	})
	if len(errs) > 0 {
		return usage("say what is meant, or leave it out; perhaps a variable is not set", "%w", errors.Join(errs...))
	}
	return nil
}

// flagError adds the flag that was probably meant.
func flagError(c *cobra.Command, err error) error {
	hint := "see " + c.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := policy.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return usage(hint, "%w", err)
}

// complain writes an error for a person.
func (a *app) complain(err error) {
	var quiet exit
	if err == nil || errors.As(err, &quiet) {
		return
	}
	a.notef("%v", err)
	var h interface{ Hint() string }
	var r *execution.RejectedError
	switch {
	case errors.As(err, &h) && h.Hint() != "":
		a.sayf("  hint: %s\n", h.Hint())
	case errors.As(err, &r) && r.Code == execution.CodeUnavailable:
		a.sayf("  hint: gearbox doctor tells what this machine lacks\n")
	}
}

// printf writes to standard output, sayf to standard error. What could not be
// written is told at the end, see [Streams.lost].
func (a *app) printf(format string, args ...any) { _, _ = fmt.Fprintf(a.Out, format, args...) }

func (a *app) sayf(format string, args ...any) { _, _ = fmt.Fprintf(a.Err, format, args...) }

// notef says something in the name of Gearbox, to tell it from a program's stderr.
func (a *app) notef(format string, args ...any) { a.sayf("gearbox: "+format+"\n", args...) }

func isTerminal(stream any) bool {
	if c, ok := stream.(*checked); ok {
		stream = c.Writer
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// progress tells what takes long, on a terminal.
func (a *app) progress() func(string) {
	if !isTerminal(a.Err) {
		return nil
	}
	return func(s string) { a.notef("%s", s) }
}

// noArguments refuses whatever is not a flag.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("see "+c.CommandPath()+" --help", "%s takes no argument %q", c.CommandPath(), args[0])
	}
	return nil
}

// asClient is how runs of the command line are recorded.
func asClient(command string) execution.Client {
	return execution.Client{Name: "gearbox " + command, Version: version()}
}
