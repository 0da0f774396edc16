package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// agents stands in for the protocol: it tells who asked, and does what the body says.
type agents struct {
	started chan struct{} // gets one for each "hold"
	release chan struct{} // lets one "hold" end
	stopped chan struct{} // closed by StopListening
	once    sync.Once
}

func newAgents() *agents {
	return &agents{started: make(chan struct{}, 10), release: make(chan struct{}), stopped: make(chan struct{})}
}

func (a *agents) HTTPHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
			http.Error(w, "too long", http.StatusRequestEntityTooLarge)
			return
		}
		c, _ := execution.CallerOf(r.Context())
		switch word := string(body); {
		case r.Header.Get("Listen") != "":
			_ = http.NewResponseController(w).Flush()
			a.started <- struct{}{}
			select {
			case <-r.Context().Done():
			case <-a.stopped:
			}
		case word == "panic":
			panic("on purpose")
		case word == "hold":
			_, _ = io.WriteString(w, "so far ")
			_ = http.NewResponseController(w).Flush()
			a.started <- struct{}{}
			<-a.release
			_, _ = io.WriteString(w, "to the end")
		case word == "flood":
			for block := make([]byte, 1<<20); err == nil; {
				_, err = w.Write(block)
			}
			a.started <- struct{}{}
		default:
			_, _ = fmt.Fprintf(w, "%s %s", c.Principal, r.Method)
		}
	})
}

func (a *agents) StopListening() { a.once.Do(func() { close(a.stopped) }) }
func (a *agents) CloseSessions() {}

// operations are two of token:a and one of token:b.
type operations struct{}

func (operations) own(p execution.Principal) []execution.Record {
	var all []execution.Record
	for i, who := range []execution.Principal{"token:a", "token:b", "token:a"} {
		all = append(all, execution.Record{
			ID: execution.ID(fmt.Sprintf("op_%d", i+1)), Request: execution.Request{Principal: who, Language: execution.Python, Code: "secret"}, Gear: "restricted",
			State: execution.StateFinished, Created: time.Unix(int64(i), 0).UTC(), Result: execution.Result{Status: execution.StatusOK},
		})
	}
	return slices.DeleteFunc(all, func(r execution.Record) bool { return r.Request.Principal != p })
}

func (o operations) Wait(_ context.Context, p execution.Principal, id execution.ID, _ time.Duration) (execution.Result, error) {
	if id == "op_broken" {
		return execution.Result{}, errors.New("open /home/operator/secret: permission denied")
	}
	for _, r := range o.own(p) {
		if r.ID == id {
			return execution.Result{Status: execution.StatusOK, OperationID: id, Stdout: "1\n"}, nil
		}
	}
	return execution.Result{}, &execution.RejectedError{Code: execution.CodeNotFound, Field: "operation_id", Message: fmt.Sprintf("there is no operation %q", string(id))}
}

func (o operations) Cancel(ctx context.Context, p execution.Principal, id execution.ID) (execution.Result, error) {
	return o.Wait(ctx, p, id, 0)
}

func (o operations) List(_ context.Context, p execution.Principal, before execution.ID, limit int) ([]execution.Record, error) {
	own := o.own(p)
	slices.Reverse(own)
	if i := slices.IndexFunc(own, func(r execution.Record) bool { return r.ID == before }); i >= 0 {
		own = own[i+1:]
	}
	return own[:min(limit, len(own))], nil
}

type readyFunc func(context.Context) error

func (f readyFunc) Ready(ctx context.Context) error { return f(ctx) }

// logBook is a record to look into.
type logBook struct {
	mu     sync.Mutex
	logins []Login
	lines  bytes.Buffer
	broken error
}

func (b *logBook) Login(_ context.Context, l Login) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken == nil {
		b.logins = append(b.logins, l)
	}
	return b.broken
}

func (b *logBook) take() []Login {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.logins
	b.logins = nil
	return out
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines.String()
}

// site is a server under test.
type site struct {
	*Server

	t      testing.TB
	agents *agents
	tokens *token.Register
	book   *logBook
	url    string // of the TCP listener
	end    context.CancelFunc
	served chan error
}

// start serves on loopback, after change has had its way.
func start(t testing.TB, c Config, change func(*Server)) *site {
	t.Helper()
	s := prepare(t, c)
	if change != nil {
		change(s.Server)
	}
	if err := s.ListenTCP(t.Context(), "127.0.0.1:0", "", ""); err != nil {
		t.Fatal(err)
	}
	s.run()
	return s
}

// prepare makes a server without listeners.
func prepare(t testing.TB, c Config) *site {
	t.Helper()
	s := &site{t: t, agents: newAgents(), book: &logBook{}, tokens: token.NewRegister(token.OpenFile(t.TempDir()), time.Now)}
	c.MCP, c.MaxMessage, c.Operations, c.Lister, c.Tokens, c.Logins = s.agents, 1<<20, operations{}, operations{}, s.tokens, s.book
	c.Logger = slog.New(slog.NewJSONHandler(s.book, nil))
	c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics\n") })
	if c.Ready == nil {
		c.Ready = readyFunc(func(context.Context) error { return nil })
	}
	var err error
	if s.Server, err = New(c); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) run() {
	s.url = s.Addresses()[0]
	var ctx context.Context
	ctx, s.end = context.WithCancel(context.Background())
	s.served = make(chan error, 1)
	go func() { s.served <- s.Serve(ctx) }()
	s.t.Cleanup(func() {
		s.end()
		close(s.agents.release)
		if err := <-s.served; err != nil {
			s.t.Errorf("Serve: %v", err)
		}
	})
}

// create makes a token.
func (s *site) create(name string, r token.Rights) string {
	s.t.Helper()
	secret, _, err := s.tokens.Create(name, r, time.Time{})
	if err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// client follows nothing and keeps nothing between tests.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// overUnix connects with a socket whatever the URL says.
func overUnix(t testing.TB, path string) *http.Client {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// answer is what came back.
type answer struct {
	status int
	body   string
	header http.Header
}

// ask sends a request; header holds names and values in turn.
func (s *site) ask(method, path, body string, header ...string) answer {
	s.t.Helper()
	return s.askBy(client(s.t), method, s.url+path, body, header...)
}

func (s *site) askBy(c *http.Client, method, url, body string, header ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Add(header[i], header[i+1])
	}
	res, err := c.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	got := answer{res.StatusCode, string(text), res.Header}
	holdAgainst(s.t, method, r.URL.RequestURI(), got)
	return got
}
