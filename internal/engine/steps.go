package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
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
	case errors.Is(err, sandbox.ErrSourceDead):
		e.c.Logger.Warn("a sandbox ended under an execution", "operation_id", op.id, "error", err)
		return op.interrupted()
	default:
		e.c.Logger.Error("an execution failed for a reason of our own", "operation_id", op.id, "error", err)
		return op.failed()
	}
}

func (e *Engine) steps(op *operation) (execution.Result, error) {
	if op.request.Language == execution.Tool {
		return e.call(op)
	}
	if refusal := precheck(op.gear, op.request); refusal != nil {
		return op.denied(refusal), nil
	}
	if !op.gear.Enabled() {
		if err := e.begin(op); err != nil {
			return execution.Result{}, err
		}
		op.subject = op.subjectOf(bridge.FactsHead{})
		_, err := e.authorize(op, nil)
		return op.turnedAway(err)
	}
	facts, err := e.analyse(op, e.begin)
	if err := cmp.Or(e.begin(op), err); err != nil {
		return execution.Result{}, err
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
		return op.turnedAway(err)
	}
	op.decided = permit.Decisions()
	if err := e.narrow(op, permit); err != nil {
		return execution.Result{}, err
	}
	if err := e.prepare(op); err != nil {
		return execution.Result{}, err
	}
	if err := e.start(op, permit); err != nil {
		return execution.Result{}, err
	}
	return e.run(op, op.seat.child)
}

// permissions are what the facts ask for.
func (e *Engine) permissions(op *operation, facts bridge.FactsHead) ([]policy.Permission, error) {
	home := "" // the operator's, or whoever's
	if op.place.Isolation != execution.LevelNone {
		home = analysis.Workspace
	}
	perms, err := analysis.Permissions(facts, home, e.existsFor(op))
	perms = e.toolsMeant(op, perms)
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
		Moment: authz.BeforeRun, Code: op.code, Subject: op.subject, Source: op.request.Code, Asks: perms, Approval: op.approval,
	})
}

// environment is what the gear sets and what a rule grants of the operator's own.
func (e *Engine) environment(op *operation) map[string]string {
	env := map[string]string{}
	for _, name := range op.granted.Granted(policy.Env) {
		if value, ok := e.c.Getenv(name); ok {
			env[name] = value
		}
	}
	maps.Copy(env, op.gear.Env())
	return env
}

// prepare sees to a child that is armed. One that ends with its fork server before is
// replaced: what was decided is about the source, which the next one is given unread, and
// the permit is not used yet.
func (e *Engine) prepare(op *operation) error {
	for attempt := 1; ; attempt++ {
		err := e.armed(op)
		if err == nil || attempt == attempts || !errors.Is(err, sandbox.ErrSourceDead) {
			return err
		}
		e.leave(op.seat, 0)
		op.seat = nil
	}
}

func (e *Engine) armed(op *operation) error {
	if op.seat == nil {
		if err := e.unread(op); err != nil {
			return err
		}
	}
	return e.arm(op, op.seat.child)
}

// arm brings the run's limits and files into the child. Bash is a program that forks;
// which others it may start is decided by which are there.
func (e *Engine) arm(op *operation, child sandbox.Child) error {
	python := op.request.Language == execution.Python
	err := child.Arm(op.ctx, sandbox.Arm{
		Limits: op.limits, Environment: e.environment(op), Files: op.request.Files,
		NoFork: python && !op.granted.Forks(), NoExec: python && op.granted.Programs() == nil,
	})
	if gone(err) {
		_, why := e.end(op, child) // and the pool knows it too, before another one is asked for
		err = errors.Join(err, why)
	}
	if err != nil {
		return fmt.Errorf("arm the sandbox: %w", err)
	}
	return nil
}

// gone reports whether the child has ended. As long as no program runs it hangs up by
// ending alone.
func gone(err error) bool {
	for _, sign := range []error{sandbox.ErrSourceDead, sandbox.ErrChildGone, io.EOF, os.ErrClosed, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

// end waits for a child that has ended, or is about to: why, its end tells.
func (e *Engine) end(op *operation, child sandbox.Child) (sandbox.Ended, error) {
	stop := e.c.Clock.AfterFunc(analysisLimit, func() { child.Kill(sandbox.CauseTimeout) })
	defer stop()
	return child.Wait(context.WithoutCancel(op.ctx))
}

// start uses the permit up and records what was decided and that user code is about to run.
func (e *Engine) start(op *operation, permit authz.Permit) error {
	if !permit.Use(op.subject) {
		return errors.New("the permit does not cover this run")
	}
	change, events := op.answered(execution.Approved, e.c.Clock.Now())
	events = slices.Concat(events, op.decided, []audit.Event{op.event(e.c.Clock.Now(), audit.Started)})
	err := e.c.Journal.Commit(op.ctx, op.id, op.state, execution.StateRunning, change, events...)
	if err != nil {
		return fmt.Errorf("record the start: %w", err)
	}
	op.state, op.decided = execution.StateRunning, nil
	return nil
}

// run sends the program off and follows it to its end: the result is read or a
// limit is met, the tree is killed, the streams are drained, and then the
// kernel's word is taken.
func (e *Engine) run(op *operation, child sandbox.Child) (execution.Result, error) {
	streams := drain(op, child)
	began := e.c.Clock.Now()
	// The limit holds until the tree is dead: a program may close the bridge and go on.
	op.watch = newStopwatch(e.c.Clock, op.limits.Timeout, func() { child.Kill(sandbox.CauseTimeout) })
	defer op.watch.end()
	calls := e.callsOf(op, child.Bridge())
	head, claimErr := converse(op, child, calls)
	op.usage.Wall = e.c.Clock.Now().Sub(began) - op.watch.pausedFor()
	ended, err := endOf(context.WithoutCancel(op.ctx), child, head, claimErr)
	made := calls.end()
	streams.Wait()
	if err != nil {
		return execution.Result{}, fmt.Errorf("end the sandbox: %w", err)
	}
	if head == nil {
		// The bridge may have closed long before the end: that of bash closes as it starts.
		op.usage.Wall = e.c.Clock.Now().Sub(began) - op.watch.pausedFor()
	}
	wall := op.usage.Wall
	op.usage = ended.Usage
	op.usage.Wall = wall
	r := op.outcome(ended, head)
	made.tell(&r)
	return r, nil
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

// converse sends the run frame, has calls answered and reads to the result. No result
// and no error means that the program's process ended without one.
func converse(op *operation, child sandbox.Child, calls *calls) (*bridge.ResultHead, error) {
	defer calls.stop()
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
	for {
		reply, err := conn.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch reply.Kind {
		case bridge.Call:
			err = calls.take(reply)
		case bridge.Cancel:
			calls.giveUp(reply.ID)
		case bridge.Result:
			return readResult(reply)
		default:
			err = fmt.Errorf("%w: frame of kind %d instead of a call or the result", bridge.ErrProtocol, reply.Kind)
		}
		if err != nil {
			return nil, err
		}
	}
}

func readResult(f bridge.Frame) (*bridge.ResultHead, error) {
	if len(f.Head) > bridge.MaxResult || len(f.Body) > 0 {
		return nil, fmt.Errorf("%w: result of %d bytes", bridge.ErrProtocol, len(f.Head)+len(f.Body))
	}
	var head bridge.ResultHead
	if err := json.Unmarshal(f.Head, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", bridge.ErrProtocol, err)
	}
	return &head, nil
}
