package mcpserver

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// pipes is a listener without a network, for tests on a clock of their own.
type pipes struct {
	arriving chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newPipes() *pipes { return &pipes{arriving: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.arriving:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.arriving <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// heard is what a client was told while it waited, by the token of its call.
type heard struct {
	mu      sync.Mutex // guards what follows
	told    map[any][]time.Duration
	unnamed []string // messages that do not name the operation
}

func (h *heard) options(start time.Time) *mcp.ClientOptions {
	h.told = map[any][]time.Duration{}
	return &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if id, _ := r.Params.Meta[OperationKey].(string); !strings.HasPrefix(id, "op_") || !strings.HasSuffix(r.Params.Message, id) {
			h.unnamed = append(h.unnamed, r.Params.Message)
		}
		h.told[r.Params.ProgressToken] = append(h.told[r.Params.ProgressToken], time.Since(start))
	}}
}

// doorway connects clients of callers with one server, and takes both apart.
type doorway func(t *testing.T, s *Server, version string) (connect func(caller string, o *mcp.ClientOptions) *mcp.ClientSession, end func())

func overStdio(t *testing.T, s *Server, version string) (func(string, *mcp.ClientOptions) *mcp.ClientSession, func()) {
	return func(_ string, o *mcp.ClientOptions) *mcp.ClientSession { return connect(t, s, version, o) }, func() {}
}

func overPipes(t *testing.T, s *Server, version string) (func(string, *mcp.ClientOptions) *mcp.ClientSession, func()) {
	l := newPipes()
	h := s.HTTPHandler()
	callers := twoCallers()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // without a network there is no slow client
		h.ServeHTTP(w, r.WithContext(execution.WithCaller(r.Context(), callers[r.Header.Get(bearerOf)])))
	})}
	go func() { _ = srv.Serve(l) }()
	tr := &http.Transport{DialContext: l.dial}
	var sessions []*mcp.ClientSession
	begin := func(caller string, o *mcp.ClientOptions) *mcp.ClientSession {
		client := &http.Client{Transport: asOver{caller, tr}}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: "http://pipe", HTTPClient: client}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, session)
		return session
	}
	return begin, func() {
		s.StopListening()
		for _, session := range sessions {
			_ = session.Close()
		}
		tr.CloseIdleConnections()
		_ = srv.Close()
		s.CloseSessions()
	}
}

// asOver is [as] on a transport of its own.
type asOver struct {
	caller string
	over   http.RoundTripper
}

func (a asOver) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(bearerOf, a.caller)
	return a.over.RoundTrip(r)
}

// TestALongCallIsToldOfOnlyWhereItsClientAsked: clients give up after 30 or 60 quiet
// seconds, and some break on a notification that they did not ask for. Two callers use
// the same token, as counting clients do.
func TestALongCallIsToldOfOnlyWhereItsClientAsked(t *testing.T) {
	const long, quiet = 300 * time.Second, 20 * time.Second
	for name, door := range map[string]doorway{"stdio": overStdio, "HTTP": overPipes} {
		for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(name+" "+version, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, _ := newServer(t, Config{})
					connect, end := door(t, s, version)
					defer end()
					var asks, silent, other heard
					start := time.Now()
					wait := func(session *mcp.ClientSession, token any, d time.Duration) {
						p := &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": "forever", "wait_seconds": d.Seconds()}}
						if token != nil {
							p.SetProgressToken(token)
						}
						res, err := session.CallTool(t.Context(), p)
						if err != nil || structured(t, res).Status != execution.StatusRunning || time.Since(start) != d {
							t.Errorf("%v after %v: %v", res, time.Since(start), err)
						}
					}
					first, second, third := connect("", asks.options(start)), connect("", silent.options(start)), connect("b", other.options(start))
					var calls sync.WaitGroup
					calls.Go(func() { wait(first, "token", long) })
					calls.Go(func() { wait(second, nil, long) })
					calls.Go(func() { wait(third, "token", 45*time.Second) })
					calls.Wait()
					synctest.Wait()

					at := time.Duration(0)
					for _, told := range append(slices.Clone(asks.told["token"]), long) {
						if told-at > quiet {
							t.Errorf("nothing was told from %v to %v", at, told)
						}
						at = told
					}
					if len(asks.told) != 1 || len(silent.told) != 0 || len(other.told) != 1 || len(other.told["token"]) != 5 {
						t.Errorf("told %v, without a token %v, another caller %v", asks.told, silent.told, other.told)
					}
					if unnamed := append(asks.unnamed, other.unnamed...); unnamed != nil {
						t.Errorf("told without the operation's id: %q", unnamed)
					}
					// Who cannot wait so long asks again later.
					got := call(t, second, "execute", map[string]any{"code": "forever", "wait_seconds": 0})
					later := call(t, second, "get_operation", map[string]any{"operation_id": structured(t, got).OperationID, "wait_seconds": 0})
					if structured(t, got).Status != execution.StatusRunning || structured(t, later).Status != execution.StatusRunning {
						t.Errorf("%v, %v", got, later)
					}
				})
			})
		}
	}
}
