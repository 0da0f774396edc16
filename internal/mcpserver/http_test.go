package mcpserver

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// bearerOf stands in for what finds out who asks: the header names a caller of the
// table.
const bearerOf = "Test-Caller"

// overHTTPServer is a server on a real socket.
func overHTTPServer(t testing.TB, s *Server, callers map[string]execution.Caller) *httptest.Server {
	t.Helper()
	h := s.HTTPHandler()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := callers[r.Header.Get(bearerOf)]; ok {
			r = r.WithContext(execution.WithCaller(r.Context(), c))
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.StopListening()
		srv.CloseClientConnections()
		srv.Close()
		s.CloseSessions()
	})
	return srv
}

func twoCallers() map[string]execution.Caller {
	return map[string]execution.Caller{
		"":  {Principal: "token:a"},
		"b": {Principal: "token:b", Tools: []string{"execute", "list_packages", "run_script"}, Languages: []execution.Language{execution.Python}},
		"c": {Principal: "token:c", Languages: []execution.Language{execution.Bash}},
	}
}

// as adds the caller to every request.
type as string

func (a as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(bearerOf, string(a))
	return http.DefaultTransport.RoundTrip(r)
}

func connectHTTP(t testing.TB, url, caller, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: as(caller)}},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestEveryProtocolVersionIsServedOverHTTP(t *testing.T) {
	for _, v := range mcp.SupportedProtocolVersions() {
		t.Run(v, func(t *testing.T) {
			engine := newEngine(map[string]execution.Result{"print(1)": {Status: execution.StatusOK, Stdout: "1\n"}})
			s, _ := newServer(t, Config{Engine: engine})
			srv := overHTTPServer(t, s, twoCallers())
			session := connectHTTP(t, srv.URL, "", v)
			if got := session.InitializeResult(); v < sessionless && got.ProtocolVersion != v {
				t.Errorf("negotiated %s", got.ProtocolVersion)
			}
			if text := call(t, session, "execute", map[string]any{"code": "print(1)"}).Content[0].(*mcp.TextContent).Text; text != "1\n" {
				t.Errorf("%q", text)
			}
			r := engine.requests[0]
			if r.Principal != "token:a" || r.Client.Name != "test" || r.Client.Version != "1" || (r.Client.Session == "") != (v >= sessionless) {
				t.Errorf("recorded as %+v of %s", r.Client, r.Principal)
			}
		})
	}
}

func TestEachCallerSeesAndCallsOnlyItsTools(t *testing.T) {
	for _, v := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(v, func(t *testing.T) {
			engine := newEngine(map[string]execution.Result{"1": {Status: execution.StatusOK}})
			s, _ := newServer(t, Config{Engine: engine, Languages: []execution.Language{execution.Python, execution.Bash}, Compat: Profiles()})
			srv := overHTTPServer(t, s, twoCallers())
			for caller, want := range map[string][]string{
				"":  {"execute", "get_operation", "cancel_operation", "list_packages", "run_script", "run_python_code", "execute_code"},
				"b": {"execute", "list_packages", "run_script"},
				"c": {"execute", "get_operation", "cancel_operation", "list_packages"},
			} {
				session := connectHTTP(t, srv.URL, caller, v)
				list, err := session.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, tool := range list.Tools {
					names = append(names, tool.Name)
				}
				if !slices.Equal(names, want) {
					t.Errorf("%q sees %v", caller, names)
				}
				if !slices.Contains(want, "get_operation") {
					if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_operation", Arguments: map[string]any{"operation_id": "op_1"}}); err == nil {
						t.Errorf("%q called a tool that it does not see", caller)
					}
				}
			}
			for caller, language := range map[string]string{"b": "bash", "c": "python"} {
				res := call(t, connectHTTP(t, srv.URL, caller, v), "execute", map[string]any{"code": "1", "language": language})
				if a := structured(t, res); a.Status != execution.StatusRejected || a.Error.Field != "language" {
					t.Errorf("%q ran %s: %+v", caller, language, a)
				}
			}
			if len(engine.requests) != 0 {
				t.Errorf("the engine was asked: %+v", engine.requests)
			}
		})
	}
}

func TestOnlyTheLanguagesOfTheCallerAreDescribed(t *testing.T) {
	s, _ := newServer(t, Config{Languages: []execution.Language{execution.Python, execution.Bash}})
	srv := overHTTPServer(t, s, twoCallers())
	for caller, want := range map[string]string{"": "Run Python or bash", "b": "Run Python in", "c": "Run bash in"} {
		session := connectHTTP(t, srv.URL, caller, "2026-07-28")
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || !strings.HasPrefix(list.Tools[0].Description, want) {
			t.Errorf("%q: %q, %v", caller, list.Tools[0].Description, err)
		}
		res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "env://info"})
		if err != nil {
			t.Fatal(err)
		}
		if bash := strings.Contains(res.Contents[0].Text, "bash"); bash != (caller != "b") {
			t.Errorf("%q reads %s", caller, res.Contents[0].Text)
		}
	}
}

// openSession starts a session by hand and returns its id.
func openSession(t *testing.T, url, caller string) string {
	t.Helper()
	res := send(t, http.MethodPost, url, caller, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	defer func() { _ = res.Body.Close() }()
	// The head comes before the answer does.
	if answer, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s %v", res.Status, answer, err)
	}
	if _, err := io.ReadAll(res.Body); err != nil { // the headers come before the answer
		t.Fatal(err)
	}
	// The head of the answer comes before the session is made, its end after that.
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	id := res.Header.Get(sessionHeader)
	notify(t, url, caller, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return id
}

// notify sends a message that is not answered. Whoever hangs up before the server has
// taken it in has not sent it.
func notify(t *testing.T, url, caller, session, message string) {
	t.Helper()
	res := send(t, http.MethodPost, url, caller, session, message)
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusAccepted {
		t.Fatalf("%s %s, %v", res.Status, text, err)
	}
}

func send(t *testing.T, method, url, caller, session, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(bearerOf, caller)
	if session != "" {
		r.Header.Set(sessionHeader, session)
		r.Header.Set(versionHeader, "2025-11-25")
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestASessionIsUnknownToEveryOtherPrincipal(t *testing.T) {
	s, _ := newServer(t, Config{})
	srv := overHTTPServer(t, s, twoCallers())
	id := openSession(t, srv.URL, "")
	for _, c := range []struct{ method, body string }{
		{http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`},
		{http.MethodGet, ""},
		{http.MethodDelete, ""},
	} {
		other, none := send(t, c.method, srv.URL, "b", id, c.body), send(t, c.method, srv.URL, "b", "made-up", c.body)
		theirs, _ := io.ReadAll(other.Body)
		unknown, _ := io.ReadAll(none.Body)
		_, _ = other.Body.Close(), none.Body.Close()
		if other.StatusCode != http.StatusNotFound || none.StatusCode != http.StatusNotFound || string(theirs) != string(unknown) {
			t.Errorf("%s: %s %q, and for a session that is none %s %q", c.method, other.Status, theirs, none.Status, unknown)
		}
	}
	res := send(t, http.MethodPost, srv.URL, "", id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		t.Errorf("its own: %s", res.Status)
	}
}

func TestARequestWithoutACallerIsRefused(t *testing.T) {
	s, _ := newServer(t, Config{})
	srv := overHTTPServer(t, s, twoCallers())
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		res := send(t, method, srv.URL, "nobody", "", "{}")
		_ = res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", method, res.Status)
		}
	}
}

func TestNewRightsEndTheSessionsOfTheOld(t *testing.T) {
	s, _ := newServer(t, Config{})
	callers := twoCallers()
	srv := overHTTPServer(t, s, callers)
	id := openSession(t, srv.URL, "")
	callers[""] = execution.Caller{Principal: "token:a", Tools: []string{"execute"}}
	res := send(t, http.MethodPost, srv.URL, "", id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Error(res.Status)
	}
}

func TestWithoutSessionsBreakingTheConnectionCancels(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine})
	session := connectHTTP(t, overHTTPServer(t, s, twoCallers()).URL, "", "2026-07-28")
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan struct{})
	go func() {
		defer close(called)
		_, _ = session.CallTool(ctx, &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": "forever"}})
	}()
	id := <-engine.submitted
	cancel()
	_, cancelled, _ := engine.find(id)
	<-cancelled
	<-called
}

func TestWithASessionOnlyTheClientsWordCancels(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine})
	srv := overHTTPServer(t, s, twoCallers())
	id := openSession(t, srv.URL, "")
	res := send(t, http.MethodPost, srv.URL, "", id, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute","arguments":{"code":"forever"}}}`)
	op := <-engine.submitted
	_ = res.Body.Close() // the connection breaks
	_, cancelled, _ := engine.find(op)
	select {
	case <-cancelled:
		t.Fatal("a broken connection cancelled")
	default:
	}
	notify(t, srv.URL, "", id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	<-cancelled
}

func TestAClientThatEndsItsSessionEndsTheCallsThatItWaitsFor(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine})
	srv := overHTTPServer(t, s, twoCallers())
	id := openSession(t, srv.URL, "")
	background := send(t, http.MethodPost, srv.URL, "", id, `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"execute","arguments":{"code":"forever","wait_seconds":0}}}`)
	goesOn := <-engine.submitted
	if _, err := io.ReadAll(background.Body); err != nil { // it is answered
		t.Fatal(err)
	}
	_ = background.Body.Close()
	asking := send(t, http.MethodPost, srv.URL, "", id, `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"get_operation","arguments":{"operation_id":"`+string(goesOn)+`","wait_seconds":120}}}`)
	defer func() { _ = asking.Body.Close() }()
	res := send(t, http.MethodPost, srv.URL, "", id, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute","arguments":{"code":"forever","wait_seconds":120}}}`)
	op := <-engine.submitted
	_ = res.Body.Close()
	ended := send(t, http.MethodDelete, srv.URL, "", id, "") // it returns
	_ = ended.Body.Close()
	if ended.StatusCode != http.StatusNoContent {
		t.Error(ended.Status)
	}
	_, cancelled, _ := engine.find(op)
	<-cancelled
	again := connectHTTP(t, srv.URL, "", "2025-11-25")
	got := call(t, again, "get_operation", map[string]any{"operation_id": string(goesOn), "wait_seconds": 0})
	if got.StructuredContent.(map[string]any)["status"] != "running" {
		t.Errorf("what ran in the background: %v", got.StructuredContent)
	}
}

func TestAnAnswerIsReadOnAfterTheConnectionBroke(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine})
	srv := overHTTPServer(t, s, twoCallers())
	id := openSession(t, srv.URL, "")
	res := send(t, http.MethodPost, srv.URL, "", id, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute","arguments":{"code":"forever"}}}`)
	op := <-engine.submitted
	var last string
	for in := bufio.NewScanner(res.Body); last == "" && in.Scan(); {
		if id, ok := strings.CutPrefix(in.Text(), "id: "); ok {
			last = id
		}
	}
	_ = res.Body.Close()
	if _, err := engine.Cancel(t.Context(), "token:a", op); err != nil {
		t.Fatal(err)
	}
	again := readOn(t, srv.URL, id, last)
	// Until the server has seen that the connection broke, the stream is taken.
	for again.StatusCode == http.StatusConflict {
		_ = again.Body.Close()
		again = readOn(t, srv.URL, id, last)
	}
	defer func() { _ = again.Body.Close() }()
	for in := bufio.NewScanner(again.Body); in.Scan(); {
		if strings.Contains(in.Text(), `"cancelled"`) {
			return
		}
	}
	t.Errorf("the answer is lost: %s", again.Status)
}

// readOn asks for what follows the last event that was seen.
func readOn(t *testing.T, url, session, last string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Accept": "text/event-stream", sessionHeader: session, versionHeader: "2025-11-25", "Last-Event-ID": last} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestStoppingToListenEndsStreamsAndNotCalls(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine})
	srv := overHTTPServer(t, s, twoCallers())
	id := openSession(t, srv.URL, "")
	stream := send(t, http.MethodGet, srv.URL, "", id, "")
	defer func() { _ = stream.Body.Close() }()
	res := send(t, http.MethodPost, srv.URL, "", id, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute","arguments":{"code":"forever"}}}`)
	defer func() { _ = res.Body.Close() }()
	op := <-engine.submitted
	s.StopListening()
	if _, err := io.ReadAll(stream.Body); err != nil { // its end
		t.Error(err)
	}
	if _, err := engine.Cancel(t.Context(), "token:a", op); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(answer), `"cancelled"`) {
		t.Errorf("the call was cut: %q %v", answer, err)
	}
}

func TestUnknownVersionsAreAnsweredWithTheListOfOurs(t *testing.T) {
	s, _ := newServer(t, Config{})
	srv := overHTTPServer(t, s, twoCallers())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", versionHeader: "2031-01-01", methodHeader: "tools/list"} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "2026-07-28") || !strings.Contains(string(body), "2024-11-05") {
		t.Errorf("%s %s", res.Status, body)
	}
}

func TestWhoOpensTooManySessionsIsToldSoInTheProtocolAndWhenToComeAgain(t *testing.T) {
	s, _ := newServer(t, Config{Engine: newEngine(nil)})
	t.Cleanup(s.CloseSessions)
	h := s.HTTPHandler()
	hello := func() *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(execution.WithCaller(t.Context(), twoCallers()[""]), http.MethodPost, "/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for i := range maxSessions {
		if w := hello(); w.Code != http.StatusOK {
			t.Fatalf("session %d: %d %s", i, w.Code, w.Body)
		}
	}
	w := hello()
	want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"4096 sessions are open, which is as many as one principal may have: end those that are not used with DELETE","data":{"code":"UNAVAILABLE","retry_after_seconds":60}}}` + "\n"
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != want || w.Header().Get("Retry-After") != "60" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}
