package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func (s *service) execute(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args execution.Arguments
	if err := decode(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	wait, err := args.Wait()
	if err != nil {
		return nil, err
	}
	res, err := s.run(ctx, req, args, wait)
	if err != nil {
		return nil, err
	}
	return answer(res), nil
}

// run submits a call and waits for its end. A failure of ours after the
// operation was made is an answer that names the operation.
func (s *service) run(ctx context.Context, req *mcp.CallToolRequest, args execution.Arguments, wait time.Duration) (execution.Result, error) {
	r, err := args.Request(s.caller.Principal, client(req))
	if err != nil {
		return execution.Result{}, err
	}
	if !s.caller.MayWrite(r.Language) {
		return execution.Result{}, refuse("language", "%s is not among the languages that you may use", r.Language)
	}
	id, err := s.engine.Submit(ctx, r)
	if err != nil {
		return execution.Result{}, err
	}
	res, left, err := s.wait(ctx, req, id, wait)
	if (left || asked(ctx)) && (err != nil || !res.Status.Final()) {
		res, err = s.cancel(ctx, id)
	}
	return s.settled(ctx, id, res, err), nil
}

// settled makes an answer of what waiting for a known operation came to.
func (s *service) settled(ctx context.Context, id execution.ID, res execution.Result, err error) execution.Result {
	var rejected *execution.RejectedError
	switch {
	case err == nil:
		return res
	case errors.As(err, &rejected):
		s.observer.Rejected(ctx, s.caller.Principal, rejected)
		return rejection(rejected)
	}
	s.logFailure(ctx, id, err)
	return internalError(id)
}

// asked reports whether the client cancelled the call. A connection that broke
// is no wish to end the run: another one may ask for its outcome, and where
// none can the engine's own end ends it. The SDK cancels without a cause for
// notifications/cancelled and with the read error otherwise.
func asked(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), context.Canceled)
}

// cancelTime bounds the killing of a process tree.
const cancelTime = 10 * time.Second

func (s *service) cancel(ctx context.Context, id execution.ID) (execution.Result, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	return s.engine.Cancel(ctx, s.caller.Principal, id)
}

// wait waits for the end of an operation and meanwhile tells the client, if it
// asked for that, that something still happens. It reports whether the client left
// meanwhile: who ends its session goes without the answer.
func (s *service) wait(ctx context.Context, req *mcp.CallToolRequest, id execution.ID, d time.Duration) (res execution.Result, left bool, err error) {
	stop := s.keepAlive(ctx, req, id)
	defer stop()
	here, done := s.left.during(ctx, req.Session.ID())
	defer done()
	res, err = s.engine.Wait(here, s.caller.Principal, id, d)
	left = here.Err() != nil && ctx.Err() == nil
	if err != nil && left {
		res, err = s.engine.Wait(ctx, s.caller.Principal, id, 0)
	}
	return res, left, err
}

// client is what the other end says of itself.
func client(req *mcp.CallToolRequest) execution.Client {
	c := execution.Client{Session: req.Session.ID()}
	if info := req.ClientInfo(); info != nil {
		c.Name, c.Version = prefix(info.Name, maxClient), prefix(info.Version, maxClient)
	}
	return c
}

// maxClient bounds what is recorded of a client's name, and of its version.
const maxClient = 200
