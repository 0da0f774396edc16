package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// at is a server by an address.
func at(url string) Spec { return Spec{Name: "web", Transport: HTTP, URL: url} }

// serve runs a handler on the loopback.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func stateful() http.Handler {
	s := tools()
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

func stateless(o mcp.StreamableHTTPOptions) http.Handler {
	s := tools()
	o.Stateless = true
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &o)
}

func TestBothErasAndBothTransportsOfHTTPAreSpoken(t *testing.T) {
	t.Parallel()
	s := tools()
	for name, c := range map[string]struct {
		handler   http.Handler
		transport Transport
		protocol  string
	}{
		"with sessions":         {stateful(), HTTP, sessionful},
		"without sessions":      {stateless(mcp.StreamableHTTPOptions{}), HTTP, "2026-07-28"},
		"without, JSON answers": {stateless(mcp.StreamableHTTPOptions{JSONResponse: true}), Auto, "2026-07-28"},
		"SSE":                   {mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil), SSE, sessionful},
		"SSE, found out":        {mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil), Auto, sessionful},
	} {
		t.Run(name, func(t *testing.T) {
			w := at(serve(t, c.handler).URL)
			w.Transport = c.transport
			f := fleetOf(t, Options{}, w)
			for range 2 {
				r, err := f.Call(bounded(t), "web", "echo", []byte(`{"text":"hello"}`))
				if err != nil || r.Blocks[0].Text != "hello" {
					t.Fatalf("%+v, %v", r, err)
				}
			}
			if r, err := f.Call(bounded(t), "web", "large", []byte(`{"bytes":1000000}`)); err != nil || len(r.Blocks[0].Text) != 1_000_000 {
				t.Error(err)
			}
			if r, err := f.Read(bounded(t), "web", "test://note"); err != nil || r.Blocks[0].Text != "a note" {
				t.Errorf("%+v, %v", r, err)
			}
			if s := status(t, f); s.State != Ready || s.Protocol != c.protocol || s.Tools != 5 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestHeadersGoToTheServerAndToNoOther(t *testing.T) {
	t.Parallel()
	var seen, elsewhere atomic.Int64
	other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	inner := stateful()
	moved := atomic.Bool{}
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") == "Bearer t0p-secret-key" && q.Header.Get("X-Team") == "blue" {
			seen.Add(1)
		}
		if moved.Load() {
			http.Redirect(w, q, other.URL, http.StatusTemporaryRedirect)
			return
		}
		inner.ServeHTTP(w, q)
	}))
	w := at(s.URL)
	w.Headers = map[string]string{"Authorization": "Bearer t0p-secret-key", "X-Team": "blue"}
	f := fleetOf(t, Options{}, w)
	if _, err := f.Call(bounded(t), "web", "echo", []byte(`{"text":"x"}`)); err != nil || seen.Load() == 0 {
		t.Fatal(err)
	}
	moved.Store(true)
	_, err := f.Call(bounded(t), "web", "echo", []byte(`{"text":"x"}`))
	if err == nil || !strings.Contains(err.Error(), "elsewhere") || elsewhere.Load() > 0 {
		t.Errorf("%v, %d", err, elsewhere.Load())
	}
}

func TestARedirectOnTheSameHostIsFollowed(t *testing.T) {
	t.Parallel()
	inner := stateful()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/mcp" {
			http.Redirect(w, q, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		inner.ServeHTTP(w, q)
	}))
	f := fleetOf(t, Options{}, at(s.URL+"/mcp"))
	if _, err := f.Call(bounded(t), "web", "echo", []byte(`{"text":"x"}`)); err != nil {
		t.Error(err)
	}
}

func TestARefusalByHTTPSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusUnauthorized: "gearbox upstream login web",
		http.StatusForbidden:    "may lack a right",
		http.StatusNotFound:     "no MCP server at the address",
		http.StatusBadGateway:   "502",
	} {
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "go away, Bearer t0p-secret-key", status)
		}))
		w := at(s.URL)
		w.Headers = map[string]string{"Authorization": "Bearer t0p-secret-key"}
		f := fleetOf(t, Options{}, w)
		_, err := f.Server(bounded(t), "web")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "t0p-secret") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestAServerThatIsNotThereFailsAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(stateful())
	url := s.URL
	s.Close()
	clock := newClock()
	f := fleetOf(t, Options{Clock: clock}, at(url))
	_, err := f.Server(bounded(t), "web")
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	first := status(t, f)
	if first.State != Failed || !first.Next.After(first.Since) {
		t.Errorf("%+v", first)
	}
	clock.advance(time.Minute)
	eventually(t, func() bool { return status(t, f).Since.After(first.Since) })
}

func TestASessionThatTheServerHasForgottenIsMadeAnew(t *testing.T) {
	t.Parallel()
	var inner atomic.Pointer[http.Handler]
	renew := func() {
		h := stateful()
		inner.Store(&h)
	}
	renew()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { (*inner.Load()).ServeHTTP(w, q) }))
	f := fleetOf(t, Options{}, at(s.URL))
	for range 2 {
		if _, err := f.Call(bounded(t), "web", "echo", []byte(`{"text":"x"}`)); err != nil {
			t.Fatal(err)
		}
		renew()
	}
	if n := status(t, f).Restarts; n != 1 {
		t.Errorf("%d restarts", n)
	}
}

// hand answers the methods of the protocol by hand, with the older protocol.
func hand(call http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m request
		body, err := io.ReadAll(q.Body)
		if err != nil || json.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer := `{"tools":[{"name":"one","inputSchema":{"type":"object"}}]}`
		switch m.Method {
		case "server/discover":
			w.WriteHeader(http.StatusNotFound)
			return
		case "initialize":
			answer = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"hand","version":"0"}}`
		case "tools/call":
			call(w, q.WithContext(context.WithValue(q.Context(), idKey{}, m.ID)))
			return
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)
	})
}

type idKey struct{}

func TestSlowBytesEndAtTheTimeoutAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream"} {
		var calls atomic.Int64
		s := serve(t, hand(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", kind)
			id, _ := q.Context().Value(idKey{}).(json.RawMessage)
			text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`, id)
			if kind == "text/event-stream" {
				text = "data: " + text + "\n\n"
			}
			if calls.Add(1) == 1 {
				_, _ = io.WriteString(w, text[:20])
				w.(http.Flusher).Flush()
				<-q.Context().Done()
				return
			}
			_, _ = io.WriteString(w, text)
		}))
		w := at(s.URL)
		w.Timeout = 200 * time.Millisecond
		f := fleetOf(t, Options{}, w)
		_, err := f.Call(bounded(t), "web", "one", nil)
		var late *TimeoutError
		if !errors.As(err, &late) {
			t.Fatalf("%s: %v", kind, err)
		}
		if r, err := f.Call(bounded(t), "web", "one", nil); err != nil || r.Blocks[0].Text != "ok" {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
		if n := status(t, f).Restarts; n != 0 {
			t.Errorf("%s: %d restarts", kind, n)
		}
	}
}

func TestAnAnswerWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream", "text/html"} {
		s := serve(t, hand(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			for {
				if _, err := io.WriteString(w, strings.Repeat("data: x", 1000)); err != nil {
					return
				}
			}
		}))
		w := at(s.URL)
		f := fleetOf(t, Options{MaxMessage: 1 << 20}, w)
		if _, err := f.Call(bounded(t), "web", "one", nil); err == nil || !strings.Contains(err.Error(), "longer than is accepted") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestAnAnswerThatIsTooLongFailsItsCallAndNoOther(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*mcp.StreamableHTTPOptions{"a stream": nil, "JSON": {JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, begun, end := tools(), make(chan struct{}), make(chan struct{})
			mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				close(begun)
				select {
				case <-end:
				case <-ctx.Done():
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "waited"}}}, nil, nil
			})
			f := fleetOf(t, Options{MaxMessage: 1 << 20}, at(serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, o)).URL))
			waited := make(chan error, 1)
			go func() {
				r, err := f.Call(bounded(t), "web", "wait", nil)
				if err == nil && (len(r.Blocks) != 1 || r.Blocks[0].Text != "waited") {
					err = fmt.Errorf("%+v", r)
				}
				waited <- err
			}()
			<-begun
			if _, err := f.Call(bounded(t), "web", "large", []byte(`{"bytes":2000000}`)); err == nil || !strings.Contains(err.Error(), "longer than is accepted") {
				t.Errorf("%v", err)
			}
			close(end)
			if err := <-waited; err != nil {
				t.Errorf("the other call: %v", err)
			}
			if s := status(t, f); s.Restarts != 0 {
				t.Errorf("the session ended: %+v", s)
			}
		})
	}
}

func TestAStreamThatNobodyOpensDoesNotHoldTheStart(t *testing.T) {
	t.Parallel()
	inner := stateful()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			<-q.Context().Done()
			return
		}
		inner.ServeHTTP(w, q)
	}))
	f := fleetOf(t, Options{}, at(s.URL))
	if _, err := f.Call(bounded(t), "web", "echo", []byte(`{"text":"x"}`)); err != nil {
		t.Error(err)
	}
}

func TestAQuestionInTheMiddleOfACallGoesToAPersonOrIsDeclined(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "asks", Version: "0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "delete"}, func(_ context.Context, q *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		answer, ok := q.Params.InputResponses["sure"].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{Message: "Sure?"}}, RequestState: "s"}, nil, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action}}}, nil, nil
	})
	for _, h := range []http.Handler{
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil),
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}),
	} {
		w := at(serve(t, h).URL)
		f := fleetOf(t, Options{Elicit: func(_ context.Context, q Question) (Reply, error) {
			if q.Server != "web" || q.Message != "Sure?" {
				t.Errorf("%+v", q)
			}
			return Reply{Action: "accept"}, nil
		}}, w)
		if r, err := f.Call(bounded(t), "web", "delete", nil); err != nil || r.Blocks[0].Text != "accept" {
			t.Errorf("%+v, %v", r, err)
		}
		nobody := fleetOf(t, Options{}, w)
		if r, err := nobody.Call(bounded(t), "web", "delete", nil); err == nil && !r.IsError {
			t.Errorf("%+v", r)
		}
	}
}
