package upstream

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// errLate says that a call was not answered in time.
var errLate = errors.New("the call was not answered in time")

// errRejected is in what the SDK says of an exchange that failed without its session: its
// own value for it is internal, and compared by the code.
var errRejected error = &jsonrpc.Error{Code: -32005}

// exchange makes one call of a server when it is ready and it is the call's turn.
func (v *server) exchange(ctx context.Context, what string, call func(context.Context, *session) (tool.Result, error)) (tool.Result, error) {
	if err := v.turns.Acquire(ctx, 1); err != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	defer v.turns.Release(1)
	s, err := v.await(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	r, err := v.timed(ctx, s, what, call)
	if errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, mcp.ErrConnectionClosed) {
		// The server has forgotten the session, or it ended before: nobody has looked at the call.
		if s, err = v.another(ctx, s); err != nil {
			return tool.Result{}, err
		}
		r, err = v.timed(ctx, s, what, call)
	}
	if err != nil {
		return tool.Result{}, v.failed(ctx, s, err)
	}
	return v.masked(r), nil
}

// timed bounds one attempt.
func (v *server) timed(ctx context.Context, s *session, what string, call func(context.Context, *session) (tool.Result, error)) (tool.Result, error) {
	inner, stop := within(ctx, v.opts.Clock, v.spec.timeout(), errLate)
	defer stop()
	r, err := call(inner, s)
	if err != nil && errors.Is(context.Cause(inner), errLate) {
		err = &TimeoutError{v.spec.Name, v.mask.text(what), v.spec.timeout()}
	}
	return r, err
}

// another waits for the session after one that ended.
func (v *server) another(ctx context.Context, old *session) (*session, error) {
	for {
		v.mu.Lock()
		current, turned := v.current, v.turned
		v.mu.Unlock()
		if current != old {
			return v.await(ctx)
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// failed says what became of a call.
func (v *server) failed(ctx context.Context, s *session, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var late *TimeoutError
	var answer *AnswerError
	var refusal *ProtocolError
	switch {
	case errors.As(err, &late):
		return late
	case errors.As(err, &answer):
		return &AnswerError{answer.Server, v.mask.text(answer.Reason)}
	case errors.As(err, &refusal):
		return &ProtocolError{v.spec.Name, refusal.Code, v.mask.text(begin(refusal.Message, maxReason))}
	case errors.Is(err, errRejected):
		return &UnavailableError{Server: v.spec.Name, State: v.now(), Reason: v.mask.text(s.link.explain(err)), Sent: true}
	}
	return v.broken(ctx, s, err)
}

// broken says how the session ended that a call was made in.
func (v *server) broken(ctx context.Context, s *session, err error) error {
	e := &UnavailableError{Server: v.spec.Name, State: Starting, Reason: v.mask.text(err.Error()), Sent: true}
	select {
	case <-s.gone:
		e.Reason = "the session ended while the call was under way, which may have been carried out: " + v.mask.text(s.why)
	case <-v.opts.Clock.After(s.link.grace()):
		e.Reason = v.mask.text(s.link.explain(err))
	case <-ctx.Done():
	}
	return e
}

// masked takes the credentials of the server's configuration out of an answer: some have
// a tool that shows their environment, and no program in a sandbox is to see it.
func (v *server) masked(r tool.Result) tool.Result {
	if len(v.mask.secrets()) == 0 {
		return r
	}
	r.Structured = v.mask.json(r.Structured)
	for i := range r.Blocks {
		b := &r.Blocks[i]
		b.Text, b.Name, b.URI = v.mask.exact(b.Text), v.mask.exact(b.Name), v.mask.exact(b.URI)
		b.MIME, b.Data = v.mask.exact(b.MIME), v.mask.bytes(b.Data)
	}
	return r
}
