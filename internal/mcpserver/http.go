package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// MaxMessage bounds one message from a client, in bytes, on every transport.
const MaxMessage = maxLine

// sessionless is the first protocol version without sessions. The SDK serves it by a
// handler of its own: one handler cannot do both.
const sessionless = "2026-07-28"

const (
	// sessionIdle ends a session whose client is silent for so long. A client that
	// comes back later starts a new one; operations do not depend on it.
	sessionIdle = time.Hour
	// maxSessions bounds the sessions of one principal. Many clients go away without
	// a word, so that theirs stay until they are idle for too long.
	maxSessions = 4096
	// sessionsRetry is when a client that was turned away for that may come again.
	sessionsRetry = time.Minute
	// maxReplay bounds what is kept of the answers of one principal's sessions for
	// clients whose connection breaks in the middle of one, in bytes.
	maxReplay = 16 << 20
)

// The header fields of the protocol that are read here.
const (
	versionHeader = "MCP-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
)

// HTTPHandler answers MCP over HTTP in every protocol version: with sessions up to
// 2025-11-25, without from 2026-07-28 on. Who asks stands in the request's context,
// see [execution.WithCaller]; a request without a caller is refused. A session is
// unknown to everybody but the principal that opened it.
//
// Host, Origin and credentials are for whoever hands requests in.
func (s *Server) HTTPHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := execution.CallerOf(r.Context())
		if !ok {
			turnAway(w, http.StatusForbidden, "FORBIDDEN", "it is not known who asks", 0)
			return
		}
		sv, err := s.services.of(s, c)
		if err != nil {
			s.log.LogAttrs(r.Context(), slog.LevelError, "a caller cannot be served", slog.String("error", err.Error()))
			turnAway(w, http.StatusInternalServerError, execution.CodeInternal, internalMessage, 0)
			return
		}
		sv.ServeHTTP(w, r)
	})
}

// StopListening ends the streams on which clients only listen, and lets no new one
// begin: whoever stops a server would wait for them in vain. Calls go on.
func (s *Server) StopListening() { s.services.stopListening() }

// CloseSessions ends all sessions over HTTP and returns when none is left. Calls that
// are still being answered are waited for.
func (s *Server) CloseSessions() { s.services.close() }

// overHTTP are the two handlers of a service.
type overHTTP struct{ stateful, stateless *mcp.StreamableHTTPHandler }

func (s *service) overHTTP() *overHTTP {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	log := slog.New(warningsOnly{s.log.Handler()})
	replay := mcp.NewMemoryEventStore(nil)
	replay.SetMaxBytes(maxReplay)
	return &overHTTP{
		stateful: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			SessionTimeout: sessionIdle, EventStore: replay, MaxRequestBodyBytes: MaxMessage, Logger: log, DisableLocalhostProtection: true,
		}),
		// Without sessions the connection is all that a client has of its call, and
		// breaking it is the way to cancel.
		stateless: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: MaxMessage, Logger: log, DisableLocalhostProtection: true,
		}),
	}
}

// ServeHTTP implements [http.Handler].
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name := r.Header.Get(callHeader); name != "" && r.Method == http.MethodDelete {
		if !s.named.giveUp(name) {
			turnAway(w, http.StatusNotFound, execution.CodeNotFound, "there is no such call", 0)
		}
		return
	}
	stateless := r.Header.Get(versionHeader) >= sessionless
	if listens(r, stateless) {
		ctx, stop := s.services.listening(r.Context())
		defer stop()
		r = r.WithContext(ctx)
	}
	switch {
	case stateless:
		r, done := s.named.begin(r)
		defer done()
		s.over.stateless.ServeHTTP(w, r)
	case r.Method == http.MethodPost && r.Header.Get(sessionHeader) == "" && s.open() >= maxSessions:
		turnAway(w, http.StatusServiceUnavailable, execution.CodeUnavailable, fmt.Sprintf("%d sessions are open, which is as many as one principal may have: end those that are not used with DELETE", maxSessions), sessionsRetry)
	case r.Method == http.MethodDelete:
		defer s.left.leave(r.Header.Get(sessionHeader))()
		s.over.stateful.ServeHTTP(w, r)
	default:
		s.over.stateful.ServeHTTP(w, r)
	}
}

// listens reports whether a request opens a stream without an end. The SDK refuses a
// header that does not say what the message says.
func listens(r *http.Request, stateless bool) bool {
	if stateless {
		return r.Header.Get(methodHeader) == "subscriptions/listen"
	}
	return r.Method == http.MethodGet
}

// open counts the sessions.
func (s *service) open() int {
	n := 0
	for range s.mcp.Sessions() {
		n++
	}
	return n
}

// services are those of the callers that came over HTTP, one for each principal. The
// zero services is ready for use.
type services struct {
	mu      sync.Mutex // guards what follows
	byName  map[execution.Principal]*service
	stopped context.Context //nolint:containedctx // it is the state of this value and goes to nobody
	stop    context.CancelFunc
	ending  sync.WaitGroup // of services that were replaced
}

// of is the service of a caller. One whose rights have changed gets a new one, and
// the sessions of the old one end.
func (l *services) of(s *Server, c execution.Caller) (*service, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.byName[c.Principal]
	if old != nil && old.caller.Equal(c) {
		return old, nil
	}
	sv, err := s.serviceFor(c)
	if err != nil {
		return nil, err
	}
	sv.over = sv.overHTTP()
	if l.byName == nil {
		l.byName = map[execution.Principal]*service{}
	}
	l.byName[c.Principal] = sv
	if old != nil {
		l.ending.Go(old.close)
	}
	return sv, nil
}

// listening is a context that ends with ctx and when no more is listened to.
func (l *services) listening(ctx context.Context) (context.Context, func()) {
	stopped, _ := l.until()
	ctx, cancel := context.WithCancel(ctx)
	release := context.AfterFunc(stopped, cancel)
	return ctx, func() {
		release()
		cancel()
	}
}

func (l *services) until() (context.Context, context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped == nil {
		l.stopped, l.stop = context.WithCancel(context.Background())
	}
	return l.stopped, l.stop
}

func (l *services) stopListening() {
	_, stop := l.until()
	stop()
}

func (l *services) close() {
	l.mu.Lock()
	for _, sv := range l.byName {
		l.ending.Go(sv.close)
	}
	l.byName = nil
	l.mu.Unlock()
	l.ending.Wait()
}

// close ends the sessions.
func (s *service) close() {
	var all sync.WaitGroup
	for session := range s.mcp.Sessions() {
		all.Go(func() { _ = session.Close() }) // of a client that is gone
	}
	all.Wait()
	s.watching.close()
}
