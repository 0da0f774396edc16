package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver/tasks"
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
	r, err := s.request(req, args)
	if err != nil {
		return nil, err
	}
	return s.answerTo(ctx, req, r, s.patience(ctx, req, args.WaitSeconds != nil, wait))
}

// patience is that of a call which says how long it waits, or does not.
func (s *service) patience(ctx context.Context, req *mcp.CallToolRequest, said bool, wait time.Duration) patience {
	p := patience{most: wait, people: said, asks: s.canOpenPages(req), again: req.Params.RequestState != ""}
	if !said && tasks.Wanted(ctx) {
		p.most = taskAfter
	}
	return p
}

// answerTo submits a request and answers with how it ended, or stands.
func (s *service) answerTo(ctx context.Context, req *mcp.CallToolRequest, r execution.Request, p patience) (*mcp.CallToolResult, error) {
	res, err := s.submit(ctx, req, r, p)
	if err != nil {
		return nil, err
	}
	if p.asks && asksInResult(req) && s.offers.fresh(res, p.again) {
		return s.askWith(res, stateOf(r, res.OperationID)), nil
	}
	s.mayBecomeTask(ctx, res)
	return s.answer(res), nil
}

// askWith answers with the wish that the client show its user the page, and then repeat its
// call with the state.
func (s *service) askWith(res execution.Result, state string) *mcp.CallToolResult {
	s.offers.made(res)
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{inputKey: s.elicitation(res)}, RequestState: state}
}

// patience is how long a call waits: most of all for the end of the program, and for
// people only when the caller said so. A call that asks has the client show its user where
// to decide, each question once; one that asks again only about what it was asked before.
// One that nobody can come back to stays while the program's own calls are asked about.
type patience struct {
	most   time.Duration
	people bool
	asks   bool
	again  bool
	stays  bool
}

// run submits a call and waits for its end. A failure of ours after the
// operation was made is an answer that names the operation.
func (s *service) run(ctx context.Context, req *mcp.CallToolRequest, args execution.Arguments, p patience) (execution.Result, error) {
	r, err := s.request(req, args)
	if err != nil {
		return execution.Result{}, err
	}
	return s.submit(ctx, req, r, p)
}

// request is what the caller asks for, if it may.
func (s *service) request(req *mcp.CallToolRequest, args execution.Arguments) (execution.Request, error) {
	r, err := args.Request(s.caller.Principal, client(req))
	if err == nil && !s.caller.MayWrite(r.Language) {
		err = refuse("language", "%s is not among the languages that you may use", r.Language)
	}
	return r, err
}

// submit is run of a request that is made already.
func (s *service) submit(ctx context.Context, req *mcp.CallToolRequest, r execution.Request, p patience) (execution.Result, error) {
	id, err := carried(req.Params.RequestState, r)
	if err == nil && id == "" {
		id, err = s.engine.Submit(ctx, r)
	}
	if err != nil {
		return execution.Result{}, err
	}
	res, left, err := s.wait(ctx, req, id, p)
	left = left && res.Status != execution.StatusPendingApproval // a question does not need its session
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
		s.observer.Rejected(ctx, s.caller.Principal, calling(ctx), rejected)
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
func (s *service) wait(ctx context.Context, req *mcp.CallToolRequest, id execution.ID, p patience) (res execution.Result, left bool, err error) {
	alive := s.keepAlive(ctx, req, id)
	defer alive.stop()
	here, gone, done := s.left.during(ctx, req.Session.ID())
	defer done()
	res, err = s.through(here, req, id, p, alive)
	if err != nil && gone() {
		res, err = s.engine.Wait(context.WithoutCancel(ctx), s.caller.Principal, id, 0)
	}
	return res, gone(), err
}

// through waits for the program and then, if people are waited for, for them and the
// program again. A client that can open pages is asked to, before anything is told of the
// question, and again when another one is put: those without sessions by the answer.
func (s *service) through(ctx context.Context, req *mcp.CallToolRequest, id execution.ID, p patience, alive *liveness) (execution.Result, error) {
	until := time.Now().Add(p.most)
	res, err := s.engine.WaitUnlessAsked(ctx, s.caller.Principal, id, p.most)
	if err == nil && res.AsksWithin() && (p.people || p.stays) {
		alive.say(waitingForApproval)
		res, err = s.engine.Wait(ctx, s.caller.Principal, id, time.Until(until))
	}
	for err == nil && res.Status == execution.StatusPendingApproval {
		fresh := p.asks && s.offers.fresh(res, p.again)
		switch {
		case fresh && asksInResult(req):
			return res, nil
		case fresh:
			s.offers.made(res)
			most := askFor
			if p.people {
				most = time.Until(until)
			}
			res, err = s.show(ctx, req, res, most, alive)
		case !p.people || time.Until(until) <= 0 || ctx.Err() != nil:
			return res, nil
		default:
			res, err = s.hold(ctx, res, until, alive, p.asks)
		}
	}
	return res, err
}

// anotherLook is how soon it is seen that another question is put.
const anotherLook = time.Second

// hold waits for people and then for the program: after a yes it runs, perhaps in another
// process, and may come to another question, at which it returns if that is to be offered.
func (s *service) hold(ctx context.Context, res execution.Result, until time.Time, alive *liveness, offer bool) (execution.Result, error) {
	first := res.Question
	for ctx.Err() == nil {
		asked := res.Status == execution.StatusPendingApproval
		left := time.Until(until)
		if left <= 0 || !asked && (!offer || res.Status.Final()) || asked && offer && res.Question != first {
			break
		}
		if asked {
			alive.say(waitingForApproval)
		}
		if offer {
			left = min(left, anotherLook)
		}
		var err error
		if res, err = s.engine.Wait(ctx, s.caller.Principal, res.OperationID, left); err != nil {
			return res, err
		}
	}
	return res, nil
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
