package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The bounds of one task.
const (
	DefaultTimeout  = 120 * time.Second
	MaxTimeout      = time.Hour
	DefaultAttempts = 3
	MaxAttempts     = 10
	// MaxTask bounds the text of a task, in bytes.
	MaxTask = 64 << 10

	// mostLooks is how often a model may look around before it ends the task.
	mostLooks = 6
	// toolsLimit bounds what is told of the tools, in characters: some 15,000 tokens.
	toolsLimit = 60_000
	// budget bounds the characters of all requests and replies together.
	budget = 1_500_000
)

// Config is what an agent needs. Catalog may be nil: then there are no tools.
type Config struct {
	Model   Model
	Catalog Catalog
	// Attempts is how often an error goes back to the model; nil means [DefaultAttempts].
	Attempts *int
	// Timeout is the time of a task that names none; 0 means [DefaultTimeout].
	Timeout time.Duration
}

// Agent solves tasks by having a model write programs. It is safe for concurrent use.
type Agent struct {
	c        Config
	attempts int
}

// New makes an agent.
func New(c Config) (*Agent, error) {
	a := &Agent{c: c, attempts: DefaultAttempts}
	if c.Model == nil {
		return nil, errors.New("agent: a model is required")
	}
	if c.Attempts != nil {
		a.attempts = *c.Attempts
	}
	if a.attempts < 0 || a.attempts > MaxAttempts {
		return nil, fmt.Errorf("agent: %d attempts: accepted are 0 to %d", a.attempts, MaxAttempts)
	}
	if a.c.Timeout == 0 {
		a.c.Timeout = DefaultTimeout
	}
	if a.c.Timeout < 0 || a.c.Timeout > MaxTimeout {
		return nil, fmt.Errorf("agent: a timeout of %v: accepted are more than 0 up to %v", a.c.Timeout, MaxTimeout)
	}
	return a, nil
}

// Task is something to do for somebody.
type Task struct {
	Text string
	// Timeout bounds everything, the model's thinking and all programs; 0 means the
	// agent's.
	Timeout time.Duration
	// Runner runs programs for whoever gave the task.
	Runner Runner
	// Tell is told what is being done, in a sentence; nil for silence. The task waits for it.
	Tell func(string)
}

func (t Task) check() error {
	reject := func(field, message string) error {
		return &execution.RejectedError{Code: execution.CodeInvalidArgument, Field: field, Message: message}
	}
	switch {
	case t.Runner == nil:
		return errors.New("agent: a runner is required")
	case strings.TrimSpace(t.Text) == "":
		return reject("task", "empty: say what is to be done")
	case len(t.Text) > MaxTask:
		return reject("task", fmt.Sprintf("%d bytes: at most %d are accepted", len(t.Text), MaxTask))
	case t.Timeout < 0 || t.Timeout > MaxTimeout:
		return reject("timeout", fmt.Sprintf("%v: must be more than 0 up to %v", t.Timeout, MaxTimeout))
	}
	return nil
}

// Run solves a task. How the last program ended is in the answer: that it failed, was
// denied or waits for a human is no error. An error says why there is no end: the endpoint,
// the time ([ErrTime]), the budget ([ErrBudget]), a model that writes no program
// ([ErrNoProgram]), comes to no end ([ErrUndecided]) or refuses ([ErrRefused]); the answer
// then holds what there is so far. A malformed task is an [execution.RejectedError].
func (a *Agent) Run(ctx context.Context, t Task) (Answer, error) {
	if err := t.check(); err != nil {
		return Answer{}, err
	}
	if t.Timeout == 0 {
		t.Timeout = a.c.Timeout
	}
	if t.Tell == nil {
		t.Tell = func(string) {}
	}
	ctx, stop := context.WithTimeoutCause(ctx, t.Timeout, fmt.Errorf("%w: %v", ErrTime, t.Timeout))
	defer stop()
	w := &work{agent: a, task: t}
	err := w.run(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		w.answer.Stopped = err.Error()
	}
	return w.answer, err
}

// work is one task under way.
type work struct {
	agent *Agent
	task  Task
	talk  Conversation

	answer   Answer
	failures int // programs that failed, and replies without one
	looks    int // programs that only looked around
	spent    int // characters
}

func (w *work) run(ctx context.Context) error {
	tools, err := w.tools(ctx)
	if err != nil {
		return err
	}
	w.talk.System = system(tools)
	w.say(User, "The task:\n"+w.task.Text)
	for done := false; !done; {
		reply, err := w.ask(ctx)
		if err != nil {
			return err
		}
		if done, err = w.take(ctx, reply); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) tools(ctx context.Context) (string, error) {
	if w.agent.c.Catalog == nil {
		return "", nil
	}
	text, err := w.agent.c.Catalog.Describe(ctx, w.task.Text, toolsLimit)
	if err != nil {
		return "", fmt.Errorf("describe the tools: %w", err)
	}
	return cut(text, toolsLimit), nil
}

// ask has the model say what comes next.
func (w *work) ask(ctx context.Context) (Reply, error) {
	w.spent += w.talk.size()
	if w.spent > budget {
		return Reply{}, fmt.Errorf("%w: %d characters went to the model and back, and at most %d may", ErrBudget, w.spent, budget)
	}
	w.task.Tell("the model is thinking")
	reply, err := w.agent.c.Model.Complete(ctx, w.talk)
	if err != nil {
		return Reply{}, fmt.Errorf("%w: %w", ErrModel, err)
	}
	w.spent += len(reply.Text)
	w.answer.Usage.add(reply.Usage)
	w.say(Assistant, reply.Text)
	return reply, nil
}

func (w *work) say(who Role, text string) {
	if strings.TrimSpace(text) == "" {
		text = "(nothing)" // endpoints take no empty message
	}
	w.talk.Messages = append(w.talk.Messages, Message{who, text})
}

// take does what a reply says, and reports whether that ends the task.
func (w *work) take(ctx context.Context, r Reply) (done bool, err error) {
	if r.Stop == StopRefused {
		return false, fmt.Errorf("%w: %s", ErrRefused, oneLine(r.Text))
	}
	code, err := program(r.Text)
	if r.Stop == StopLength {
		err = errCutShort
	}
	switch {
	case errors.Is(err, errNoBlock) && w.looks > 0 && w.answer.Status == execution.StatusOK:
		w.answer.Sentence = strings.TrimSpace(afterThought(r.Text))
		return true, nil
	case err != nil:
		return false, w.askAgain(err)
	}
	return w.try(ctx, code)
}

// askAgain has the model answer with one program.
func (w *work) askAgain(wrong error) error {
	if w.failures++; w.failures > w.agent.attempts {
		return fmt.Errorf("%w: %w, after %d tries", ErrNoProgram, wrong, w.failures)
	}
	w.say(User, fmt.Sprintf("Nothing was run: %v. Answer with exactly one block, ```python, that holds the whole program.", wrong))
	return nil
}

// try runs a program.
func (w *work) try(ctx context.Context, code string) (done bool, err error) {
	w.answer.Programs++
	w.task.Tell(fmt.Sprintf("program %d runs", w.answer.Programs))
	result, err := w.task.Runner.Run(ctx, code)
	var rejected *execution.RejectedError
	switch {
	case errors.As(err, &rejected) && rejected.Code == execution.CodeInvalidArgument:
		result = execution.Result{Status: execution.StatusRejected, ExitCode: -1, Stderr: rejected.Error()}
	case err != nil:
		return false, fmt.Errorf("run program %d: %w", w.answer.Programs, err)
	}
	w.answer.take(code, result)
	switch result.Status {
	case execution.StatusOK:
		return w.succeeded(code, result)
	case execution.StatusPendingApproval, execution.StatusRunning, execution.StatusCancelled, execution.StatusInterrupted, execution.StatusInternalError:
		return true, nil // nothing that another program would mend
	default:
		return w.failed(result), nil
	}
}

func (w *work) succeeded(code string, r execution.Result) (done bool, err error) {
	if !looks(code) {
		return true, nil
	}
	if w.looks++; w.looks > mostLooks {
		return false, fmt.Errorf("%w: it looked around %d times", ErrUndecided, w.looks)
	}
	w.say(User, fmt.Sprintf("The program ended well. %sGo on with the next program, or say in words that the task is done. You may look around %d times more.", observed(r), mostLooks-w.looks))
	return false, nil
}

// failed gives the error back to the model, unless that was done often enough.
func (w *work) failed(r execution.Result) (done bool) {
	if w.failures++; w.failures > w.agent.attempts {
		return true
	}
	w.say(User, fmt.Sprintf("The program failed, with the status %s. %sAnswer with a whole new program. Tries left: %d.", r.Status, observed(r), w.agent.attempts-w.failures+1))
	return false
}

// shownRefusal bounds what is quoted of a refusal.
const shownRefusal = 300

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "without a word"
	}
	return strings.ReplaceAll(cut(text, shownRefusal), "\n", " ")
}
