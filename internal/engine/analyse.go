package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/analysis/shell"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// seat is a child that an operation has to itself.
type seat struct {
	child   sandbox.Child
	release func()
	unwatch func() bool
}

// take waits for the operation's turn and for a child, which dies with its context.
func (e *Engine) take(op *operation) (*seat, error) {
	e.busy.waiting.Add(1)
	child, release, err := op.place.Children.Child(op.ctx, op.place.Template, op.request.Principal)
	e.busy.waiting.Add(-1)
	if err != nil {
		return nil, fmt.Errorf("start a sandbox: %w", err)
	}
	e.busy.running.Add(1)
	return &seat{child, release, context.AfterFunc(op.ctx, func() { child.Kill(givenUp(context.Cause(op.ctx))) })}, nil
}

// settle makes the child one that no longer dies with the operation's context.
func (s *seat) settle() {
	if s != nil {
		s.unwatch()
	}
}

// leave ends the child, if nothing did, and gives its place back once nothing of it is
// left. Only Close waits for that. No seat is left by leaving none.
func (e *Engine) leave(s *seat, pause time.Duration) {
	if s == nil {
		return
	}
	s.settle()
	end := func() { s.child.Kill(sandbox.CauseAbandoned) }
	if pause > 0 {
		e.c.Clock.AfterFunc(pause, end)
	} else {
		end()
	}
	e.work.Go(func() {
		defer e.busy.running.Add(-1)
		defer s.release()
		// The backend bounds the wait, and has said what there is to say.
		_, _ = s.child.Wait(context.Background())
	})
}

// answering is about how long an answer takes from here to the client. Taking a child
// apart keeps a processor busy for as long, and can wait for it.
const answering = 2 * time.Millisecond

// pause is how long a child that has stopped may stay when its answer is under way: not
// at all when somebody waits for its place.
func (e *Engine) pause() time.Duration {
	if e.busy.waiting.Load() > 0 {
		return 0
	}
	return answering
}

var errAnalysisTime = errors.New("the analysis did not finish in time")

// attempts: when a fork server ends, the children that it had parked die with it, and
// one of them may just have been taken. Nothing of the program has run then. They hold for
// the analysis and for what follows it until the start, each.
const attempts = 2

// meanwhile is what is done while a child is at work.
type meanwhile func(*operation) error

func nothing(*operation) error { return nil }

// analyse takes a child and has it report what the source would do. When it cannot
// finish, the source is one that nobody can judge, and no child is left.
func (e *Engine) analyse(op *operation, do meanwhile) (bridge.FactsHead, error) {
	for attempt := 1; ; attempt++ {
		s, err := e.take(op)
		if err != nil {
			return bridge.FactsHead{}, err
		}
		facts, err := e.ask(op, s.child, bridge.AnalyseHead{Language: string(op.request.Language)}, do)
		if err == nil {
			if op.request.Language == execution.Bash {
				facts = bashFacts(op.request) // the child has only taken the source
			}
			op.seat = s
			return facts, nil
		}
		e.leave(s, 0)
		switch {
		case errors.Is(err, errAnalysisTime):
			return unjudged("time", 1, 1), nil
		case attempt == attempts || !errors.Is(err, sandbox.ErrSourceDead):
			return bridge.FactsHead{}, err
		}
	}
}

// unread takes a child for source that was decided about without an analysis.
func (e *Engine) unread(op *operation) error {
	s, err := e.take(op)
	if err != nil {
		return err
	}
	if _, err := e.ask(op, s.child, bridge.AnalyseHead{Language: string(op.request.Language), Skip: true}, nothing); err != nil {
		e.leave(s, 0)
		return err
	}
	op.seat = s
	return nil
}

// ask hands the source to the child. Nothing of the request but the source has reached
// the child by then, and no user code has run in it. The guest bounds the processor time
// of its own work; the wall clock is for a guest that does not get to it.
func (e *Engine) ask(op *operation, child sandbox.Child, head bridge.AnalyseHead, do meanwhile) (bridge.FactsHead, error) {
	stop := e.c.Clock.AfterFunc(analysisLimit, func() { child.Kill(sandbox.CauseTimeout) })
	defer stop()
	facts, err := analyse(child.Bridge(), head, op.request.Code, func() error { return do(op) })
	if err == nil {
		return facts, nil
	}
	if errors.Is(err, bridge.ErrProtocol) {
		child.Kill(sandbox.CauseProtocol)
	}
	ended, waitErr := e.end(op, child)
	if waitErr == nil && (ended.Cause == sandbox.CauseTimeout || ended.Signal == sigProf) {
		return facts, errAnalysisTime
	}
	return facts, errors.Join(err, waitErr)
}

// analyse sends the source, does something meanwhile, and reads the facts.
func analyse(conn bridge.Conn, head bridge.AnalyseHead, code string, meanwhile func() error) (bridge.FactsHead, error) {
	var facts bridge.FactsHead
	f, err := bridge.NewFrame(bridge.Analyse, 1, head, []byte(code))
	if err != nil {
		return facts, err
	}
	if err := conn.WriteFrame(f); err != nil {
		return facts, fmt.Errorf("send the source: %w", err)
	}
	if err := meanwhile(); err != nil {
		return facts, err
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
