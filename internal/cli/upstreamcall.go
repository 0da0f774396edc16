package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

const callHelp = `Call one tool with ARGUMENTS, a JSON object, or - for standard input, and print what it
answers. The call passes the same door as one of a program: rules decide, on a terminal
you are asked about what they say to ask, and it is recorded.

The exit code is 0 if the tool succeeded, 1 if it failed, and else as exec has it.`

func (a *app) upstreamCallCommand() *cobra.Command {
	f := &execFlags{}
	c := &cobra.Command{
		Use: "call SERVER.TOOL [ARGUMENTS]", Short: "Call one tool of a server", Long: callHelp,
		Example: `  gearbox upstream call --allow 'tool(everything.echo)' everything.echo '{"message": "hi"}'`,
		Args:    someArguments(1, 2, "a tool and its arguments"),
		RunE:    func(c *cobra.Command, args []string) error { return a.upstreamCall(c.Context(), f, args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "print the structured answer as one JSON object")
	f.given = (&settings{}).table().Declare(c.Flags(), forAll)
	return c
}

func (a *app) upstreamCall(ctx context.Context, f *execFlags, args []string) error {
	request, err := a.callRequest(ctx, args)
	if err != nil {
		return a.rejected(f, err)
	}
	l, err := a.settings(f.given)
	if err != nil {
		return err
	}
	var log heldLog
	l.server.Transport, l.server.Pool = sidecar.TransportExec, sidecar.OnDemand()
	ask := a.terminalOf(f.json)
	if ask != nil {
		defer ask.close()
		l.server.Approvals.Here = true
	}
	told, tell := a.holdable()
	s, err := sidecar.Open(ctx, l.server, version(), log.logger(), tell)
	if err != nil {
		return failed(exitUsage, l.resolved.Explain(err))
	}
	result, err := runToEnd(ctx, s.Engine(), request)
	for k := (&asker{a, ask, s, "upstream call", told}); ask != nil && err == nil && result.Status == execution.StatusPendingApproval; {
		result, err = k.settle(ctx, request.Principal, result.OperationID)
	}
	err = a.called(ctx, f, result, err)
	a.details(result, log.String())
	if closing := s.Close(); closing != nil {
		return failed(exitInternal, errors.Join(err, closing))
	}
	if err != nil {
		return err
	}
	return exit(codeOf(result))
}

// callRequest reads what is to be called. An error is the command line's fault.
func (a *app) callRequest(ctx context.Context, args []string) (execution.Request, error) {
	text := "{}"
	if len(args) == 2 {
		text = args[1]
	}
	if text == "-" {
		var err error
		if text, err = a.readFile(ctx, "-", execution.MaxCode); err != nil {
			return execution.Request{}, err
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return execution.Request{}, usage(`write it as '{"name": "value"}', in quotes of the shell`, "the arguments are no JSON object")
	}
	source, err := execution.Call{Tool: args[0], Arguments: json.RawMessage(text)}.Source()
	if err != nil {
		return execution.Request{}, err
	}
	return execution.Request{Principal: execution.Local, Client: asClient("upstream call"), Language: execution.Tool, Code: source}, nil
}

// called prints what a tool answered.
func (a *app) called(ctx context.Context, f *execFlags, r execution.Result, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return failed(exitCancelled, errCancelled)
	case err != nil:
		return a.rejected(f, err)
	}
	if f.json {
		err = a.report(f, r)
	} else {
		err = a.showCall(r)
	}
	if err == nil {
		err = a.lost()
	}
	return failed(exitInternal, err)
}

// showCall prints a value as the JSON that the tool answered: no Python has a part in it.
func (a *app) showCall(r execution.Result) error {
	if len(r.Value) > 0 {
		a.printf("%s\n", visible.JSON(r.Value))
		r.Value = nil
	}
	if err := a.show(r); err != nil {
		return err
	}
	if r.Stdout != "" {
		a.printf("%s", lineBreak(r.Stdout))
	}
	for _, at := range r.Attachments {
		a.notef("not shown: %s of %d bytes %s", visible.Line(at.MIME), len(at.Data), visible.Line(at.URI))
	}
	return nil
}
