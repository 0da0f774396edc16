package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gateway/agent"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const agentHelp = `Have a model solve a task: it writes a Python program, the program runs in the
sandbox under the gear, and what goes wrong goes back to the model a few times. Printed
is what the last program prints, then its value, and what the model says of it.

The model is named with --agent-model or in gearbox.yaml; its key stands in an
environment variable, OPENAI_API_KEY or ANTHROPIC_API_KEY if nothing else is said, and
no program gets it. The model sees the task, its programs and what they print.

On a terminal you are asked about what the rules want a human to approve. Without one,
and with --json, that is denied at once.

The exit code is that of the last program, as exec has it; 1 if the model could not be
asked or came to no end, 124 if the time was over, 121 if no model is configured.`

type agentFlags struct {
	given *config.Given
	json  bool
}

func (a *app) agentCommand() *cobra.Command {
	f := &agentFlags{}
	c := &cobra.Command{
		Use: "agent TASK", Short: "Have a model write programs that solve a task", Long: agentHelp,
		Example: "  gearbox agent --agent-model gpt-4.1 'how many Sundays had 1999?'\n  gearbox agent --agent-model qwen3 --agent-base-url http://127.0.0.1:11434/v1 - < task.txt",
		RunE:    func(c *cobra.Command, args []string) error { return a.agent(c.Context(), f, args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object: status, sentence, code, result, programs, usage")
	f.given = (&settings{}).table().Declare(c.Flags(), func(s config.Setting) bool { return forAll(s) || strings.HasPrefix(s.Key, agentKeys) })
	return c
}

func (a *app) agent(ctx context.Context, f *agentFlags, args []string) error {
	task, err := a.task(args)
	if err != nil {
		return err
	}
	l, err := a.settings(f.given)
	if err != nil {
		return err
	}
	solver, err := sidecar.NewAgent(l.server, version(), nil)
	if err != nil {
		return failed(exitUsage, err)
	}
	var log heldLog
	l.server.Transport, l.server.Pool = sidecar.TransportExec, sidecar.OnDemand()
	l.server.FinishPreparing = true
	ask := a.terminalOf(f.json)
	if ask != nil {
		defer ask.close()
		l.server.Approvals.Here = true
	}
	s, err := sidecar.Open(ctx, l.server, version(), log.logger(), a.progress())
	if err != nil {
		return failed(exitUsage, l.resolved.Explain(err))
	}
	t := agent.Task{Text: task, Runner: &programs{s.Engine(), &asker{a, ask, s, "agent"}}, Tell: a.progress()}
	answer, solved := solver.Run(ctx, t)
	err = a.solved(ctx, f, answer, solved)
	a.details(answer.Result, log.String())
	if closing := s.Close(); closing != nil {
		return failed(exitInternal, errors.Join(err, closing))
	}
	return err
}

// task is what is to be done: the argument, or standard input.
func (a *app) task(args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", usage("gearbox agent 'count the words in …', or gearbox agent - for standard input", "there is no task")
	case len(args) > 1:
		return "", usage("put it in quotes", "agent takes one task: %q is too much", args[1])
	case args[0] != "-":
		return args[0], nil
	}
	text, err := io.ReadAll(io.LimitReader(a.In, agent.MaxTask+1))
	if err != nil {
		return "", failed(exitFailed, fmt.Errorf("read the task: %w", err))
	}
	return string(text), nil
}

// programs runs what a model writes as exec runs what a person does.
type programs struct {
	engine executor
	ask    *asker
}

func (p *programs) Run(ctx context.Context, code string) (execution.Result, error) {
	request, err := execution.Arguments{Code: code}.Request(execution.Local, asClient(p.ask.command))
	if err != nil {
		return execution.Result{}, err
	}
	if p.ask.terminal == nil {
		return runToEnd(ctx, p.engine, request)
	}
	return p.ask.run(ctx, request)
}

// solved tells what came of a task. The error carries the exit code.
func (a *app) solved(ctx context.Context, f *agentFlags, answer agent.Answer, err error) error {
	var rejected *execution.RejectedError
	switch {
	case err == nil:
		if err = a.tellAnswer(f, answer); err == nil {
			err = a.lost()
		}
		if err != nil {
			return failed(exitInternal, err)
		}
		return exit(codeOf(answer.Result))
	case ctx.Err() != nil:
		return failed(exitCancelled, errors.New("cancelled before the task was done"))
	case errors.As(err, &rejected):
		return err
	case errors.Is(err, agent.ErrTime):
		return failed(exitTimeout, &hinted{err, "give it more with --agent-timeout"})
	}
	return failed(exitFailed, err)
}

func (a *app) tellAnswer(f *agentFlags, answer agent.Answer) error {
	if f.json {
		return a.printJSON(answer)
	}
	if err := a.show(answer.Result); err != nil {
		return err
	}
	if answer.Sentence != "" {
		a.printf("%s\n", answer.Sentence)
	}
	return nil
}
