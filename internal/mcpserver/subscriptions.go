package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const (
	// lookEvery is how soon a subscriber learns of a change. The records are asked, because
	// any process may have made it.
	lookEvery = 500 * time.Millisecond
	// maxPerSession and maxPerCaller bound what is looked for so often.
	maxPerSession = 100
	maxPerCaller  = 1000
)

// subscriptions are those of a caller's sessions to its operations. One goroutine looks
// for changes as long as there is one. The SDK knows too who subscribed to what, and
// sends the notifications; it does not say who has gone. [subscriptions.close] ends it.
type subscriptions struct {
	records   Records
	principal execution.Principal
	log       *slog.Logger
	// notify tells the subscribers of a URI, and sessions are those that are open.
	notify   func(ctx context.Context, uri string)
	sessions func() map[*mcp.ServerSession]bool

	mu      sync.Mutex // guards what follows
	by      map[*mcp.ServerSession]map[execution.ID]int
	watched map[execution.ID]*watched
	stop    context.CancelFunc // nil when nobody looks
	lookers int
	idle    sync.Cond // signalled when lookers shrinks or somebody subscribes
}

// watched is an operation that somebody subscribed to.
type watched struct {
	state execution.State
	count int
	// fresh is true until the first look after the last subscription: before, the SDK may
	// not know of that yet, and its subscriber would not be told.
	fresh bool
}

// add subscribes a session. The error is a *[execution.RejectedError] or a failure.
func (s *subscriptions) add(ctx context.Context, session *mcp.ServerSession, id execution.ID) error {
	state, err := s.records.State(ctx, s.principal, id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.by[session]) >= maxPerSession || len(s.watched) >= maxPerCaller {
		return &execution.RejectedError{
			Code:    execution.CodeUnavailable,
			Message: fmt.Sprintf("there are too many subscriptions: at most %d in a session and %d in all; end some, or ask with get_operation", maxPerSession, maxPerCaller),
		}
	}
	if s.by == nil {
		s.by, s.watched = map[*mcp.ServerSession]map[execution.ID]int{}, map[execution.ID]*watched{}
	}
	if s.by[session] == nil {
		s.by[session] = map[execution.ID]int{}
	}
	s.by[session][id]++
	w := s.watched[id]
	if w == nil {
		w = &watched{state: state}
		s.watched[id] = w
	}
	w.count++
	w.fresh = true
	if s.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		s.lookers++
		go s.look(ctx) //nolint:contextcheck // it outlives the call
	}
	s.idle.Broadcast()
	return nil
}

// remove ends one subscription.
func (s *subscriptions) remove(session *mcp.ServerSession, id execution.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[session][id] > 0 {
		s.drop(session, id, 1)
	}
}

// drop takes n subscriptions out. The mutex is held.
func (s *subscriptions) drop(session *mcp.ServerSession, id execution.ID, n int) {
	if s.by[session][id] -= n; s.by[session][id] == 0 {
		delete(s.by[session], id)
	}
	if len(s.by[session]) == 0 {
		delete(s.by, session)
	}
	if s.watched[id].count -= n; s.watched[id].count == 0 {
		delete(s.watched, id)
	}
	if len(s.watched) == 0 && s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// forget ends what sessions subscribed to. The mutex is held.
func (s *subscriptions) forget(ended func(*mcp.ServerSession) bool) {
	for session := range s.by {
		if !ended(session) {
			continue
		}
		for id, n := range s.by[session] {
			s.drop(session, id, n)
		}
	}
}

// leave ends the subscriptions of sessions that are over. When no other is left it
// returns once nobody looks any more.
func (s *subscriptions) leave(ended func(*mcp.ServerSession) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(ended)
	for s.stop == nil && s.lookers > 0 {
		s.idle.Wait()
	}
}

// close ends all subscriptions and returns when nobody looks any more.
func (s *subscriptions) close() { s.leave(func(*mcp.ServerSession) bool { return true }) }

// look tells subscribers of changes until ctx ends.
func (s *subscriptions) look(ctx context.Context) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lookers--
		s.idle.Broadcast()
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.prune(s.sessions())
		for id, before := range s.due() {
			if ctx.Err() == nil && s.changed(ctx, id, before) {
				s.notify(ctx, operationScheme+string(id))
			}
		}
	}
}

// prune ends what sessions subscribed to that went without a word.
func (s *subscriptions) prune(open map[*mcp.ServerSession]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(func(session *mcp.ServerSession) bool { return !open[session] })
}

// due are the operations to look for, with what is known of them: one that has ended
// changes no more.
func (s *subscriptions) due() map[execution.ID]execution.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := map[execution.ID]execution.State{}
	for id, w := range s.watched {
		if !w.fresh && w.state != execution.StateFinished {
			due[id] = w.state
		}
		w.fresh = false
	}
	return due
}

// changed looks for one operation. One that is not there any more has changed too, and
// for the last time.
func (s *subscriptions) changed(ctx context.Context, id execution.ID, before execution.State) bool {
	now, err := s.records.State(ctx, s.principal, id)
	var rejected *execution.RejectedError
	switch {
	case errors.As(err, &rejected):
		now = execution.StateFinished
	case err != nil:
		s.log.LogAttrs(ctx, slog.LevelWarn, "an operation could not be looked for", slog.String("operation_id", string(id)), slog.String("error", err.Error()))
		return false
	case now == before:
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watched[id]; w != nil {
		w.state = now
	}
	return true
}

// subscriptionsOf makes those of a service, whose server is there already.
func (s *service) subscriptionsOf() *subscriptions {
	all := &subscriptions{
		records: s.records, principal: s.caller.Principal, log: s.log,
		notify: func(ctx context.Context, uri string) {
			// It tells the log of subscribers that it did not reach, and never fails.
			_ = s.mcp.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
		},
		sessions: func() map[*mcp.ServerSession]bool {
			open := map[*mcp.ServerSession]bool{}
			for session := range s.mcp.Sessions() {
				open[session] = true
			}
			return open
		},
	}
	all.idle.L = &all.mu
	return all
}

// subscribing lets clients subscribe to their operations. The other resources never
// change, except those of an extension, which has its own handlers for them.
func (s *service) subscribing(o *mcp.ServerOptions) {
	subscribe, unsubscribe := o.SubscribeHandler, o.UnsubscribeHandler
	o.SubscribeHandler = func(ctx context.Context, req *mcp.SubscribeRequest) error {
		id, ok := operationOf(req.Params.URI)
		switch {
		case ok:
			return s.subscribed(ctx, req, id)
		case subscribe != nil:
			return subscribe(ctx, req)
		case !fixed(req.Params.URI):
			return mcp.ResourceNotFoundError(req.Params.URI)
		}
		return nil
	}
	o.UnsubscribeHandler = func(ctx context.Context, req *mcp.UnsubscribeRequest) error {
		id, ok := operationOf(req.Params.URI)
		switch {
		case ok:
			s.watching.remove(req.Session, id)
		case unsubscribe != nil:
			return unsubscribe(ctx, req)
		}
		return nil
	}
}

func (s *service) subscribed(ctx context.Context, req *mcp.SubscribeRequest, id execution.ID) error {
	if !s.mayAsk() {
		return mcp.ResourceNotFoundError(req.Params.URI)
	}
	err := s.watching.add(ctx, req.Session, id)
	var rejected *execution.RejectedError
	if errors.As(err, &rejected) && rejected.Code == execution.CodeUnavailable {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: rejected.Message}
	}
	if err != nil {
		return s.unreadable(ctx, req.Params.URI, id, err)
	}
	return nil
}
