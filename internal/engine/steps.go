package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
	"github.com/gearbox-mcp/gearbox/internal/analysis/shell"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/capture"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// execute is the life of one operation, step by step. A failure of our own ends
// it as an internal error; everything else is an answer.
func (e *Engine) execute(op *operation) execution.Result {
	res, err := e.steps(op)
	switch {
	case err == nil:
		return res
	case context.Cause(op.ctx) != nil:
		return op.cancelled(context.Cause(op.ctx))
	default:
		e.c.Logger.Error("an execution failed for a reason of our own", "operation_id", op.id, "error", err)
		return op.failed()
	}
}

func (e *Engine) steps(op *operation) (execution.Result, error) {
	if refusal := precheck(op.gear, op.request); refusal != nil {
		return op.denied(refusal), nil
	}
	if !op.gear.Enabled() {
		op.subject = op.subjectOf(bridge.FactsHead{})
		_, err := e.authorize(op, nil)
		return op.refused(err)
	}
	if err := e.slots.Acquire(op.ctx, 1); err != nil {
		return execution.Result{}, err
	}
	child, release, err := op.place.Children.Child(op.ctx, op.place.Template, op.request.Principal)
	if err != nil {
		e.slots.Release(1)
		return execution.Result{}, fmt.Errorf("start a sandbox: %w", err)
	}
	defer e.letGo(child, func() { release(); e.slots.Release(1) })
	unwatch := context.AfterFunc(op.ctx, func() { child.Kill(sandbox.CauseCancelled) })
	defer unwatch()

	facts, err := e.analyse(op, child)
	if err != nil {
		return op.unanalysable(err)
	}
	if facts = op.leaveToBash(facts); facts.Failure != nil {
		return op.doesNotParse(facts.Failure), nil
	}
	perms, err := e.permissions(op, facts)
	if err != nil {
		return execution.Result{}, err
	}
	op.subject = op.subjectOf(facts)
	permit, err := e.authorize(op, perms)
	if err != nil {
		e.tellOfPrograms(op, err)
		return op.refused(err)
	}
	if err := e.arm(op, child); err != nil {
		return execution.Result{}, err
	}
	if err := e.start(op, permit); err != nil {
		return execution.Result{}, err
	}
	return e.run(op, child)
}

// letGo ends a child, if nothing did, and gives its place back once nothing of it is
// left. Nobody waits for that but Close.
func (e *Engine) letGo(child sandbox.Child, release func()) {
	child.Kill(sandbox.CauseAbandoned)
	e.work.Go(func() {
		defer release()
		// The context is the engine's last: the backend bounds the wait.
		if _, err := child.Wait(context.Background()); err != nil {
			e.c.Logger.Debug("a child ended badly", "error", err)
		}
	})
}

var errAnalysisTime = errors.New("the analysis did not finish in time")

// analyse has the child parse the source. Nothing of the request but the source
// has reached the child by then, and no user code has run in it.
// The guest bounds the processor time of its own work; the wall clock is for a guest
// that does not get to it.
func (e *Engine) analyse(op *operation, child sandbox.Child) (bridge.FactsHead, error) {
	stop := e.c.Clock.AfterFunc(analysisLimit, func() { child.Kill(sandbox.CauseTimeout) })
	defer stop()
	facts, err := analyse(child.Bridge(), op.request)
	switch {
	case err == nil && op.request.Language == execution.Bash:
		return bashFacts(op.request), nil // the child has only taken the source
	case err == nil:
		return facts, nil
	}
	child.Kill(sandbox.CauseProtocol)
	ended, waitErr := child.Wait(context.WithoutCancel(op.ctx))
	if waitErr == nil && (ended.Cause == sandbox.CauseTimeout || ended.Signal == sigProf) {
		return facts, errAnalysisTime
	}
	return facts, err
}

// bashFacts are those of the source and of the variables that it starts with. To read
// what the call itself brings needs no permission.
func bashFacts(r execution.Request) bridge.FactsHead {
	facts := shell.Analyse(r.Code)
	facts.Facts = slices.DeleteFunc(facts.Facts, func(f bridge.Fact) bool {
		_, brought := r.Variables[f.Target]
		return brought && f.Kind == string(policy.Env)
	})
	facts.Facts = append(facts.Facts, shell.Variables(slices.Collect(maps.Keys(r.Variables)))...)
	return facts
}

func analyse(conn bridge.Conn, r execution.Request) (bridge.FactsHead, error) {
	var facts bridge.FactsHead
	f, err := bridge.NewFrame(bridge.Analyse, 1, bridge.AnalyseHead{Language: string(r.Language)}, []byte(r.Code))
	if err != nil {
		return facts, err
	}
	if err := conn.WriteFrame(f); err != nil {
		return facts, fmt.Errorf("send the source: %w", err)
	}
	reply, err := conn.ReadFrame()
	if err != nil {
		return facts, fmt.Errorf("read the facts: %w", err)
	}
	if reply.Kind != bridge.Facts {
		return facts, fmt.Errorf("read the facts: %w: frame of kind %d", bridge.ErrProtocol, reply.Kind)
	}
	if err := json.Unmarshal(reply.Head, &facts); err != nil {
		return facts, fmt.Errorf("read the facts: %w", err)
	}
	return facts, nil
}

// permissions are what the facts ask for.
func (e *Engine) permissions(op *operation, facts bridge.FactsHead) ([]policy.Permission, error) {
	home := "" // the operator's, or whoever's
	if op.place.Isolation != execution.LevelNone {
		home = analysis.Workspace
	}
	perms, err := analysis.Permissions(facts, home, e.existsFor(op))
	return slices.DeleteFunc(perms, func(p policy.Permission) bool { return e.nothingToGrant(op, p) }), err
}

// nothingToGrant is true of a variable of the environment that came with the call, as
// variables in bash do, and, for gears that would put the question to a human, of one
// that the operator's environment does not have either: programs look for many that
// are mostly not set.
func (e *Engine) nothingToGrant(op *operation, p policy.Permission) bool {
	if p.Kind != policy.Env {
		return false
	}
	if _, given := op.request.Variables[p.Target]; given && op.request.Language == execution.Bash {
		return true
	}
	_, set := e.c.Getenv(p.Target)
	return !set && op.gear.Decide(p).Effect == policy.Ask
}

// existsFor tells which host paths exist, to gears that would put the question to
// a human. To any other gear every path exists: a refusal must not tell.
func (e *Engine) existsFor(op *operation) Exists {
	return func(path string) bool {
		read := policy.Permission{Kind: policy.Read, Target: path}
		return op.gear.Decide(read).Effect != policy.Ask || e.c.Exists(path)
	}
}

// authorize asks the door for a permit for exactly this run.
func (e *Engine) authorize(op *operation, perms []policy.Permission) (authz.Permit, error) {
	return e.c.Door.Authorize(op.ctx, authz.Action{
		Operation: op.id, Principal: op.request.Principal, Client: op.request.Client, Gear: op.gear,
		Moment: authz.BeforeRun, Code: op.code, Subject: op.subject, Asks: perms,
	})
}

// environment is what the gear sets and what a rule grants of the operator's own.
func (e *Engine) environment(op *operation) map[string]string {
	env := map[string]string{}
	for _, name := range op.gear.Granted(policy.Env) {
		if value, ok := e.c.Getenv(name); ok {
			env[name] = value
		}
	}
	maps.Copy(env, op.gear.Env())
	return env
}

// arm brings the run's limits and files into the child. Bash is a program that forks;
// which others it may start is decided by which are there.
func (e *Engine) arm(op *operation, child sandbox.Child) error {
	python := op.request.Language == execution.Python
	err := child.Arm(op.ctx, sandbox.Arm{
		Limits: op.limits, Environment: e.environment(op), Files: op.request.Files,
		NoFork: python && !op.gear.Forks(), NoExec: python && op.gear.Programs() == nil,
	})
	if err != nil {
		return fmt.Errorf("arm the sandbox: %w", err)
	}
	return nil
}

// start uses the permit up and records that user code is about to run.
func (e *Engine) start(op *operation, permit authz.Permit) error {
	if !permit.Use(op.subject) {
		return errors.New("the permit does not cover this run")
	}
	ev := op.event(e.c.Clock.Now(), audit.Started)
	err := e.c.Journal.Commit(op.ctx, op.id, op.state, execution.StateRunning, execution.Change{}, ev)
	if err != nil {
		return fmt.Errorf("record the start: %w", err)
	}
	op.state = execution.StateRunning
	return nil
}

// run sends the program off and follows it to its end: the result is read or a
// limit is met, the tree is killed, the streams are drained, and then the
// kernel's word is taken.
func (e *Engine) run(op *operation, child sandbox.Child) (execution.Result, error) {
	streams := drain(op, child)
	began := e.c.Clock.Now()
	// The limit holds until the tree is dead: a program may close the bridge and go on.
	stop := e.c.Clock.AfterFunc(op.limits.Timeout, func() { child.Kill(sandbox.CauseTimeout) })
	defer stop()
	head, claimErr := converse(op, child)
	op.usage.Wall = e.c.Clock.Now().Sub(began)
	ended, err := endOf(context.WithoutCancel(op.ctx), child, head, claimErr)
	streams.Wait()
	if err != nil {
		return execution.Result{}, fmt.Errorf("end the sandbox: %w", err)
	}
	if head == nil {
		// The bridge may have closed long before the end: that of bash closes as it starts.
		op.usage.Wall = e.c.Clock.Now().Sub(began)
	}
	wall := op.usage.Wall
	op.usage = ended.Usage
	op.usage.Wall = wall
	return op.outcome(ended, head), nil
}

// endOf takes the account of a run that is over. Whatever ended it, the tree is being
// killed or is gone: this is bounded by the backend, and the answer must not be lost to
// a caller who left.
func endOf(ctx context.Context, child sandbox.Child, head *bridge.ResultHead, claimErr error) (sandbox.Ended, error) {
	if head != nil {
		return child.Stop(ctx)
	}
	if errors.Is(claimErr, bridge.ErrProtocol) {
		child.Kill(sandbox.CauseProtocol)
	}
	return child.Wait(ctx)
}

// drain takes in both streams until they end and feeds stdin.
func drain(op *operation, child sandbox.Child) *sync.WaitGroup {
	var wg sync.WaitGroup
	budget := capture.NewBudget(op.limits.OutputProduced, func() { child.Kill(sandbox.CauseOutput) })
	for _, s := range []struct {
		r io.Reader
		s *capture.Stream
	}{{child.Stdout(), op.stdout}, {child.Stderr(), op.stderr}} {
		wg.Go(func() {
			if err := capture.Drain(s.r, s.s, budget); err != nil {
				child.Kill(sandbox.CauseAbandoned)
			}
		})
	}
	wg.Go(func() {
		// A program need not read its input: a broken pipe is no failure.
		in := child.Stdin()
		_, _ = in.Write(op.request.Stdin)
		_ = in.Close()
	})
	return &wg
}

// converse sends the run frame and reads to the result. No result and no error
// means that the program's process ended without one.
func converse(op *operation, child sandbox.Child) (*bridge.ResultHead, error) {
	conn := child.Bridge()
	f, err := bridge.NewFrame(bridge.Run, 2, bridge.RunHead{
		Variables: op.request.Variables, Isolated: op.place.Isolation != execution.LevelNone,
	}, nil)
	if err != nil {
		return nil, err
	}
	if err := conn.WriteFrame(f); err != nil {
		return nil, err
	}
	reply, err := conn.ReadFrame()
	if err != nil {
		return nil, err
	}
	var head bridge.ResultHead
	if reply.Kind != bridge.Result {
		return nil, fmt.Errorf("%w: frame of kind %d instead of the result", bridge.ErrProtocol, reply.Kind)
	}
	if err := json.Unmarshal(reply.Head, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", bridge.ErrProtocol, err)
	}
	return &head, nil
}
