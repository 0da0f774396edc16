package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const execHelp = `Run one program in the sandbox and print what it prints, then the value of its
last expression, as Python's own prompt would.

The code is the argument of -c, a file, or - for standard input. It is Python,
or bash with --language bash or in a file that is named *.sh or *.bash. The
program's own standard input is empty unless --stdin names a file, or - for
standard input.

On a terminal you are asked about what the rules want a human to approve: yes once,
always, no; and about a call of a tool when the program makes it, which waits meanwhile.
Without one, and with --json, that is denied at once, and the answer names
the --allow that would permit it.

` + exitCodes

// executor is the part of the engine that exec needs.
type executor interface {
	Submit(context.Context, execution.Request) (execution.ID, error)
	Wait(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error)
	Cancel(context.Context, execution.Principal, execution.ID) (execution.Result, error)
}

// cancelTime bounds the clean-up after an interrupt. Cancelling takes
// milliseconds; a person who pressed Ctrl-C does not wait longer than this.
const cancelTime = 10 * time.Second

type execFlags struct {
	given    *config.Given
	code     string
	hasCode  bool
	language string
	timeout  float64
	timed    bool
	stdin    string
	json     bool
}

func (a *app) execCommand() *cobra.Command {
	f := &execFlags{}
	c := &cobra.Command{
		Use: "exec [-c CODE | FILE | -]", Short: "Run one program in the sandbox", Long: execHelp,
		Example: "  gearbox exec -c 'import math; math.comb(49, 6)'\n  gearbox exec --gear restricted --timeout 5 report.py\n  gearbox exec --language bash -c 'seq 3 | paste -sd+'",
		RunE: func(c *cobra.Command, args []string) error {
			f.hasCode, f.timed = c.Flags().Changed("code"), c.Flags().Changed("timeout")
			return a.exec(c.Context(), f, args)
		},
	}
	fs := c.Flags()
	fs.StringVarP(&f.code, "code", "c", "", "the `CODE` to run")
	addLanguage(fs, f)
	fs.Float64Var(&f.timeout, "timeout", 0, "stop the program after `SECONDS` (default: the gear's, 10)")
	fs.StringVar(&f.stdin, "stdin", "", "the program's standard input is `FILE`")
	fs.BoolVar(&f.json, "json", false, "print the structured answer as one JSON object")
	f.given = (&settings{}).table().Declare(fs, forAll)
	return c
}

func (a *app) exec(ctx context.Context, f *execFlags, args []string) error {
	request, err := a.request(ctx, f, args)
	if err != nil {
		return a.rejected(f, err)
	}
	l, err := a.settings(f.given)
	if err != nil {
		return err
	}
	var log heldLog
	l.server.Transport, l.server.Pool = sidecar.TransportExec, sidecar.OnDemand()
	l.server.FinishPreparing = true // the next command is then several times faster
	ask := a.terminalOf(f.json)
	if ask != nil {
		defer ask.close()
		l.server.Approvals.Here = true
	}
	s, err := sidecar.Open(ctx, l.server, version(), log.logger(), a.progress())
	if err != nil {
		return failed(exitUsage, l.resolved.Explain(err))
	}
	var result execution.Result
	if ask == nil {
		result, err = runToEnd(ctx, s.Engine(), request)
	} else {
		result, err = (&asker{a, ask, s, "exec"}).run(ctx, request)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		err = failed(exitCancelled, errCancelled)
	case err != nil:
		err = a.rejected(f, err)
	default:
		if err = a.report(f, result); err == nil {
			err = a.lost()
		}
		err = failed(exitInternal, err)
		a.details(result, log.String())
	}
	// Closing comes last: the person has the answer while the rest is taken down.
	if closing := s.Close(); closing != nil {
		return failed(exitInternal, errors.Join(err, closing))
	}
	if err != nil {
		return err
	}
	return exit(codeOf(result))
}

// details tells why Gearbox itself failed, which the answer does not.
func (a *app) details(r execution.Result, log string) {
	if r.Status != execution.StatusInternalError {
		return
	}
	for line := range strings.Lines(log) {
		a.notef("details: %s", strings.TrimSpace(line))
	}
	a.sayf("  hint: gearbox doctor tells what this machine lacks\n")
}

var errCancelled = errors.New("cancelled before the program began")

// request reads what is to be run. An error is the command line's fault.
func (a *app) request(ctx context.Context, f *execFlags, args []string) (execution.Request, error) {
	arguments := execution.Arguments{Language: f.languageOf(args)}
	var err error
	if arguments.Code, err = a.source(ctx, f, args); err != nil {
		return execution.Request{}, err
	}
	if f.timed {
		arguments.TimeoutSeconds = &f.timeout
	}
	if f.stdin != "" {
		if f.stdin == "-" && len(args) > 0 && args[0] == "-" {
			return execution.Request{}, usage("put one of them into a file", "standard input cannot be both the code and the program's input")
		}
		if arguments.Stdin, err = a.readFile(ctx, f.stdin, execution.MaxStdin); err != nil {
			return execution.Request{}, err
		}
	}
	return arguments.Request(execution.Local, asClient("exec"))
}

func addLanguage(fs *pflag.FlagSet, f *execFlags) {
	fs.StringVar(&f.language, "language", "", "the `LANGUAGE` of the code, python or bash (default: by the file's name, else python)")
}

// languageOf is what was said, or else what the file's name says.
func (f *execFlags) languageOf(args []string) string {
	if f.language == "" && !f.hasCode && len(args) == 1 {
		switch filepath.Ext(args[0]) {
		case ".sh", ".bash":
			return string(execution.Bash)
		}
	}
	return f.language
}

func (a *app) source(ctx context.Context, f *execFlags, args []string) (string, error) {
	switch {
	case len(args) > 1:
		return "", usage("give the program data with --stdin", "exec runs one file: %q is too much", args[1])
	case f.hasCode && len(args) == 1:
		return "", usage("leave one of them out", "both -c and %q were given", args[0])
	case f.hasCode:
		return f.code, nil
	case len(args) == 1:
		return a.readFile(ctx, args[0], execution.MaxCode)
	}
	return "", usage("gearbox exec -c 'print(6*7)', gearbox exec FILE, or gearbox exec - for standard input", "there is no code to run")
}

// runToEnd submits and waits, however long. When ctx ends it cancels the run and
// returns once nothing of it is left.
func runToEnd(ctx context.Context, e executor, r execution.Request) (execution.Result, error) {
	id, err := e.Submit(ctx, r)
	if err != nil {
		return execution.Result{}, err
	}
	return toEnd(ctx, e, r.Principal, id)
}

// waitAtOnce bounds one wait for the end: what is waited for may turn out to be a human,
// which then has to be known here soon.
const waitAtOnce = time.Second

// toEnd waits for the end of an operation, or for a question about it.
func toEnd(ctx context.Context, e executor, p execution.Principal, id execution.ID) (execution.Result, error) {
	for {
		result, err := e.Wait(ctx, p, id, waitAtOnce)
		settled := result.Status.Final() || result.Status == execution.StatusPendingApproval
		if err == nil && settled {
			return result, nil
		}
		if ctx.Err() != nil {
			return cancel(ctx, e, p, id)
		}
		if err != nil {
			return execution.Result{}, err
		}
	}
}

func cancel(ctx context.Context, e executor, p execution.Principal, id execution.ID) (execution.Result, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	return e.Cancel(ctx, p, id)
}

// rejected reports a call that became no operation, in the form that was asked for.
func (a *app) rejected(f *execFlags, err error) error {
	var r *execution.RejectedError
	if !errors.As(err, &r) {
		var u *usageError
		var known *failure
		if errors.As(err, &u) || errors.As(err, &known) {
			return err
		}
		return failed(exitInternal, err)
	}
	if !f.json {
		return fmt.Errorf("nothing was run: %w", r)
	}
	result := execution.Result{
		Status: execution.StatusRejected, ExitCode: -1, Stderr: r.Error(),
		Error: &execution.Error{Code: string(r.Code), Message: r.Message, Field: r.Field, RetryAfter: r.RetryAfter.Seconds()},
	}
	if err := a.report(f, result); err != nil {
		return failed(exitInternal, err)
	}
	return exit(codeOf(result))
}

func (a *app) report(f *execFlags, r execution.Result) error {
	if !f.json {
		return a.show(r)
	}
	e := json.NewEncoder(a.Out)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
