package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/socket"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// The paths that are answered.
const (
	pathMCP     = "/mcp"
	pathHealth  = "/healthz"
	pathReady   = "/readyz"
	pathMetrics = "/metrics"
	pathAPI     = "/api/v1/"
)

// DefaultGrace is how long calls may go on when the server stops.
const DefaultGrace = 20 * time.Second

// cutTime is how long the answers of runs that were ended may take.
const cutTime = 5 * time.Second

// maxSmallBody bounds a body that is no message of the protocol, in bytes.
const maxSmallBody = 64 << 10

// MCP answers the protocol of agents. The caller of each request is in its context,
// see [execution.CallerOf].
type MCP interface {
	HTTPHandler() http.Handler
	// StopListening ends the streams on which clients only listen.
	StopListening()
	// CloseSessions returns when nothing of a client is left.
	CloseSessions()
}

// Config is what a Server needs. All but what is said to be optional is required.
type Config struct {
	MCP        MCP
	MaxMessage int64 // the longest message of the protocol, in bytes
	Operations Operations
	Lister     Lister
	Ready      Ready
	Tokens     Tokens
	// Approvals are what humans are asked; nil for an API that does not have it.
	Approvals Approvals
	Logger    *slog.Logger
	// Metrics answers at /metrics; nil for nothing there.
	Metrics http.Handler
	// Observe wraps the handler of all requests, refused ones too; nil for nothing.
	Observe func(http.Handler) http.Handler
	// Logins is told who comes; nil for nobody.
	Logins Logins
	// Hosts are names by which clients may call the server, beside localhost and the
	// addresses that it listens on.
	Hosts []string
	// Origins are those of pages that may use the server, beside its own.
	Origins []string
	// Grace is how long calls may go on when the server stops; 0 means [DefaultGrace].
	Grace time.Duration
	// Cut ends what still runs when that time is over, so that its calls are answered;
	// nil for nothing.
	Cut func()
	// Now is the time; nil for the system's.
	Now func() time.Time
}

func (c Config) check() error {
	if c.MCP == nil || c.Operations == nil || c.Lister == nil || c.Ready == nil || c.Tokens == nil || c.Logger == nil || c.MaxMessage <= 0 {
		return errors.New("web: a part is missing")
	}
	if c.Grace < 0 {
		return fmt.Errorf("a time of %v for calls to end: use 0 or more", c.Grace)
	}
	return nil
}

// Server answers on any number of listeners. Serve ends it; one that is never served
// is ended by Close.
type Server struct {
	c         Config
	gate      gate
	bearer    *bearer
	probe     *probe
	feed      *feed // nil without approvals
	pace      pace
	http      *http.Server
	listeners []*listener
}

// New makes a Server without listeners. The error names what is wrong with the
// configuration.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Cut == nil {
		c.Cut = func() {}
	}
	g, err := newGate(c.Hosts, c.Origins)
	if err != nil {
		return nil, err
	}
	s := &Server{c: c, gate: g, pace: defaultPace(), probe: newProbe(c.Ready, c.Logger, c.Now)}
	s.bearer = &bearer{tokens: c.Tokens, logins: newLogins(c.Logins, c.Logger, c.Now), log: c.Logger, now: c.Now, recheck: recheck}
	if c.Approvals != nil {
		s.feed = newFeed(c.Approvals, c.Logger, c.Now)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	description, err := describer()
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler: s.handler(description), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		Protocols: &protocols, ConnContext: s.arrived,
		// What goes wrong with single connections is the clients' doing, and not for
		// them to fill a log with.
		ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// arrival is what was found out about a connection when it was made.
type arrival struct {
	unix bool
	// refused says why the other end may not ask; nil if it may.
	refused error
}

type arrivalKey struct{}

func arrivalOf(r *http.Request) arrival {
	a, ok := r.Context().Value(arrivalKey{}).(arrival)
	if !ok {
		return arrival{refused: errors.New("it is not known how this request came here")}
	}
	return a
}

func (s *Server) arrived(ctx context.Context, c net.Conn) context.Context {
	var a arrival
	if _, a.unix = c.(*net.UnixConn); a.unix {
		if a.refused = socket.CheckPeer(c); a.refused != nil {
			s.c.Logger.Warn("a process that may not use the socket was refused", "reason", a.refused)
		}
	}
	return context.WithValue(ctx, arrivalKey{}, a)
}

// handler is what every request passes, outermost first.
func (s *Server) handler(description http.Handler) http.Handler {
	mux := s.routes(description)
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, r, finish := s.pace.keep(w, r)
		defer finish()
		defer s.recovered(out, r)
		harden(out.Header())
		if a := arrivalOf(r); a.refused != nil {
			refuse(out, r, http.StatusForbidden, codeForbidden, a.refused.Error())
			return
		}
		switch err := s.gate.check(r); {
		case errors.Is(err, errInQuery):
			s.bearer.logins.refused(r, err)
			refuse(out, r, http.StatusBadRequest, execution.CodeInvalidArgument, err.Error())
		case err != nil:
			s.bearer.logins.refused(r, err)
			refuse(out, r, http.StatusForbidden, codeForbidden, err.Error())
		case s.gate.cors(out, r):
		default:
			mux.ServeHTTP(out, r)
		}
	})
	if s.c.Observe != nil {
		h = s.c.Observe(h)
	}
	return h
}

// harden keeps browsers from doing more with an answer than showing it.
func harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// recovered makes an answer of a panic.
func (s *Server) recovered(w *steady, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(p)
	}
	s.c.Logger.Error("panic while answering a request", "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if w.wrote {
		panic(http.ErrAbortHandler) // the client sees that the answer is not whole
	}
	fail(w, http.StatusInternalServerError, execution.CodeInternal, "Gearbox failed to do this; its log has the reason.")
}

func (s *Server) routes(description http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathHealth, alive)
	mux.Handle("GET "+pathReady, s.probe)
	inside := http.NewServeMux()
	inside.HandleFunc("/", nothing)
	(&api{s.c.Operations, s.c.Lister, s.c.Logger}).routes(inside)
	if s.c.Metrics != nil {
		inside.Handle("GET "+pathMetrics, s.c.Metrics)
		mux.Handle(pathMetrics, s.bearer.require(inside, token.Agent, token.Operator))
	}
	if s.c.Approvals != nil {
		decisions := http.NewServeMux()
		decisions.HandleFunc("/", nothing)
		(&approvals{asked: s.c.Approvals, feed: s.feed, log: s.c.Logger, now: s.c.Now, beat: heartbeat}).routes(decisions)
		h := s.bearer.require(bounded(maxDecision, decisions), token.Operator) // one that is too long is on record like any other that is none
		mux.Handle(pathApprovals, h)
		mux.Handle(pathApprovals+"/", h)
	}
	mux.Handle("GET "+pathDescription, s.bearer.require(description, token.Agent, token.Operator))
	mux.Handle(pathAPI, s.bearer.require(limit(maxSmallBody, inside), token.Agent))
	mux.Handle(pathMCP, s.bearer.require(limit(s.c.MaxMessage, s.c.MCP.HTTPHandler()), token.Agent))
	mux.HandleFunc("/", nothing)
	return mux
}

// nothing answers where nothing is, and methods that are of no use there.
func nothing(w http.ResponseWriter, _ *http.Request) {
	fail(w, http.StatusNotFound, execution.CodeNotFound, "there is nothing here; agents connect to "+pathMCP)
}

// limit bounds the body. One that says that it is longer is refused unread.
func limit(most int64, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > most {
			refuse(w, r, http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("the body is longer than the %d bytes that are taken", most))
			return
		}
		bounded(most, h).ServeHTTP(w, r)
	})
}

// bounded has h read no more of the body.
func bounded(most int64, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := w
		if s, ok := w.(*steady); ok {
			own = s.ResponseWriter // by which net/http is told to read no further
		}
		r.Body = http.MaxBytesReader(own, r.Body, most)
		h.ServeHTTP(w, r)
	})
}

// Serve answers until ctx ends or a listener breaks. It stops gracefully: no new
// request is taken, calls in flight may end for as long as Config.Grace says, then
// what runs is cut, its calls are answered, and the rest is closed.
func (s *Server) Serve(ctx context.Context) error {
	broken := make(chan error, len(s.listeners))
	var serving sync.WaitGroup
	for _, l := range s.listeners {
		serving.Go(func() {
			if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				broken <- fmt.Errorf("listen on %s: %w", l.name, err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-broken:
	}
	s.shutDown() //nolint:contextcheck // ctx has ended, that is why
	serving.Wait()
	return errors.Join(err, s.Close())
}

func (s *Server) shutDown() {
	s.c.MCP.StopListening()
	if s.feed != nil {
		s.feed.close()
	}
	grace, cancel := context.WithTimeout(context.Background(), s.c.Grace)
	defer cancel()
	if s.http.Shutdown(grace) == nil {
		return
	}
	s.c.Logger.Warn("calls that did not end in time are cut", "grace", s.c.Grace.String())
	s.c.Cut()
	grace, cancel = context.WithTimeout(context.Background(), cutTime)
	defer cancel()
	_ = s.http.Shutdown(grace) // what is left is closed without an answer
}

// Close ends what is left of a server that does not serve, or no longer does.
func (s *Server) Close() error {
	errs := []error{s.http.Close()}
	for _, l := range s.listeners {
		_ = l.Close() // closed already where it was served
		errs = append(errs, l.remove())
	}
	s.listeners = nil
	if s.feed != nil {
		s.feed.close()
	}
	s.probe.close()
	s.bearer.noted.Wait()
	return errors.Join(errs...)
}
