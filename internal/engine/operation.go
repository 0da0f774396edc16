package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/capture"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
)

// Why an operation's context ended.
var (
	errCancelled = errors.New("cancelled by the caller")
	errShutdown  = errors.New("the server is shutting down")
	errUntaken   = errors.New("the request could not be recorded")
)

// operation is one execution in flight. Its fields belong to the goroutine that
// executes it; others read request, streams and done.
type operation struct {
	id      execution.ID
	request execution.Request
	gear    gear.Frozen
	granted gear.Frozen // the gear with what a human may have approved: what the sandbox is made for
	place   Place
	limits  execution.Limits
	code    execution.Digest // of language and source, for the record

	ctx    context.Context
	cancel context.CancelCauseFunc
	left   func()        // no longer counts among those that its principal has under way
	done   chan struct{} // closed when the end is recorded, or lost for good
	lost   bool          // another process has it, or it waits on; set before done is closed
	// unwritten is closed when it has ended, and that could not be recorded yet.
	unwritten chan struct{}

	created time.Time
	// begun is closed when the request is recorded, or cannot be: then unbegun says why.
	beginning sync.Once
	begun     chan struct{}
	unbegun   error
	// unparsed is why the host could not read a script that bash was left to judge.
	unparsed *bridge.Exception
	subject  execution.Digest // of exactly what would run, once the facts are known
	state    execution.State
	seat     *seat      // the child that it has; nil before and without one
	watch    *stopwatch // of the program, while it runs
	resting  rests
	open     openQuestions // about its calls
	usage    execution.Usage
	decided  []audit.Event // what the door decided, until a commit has it
	// question is what a human has to be asked, when it ends with that; approval is the
	// question that was answered before, when it was taken up again.
	question *execution.Approval
	approval *execution.Approval
	answer   execution.Result // set before done is closed

	stdout, stderr *capture.Stream
}

func newOperation(ctx context.Context, now time.Time, r execution.Request, g gear.Frozen, p Place) *operation {
	op := &operation{
		id: execution.NewID(), created: now, request: r, gear: g, granted: g, place: p, state: execution.StateSubmitted, begun: make(chan struct{}), left: func() {}, done: make(chan struct{}), unwritten: make(chan struct{}),
		code: codeOf(r),
	}
	op.ctx, op.cancel = context.WithCancelCause(ctx)
	op.limits = g.Limits()
	if r.Timeout > 0 {
		op.limits.Timeout = r.Timeout
	}
	op.stdout, op.stderr = capture.NewStream(op.limits.OutputKept), capture.NewStream(op.limits.OutputKept)
	return op
}

// codeOf names the source of a request in the record.
func codeOf(r execution.Request) execution.Digest {
	return execution.DigestOf([]byte(r.Language), []byte(r.Code))
}

func (op *operation) event(now time.Time, t audit.Type) audit.Event {
	return audit.Event{
		Time: now, Type: t, Operation: op.id, Principal: op.request.Principal, Client: op.request.Client,
		Gear: op.gear.Name(), Code: op.code,
	}
}

func (op *operation) output() (stdout, stderr execution.Output) {
	return op.stdout.Output(), op.stderr.Output()
}

// ended reports whether the end is known, though the operation may not be forgotten yet.
func (op *operation) ended() bool {
	select {
	case <-op.done:
		return !op.lost && op.answer.Status.Final()
	default:
		return false
	}
}

// running is the answer for an operation that has not ended, as far as the record says. It
// tells what a human is asked about the calls of its program.
func (op *operation) running() execution.Result {
	select {
	case <-op.unwritten:
		return unrecorded(op)
	default:
	}
	r := op.base(execution.StatusRunning)
	out, errOut := op.output()
	return op.open.tell(answer(r, out, errOut))
}

// base is an answer with what is known of every operation.
func (op *operation) base(s execution.Status) execution.Result {
	r := execution.Result{
		Status: s, OperationID: op.id, ExitCode: -1,
		Gear: op.gear.Name(), Isolation: op.place.Isolation, Backend: op.place.Backend,
	}
	r.Warnings = append(r.Warnings, op.place.Warnings...)
	return r
}

// subjectOf is the digest of exactly what would run: the permit is bound to it, and so is
// a human's yes. Lists are preceded by their lengths, so that no variable can be read as a
// file.
func (op *operation) subjectOf(facts bridge.FactsHead) execution.Digest {
	r := op.request
	analysed := analysis.Digest(op.place.Analyser, r.Code, facts)
	parts := [][]byte{
		[]byte(op.id), []byte(r.Principal), []byte(r.Language), analysed[:], r.Stdin,
		fmt.Appendf(nil, "%s %s %s", op.gear.Digest(), op.place.Interpreter, op.place.Template.Environment),
		[]byte(op.place.Template.Preload), fmt.Appendf(nil, "%+v", op.limits), []byte(op.place.Isolation),
		fmt.Appendf(nil, "%d %d", len(r.Variables), len(r.Files)),
	}
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		parts = append(parts, []byte(name), r.Variables[name])
	}
	for _, f := range r.Files {
		parts = append(parts, []byte(f.Path), f.Data)
	}
	return execution.DigestOf(parts...)
}
