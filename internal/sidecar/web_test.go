//go:build linux

package sidecar_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// served is a whole server over HTTP.
type served struct {
	*sidecar.Sidecar

	t    testing.TB
	o    sidecar.Options
	url  string
	unix string
	stop context.CancelFunc
	done chan error
}

// serveHTTP serves on loopback and on a socket. Tokens are made before that by prepare.
func serveHTTP(t testing.TB, o sidecar.Options) *served {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = ownDataDir(t)
	}
	o.Web.HTTP, o.Web.Unix = "127.0.0.1:0", filepath.Join(t.TempDir(), "s.sock")
	s := &served{Sidecar: open(t, o), t: t, o: o, unix: o.Web.Unix, done: make(chan error, 1)}
	run(t, s.Sidecar, execution.Request{Code: "1"}) // skips where there is no sandbox
	server, err := s.ListenWeb(t.Context(), o.Web, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		t.Fatal(err)
	}
	s.url = server.Addresses()[0]
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	go func() { s.done <- s.ServeWeb(ctx, server) }()
	t.Cleanup(func() {
		s.stop()
		if err := <-s.done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *served) create(name string, r token.Rights) string {
	s.t.Helper()
	secret, _, err := sidecar.CreateToken(s.t.Context(), s.o, execution.Client{}, s.name(name), r, time.Time{})
	if err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// name is the name of a token in this test: each is used once in a directory.
func (s *served) name(name string) string {
	return strings.ToLower(s.t.Name())[:min(len(s.t.Name()), 40)] + "." + name
}

// webDir is the data directory of the tests of this file: the one that other tests
// share has no tokens, which change what is offered. [TestMain] removes it.
var webDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "gearbox-web") })

func ownDataDir(t testing.TB) string {
	t.Helper()
	dir, err := webDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (s *served) connect(secret, version string) *mcp.ClientSession {
	s.t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(s.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(secret)}},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}

func callTool(t *testing.T, session *mcp.ClientSession, name string, arguments map[string]any) map[string]any {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return res.StructuredContent.(map[string]any)
}

var eras = []string{"2025-11-25", "2026-07-28"}

func (s *served) get(path, secret string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := bearer(secret).RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func TestTheCeilingOfATokenBoundsServerAndCall(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{Allow: []string{"import(ctypes)"}})
	bounded, free := s.create("bounded", token.Rights{Gear: "restricted"}), s.create("free", token.Rights{})
	const code = "import subprocess"
	for _, era := range eras {
		alice, bob := s.connect(bounded, era), s.connect(free, era)
		if got := callTool(t, bob, "execute", map[string]any{"code": code}); got["status"] != "ok" {
			t.Errorf("%s, without a ceiling: %v", era, got)
		}
		for _, more := range []map[string]any{{}, {"gear": "user_confirmed"}, {"gear": "restricted"}} {
			more["code"] = code
			got := callTool(t, alice, "execute", more)
			if got["status"] != "denied" || !strings.Contains(got["gear"].(string), "restricted") {
				t.Errorf("%s, %v: %v", era, more, got)
			}
		}
		// What the operator allows to all does not reach past it.
		if got := callTool(t, alice, "execute", map[string]any{"code": "import ctypes"}); got["status"] != "denied" {
			t.Errorf("%s: %v", era, got)
		}
		// The limits are the smaller ones, and the call's gear may still narrow.
		if got := callTool(t, alice, "execute", map[string]any{"code": "1", "timeout_seconds": 61}); got["status"] != "rejected" {
			t.Errorf("%s: %v", era, got)
		}
		if got := callTool(t, alice, "execute", map[string]any{"code": "1", "gear": "read_only"}); got["status"] != "denied" {
			t.Errorf("%s: %v", era, got)
		}
		if got := callTool(t, alice, "execute", map[string]any{"code": "1"}); got["status"] != "ok" {
			t.Errorf("%s: %v", era, got)
		}
		info, err := alice.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "env://info"})
		if err != nil || !strings.Contains(info.Contents[0].Text, "Safety Gear: user_confirmed+restricted") {
			t.Errorf("%s: %v %v", era, info, err)
		}
	}
}

func TestATokenThatIsRevokedWhileAServerRunsIsRefusedAtOnce(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{})
	secret := s.create("a", token.Rights{})
	register, err := sidecar.Tokens(s.o) // as the command line opens it
	if err != nil {
		t.Fatal(err)
	}
	sessions := []*mcp.ClientSession{s.connect(secret, eras[0]), s.connect(secret, eras[1])}
	for _, session := range sessions {
		callTool(t, session, "execute", map[string]any{"code": "1"})
	}
	if _, err := register.Revoke(s.name("a")); err != nil {
		t.Fatal(err)
	}
	for i, session := range sessions {
		if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": "1"}}); err == nil {
			t.Errorf("%s: %v", eras[i], res)
		}
	}
	if status, _ := s.get("/mcp", secret); status != http.StatusUnauthorized {
		t.Error(status)
	}
	// What was submitted in its name before would not be decided any more either.
	_, err = s.Engine().Submit(t.Context(), execution.Request{Principal: execution.Principal("token:" + s.name("a")), Code: "1", Language: execution.Python})
	if err == nil || !strings.Contains(err.Error(), "no longer valid") {
		t.Errorf("%v", err)
	}
}

func TestRateAndConcurrencyAreAnsweredWithATimeToComeBack(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{})
	rate, room := s.create("rate", token.Rights{Rate: 1}), s.create("room", token.Rights{Concurrency: 1})
	for _, era := range eras {
		session := s.connect(room, era)
		first := callTool(t, session, "execute", map[string]any{"code": "import time; time.sleep(60)", "wait_seconds": 0, "timeout_seconds": 60})
		second := callTool(t, session, "execute", map[string]any{"code": "1"})
		if failed, _ := second["error"].(map[string]any); second["status"] != "rejected" || failed["code"] != "UNAVAILABLE" || failed["retry_after_seconds"] == nil {
			t.Errorf("%s: %v", era, second)
		}
		callTool(t, session, "cancel_operation", map[string]any{"operation_id": first["operation_id"]})
		for callTool(t, session, "execute", map[string]any{"code": "1"})["status"] != "ok" { // the end is counted beside this
		}
	}
	session := s.connect(rate, eras[1])
	callTool(t, session, "execute", map[string]any{"code": "1"})
	if got := callTool(t, session, "execute", map[string]any{"code": "1"}); got["error"].(map[string]any)["retry_after_seconds"] == nil {
		t.Errorf("%v", got)
	}
}

func TestTheServerBoundsEachPrincipalWhoseTokenSaysNothingElse(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{Principal: sidecar.PrincipalOptions{Concurrency: new(1)}})
	parties := []*party{ // wide has room for the one that sleeps and those below, one after another
		s.holder("plain", s.create("plain", token.Rights{})),
		s.holder("wide", s.create("wide", token.Rights{Concurrency: 4, Rate: 600})), s.local(),
	}
	refused := func(got map[string]any) bool {
		failed, _ := got["error"].(map[string]any)
		return got["status"] == "rejected" && failed["code"] == "UNAVAILABLE" && failed["retry_after_seconds"].(float64) > 0
	}
	sleeper := map[string]any{"code": "import time; time.sleep(60)", "wait_seconds": 0, "timeout_seconds": 60}
	var sessions []*mcp.ClientSession
	for i, p := range parties {
		session := p.connect(eras[i%2])
		sessions = append(sessions, session)
		if got := callTool(t, session, "execute", sleeper); got["status"] != "running" {
			t.Errorf("%s is touched by others: %v", p.name, got)
		}
	}
	for i, p := range parties {
		if got := callTool(t, sessions[i], "execute", map[string]any{"code": "1"}); refused(got) == (p.name == "wide") {
			t.Errorf("%s with one at work: %v", p.name, got)
		}
	}
	o := s.o
	o.Principal = sidecar.PrincipalOptions{Rate: new(1)}
	if err := reload(t, s.Sidecar, o); err != nil {
		t.Fatal(err)
	}
	for i, p := range parties {
		var got []map[string]any
		for range 3 {
			got = append(got, callTool(t, sessions[i], "execute", map[string]any{"code": "1"}))
		}
		if p.name == "wide" {
			if got[0]["status"] != "ok" || got[1]["status"] != "ok" || got[2]["status"] != "ok" {
				t.Errorf("%s has a rate of its own: %v", p.name, got)
			}
			continue
		}
		if refused(got[0]) || !refused(got[1]) || !refused(got[2]) {
			t.Errorf("%s may start one a minute: %v", p.name, got)
		}
	}
}

func TestReadinessIsARealRun(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{})
	if status, text := s.get("/readyz", "x"); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	list, err := s.operations(execution.Local)
	if err != nil || !slices.ContainsFunc(list, func(r execution.Record) bool { return r.Request.Client.Name == "gearbox readyz" }) {
		t.Errorf("%v", err)
	}
}

func (s *served) operations(p execution.Principal) ([]execution.Record, error) {
	return s.Lister().List(s.t.Context(), p, "", 100)
}

func TestAGearWhoseExecutionIsOffIsReadyAllTheSame(t *testing.T) {
	o := sidecar.Options{Gear: "read_only", DataDir: cpythontest.DataDir(t), Web: sidecar.WebOptions{HTTP: "127.0.0.1:0"}}
	s := open(t, o)
	server, err := s.ListenWeb(t.Context(), o.Web, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.ServeWeb(ctx, server) }()
	res, err := http.DefaultTransport.RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, server.Addresses()[0]+"/readyz", http.NoBody)))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%v %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFullTrustIsNotOfferedWhereOthersAreServed(t *testing.T) {
	trust := sidecar.Options{Gear: "full_trust", AllowFullTrust: true, AllowFullTrustAsRoot: true, DataDir: t.TempDir()}
	overHTTP := trust
	overHTTP.Web.HTTP = "127.0.0.1:0"
	if _, err := tryOpen(t, overHTTP); err == nil || !strings.Contains(err.Error(), "HTTP") {
		t.Errorf("%v", err)
	}
	running, err := tryOpen(t, trust)
	if err != nil {
		t.Fatalf("alone: %v", err)
	}
	if _, _, err := sidecar.CreateToken(t.Context(), trust, execution.Client{}, "a", token.Rights{Gear: "full_trust"}, time.Time{}); err == nil || !strings.Contains(err.Error(), "own rights") {
		t.Errorf("as a ceiling: %v", err)
	}
	if _, _, err := sidecar.CreateToken(t.Context(), trust, execution.Client{}, "a", token.Rights{}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(t, trust); err == nil || !strings.Contains(err.Error(), "revoke") {
		t.Errorf("with a token: %v", err)
	}
	request := execution.Request{Principal: execution.Local, Language: execution.Python, Code: "1"}
	var rejected *execution.RejectedError
	if _, err := running.Engine().Submit(t.Context(), request); !errors.As(err, &rejected) || rejected.Code != execution.CodeUnavailable || !strings.Contains(rejected.Message, "such as a:") {
		t.Errorf("a server that runs already: %v", err)
	}
	if _, err := sidecar.RevokeToken(t.Context(), trust, execution.Client{}, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(t, trust); err != nil {
		t.Errorf("with a revoked one: %v", err)
	}
}

func TestRightsThatNoServerWouldUnderstandAreNotGiven(t *testing.T) {
	o := sidecar.Options{DataDir: t.TempDir()}
	for says, r := range map[string]token.Rights{
		"did you mean restricted": {Gear: "restrictd"},
		"not a file":              {Gear: "./x.yaml"},
		"did you mean execute":    {Tools: []string{"exekute"}},
	} {
		if _, _, err := sidecar.CreateToken(t.Context(), o, execution.Client{}, "a", r, time.Time{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, tools := range [][]string{{"execute", "get_operation", "cancel_operation", "list_packages"}, {"run_script"}, {"run_python_code"}} {
		if _, _, err := sidecar.CreateToken(t.Context(), o, execution.Client{}, strings.ReplaceAll(tools[0], "_", "-"), token.Rights{Tools: tools}, time.Time{}); err != nil {
			t.Errorf("%v: %v", tools, err)
		}
	}
}

func TestAStopLetsACallEndAndAnswersWhatItCuts(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{Web: sidecar.WebOptions{StopTimeout: new(time.Millisecond)}})
	secret := s.create("a", token.Rights{})
	answers := make(chan map[string]any, len(eras))
	for _, era := range eras {
		session := s.connect(secret, era)
		go func() {
			res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": "import time; time.sleep(60)", "timeout_seconds": 60}})
			if err != nil {
				t.Error(era, err)
				answers <- nil
				return
			}
			answers <- res.StructuredContent.(map[string]any)
		}()
	}
	for s.Engine().Load().Running < len(eras) { // until both are at work
		runtime.Gosched()
	}
	s.stop()
	for range eras {
		if got := <-answers; got != nil && got["status"] != "cancelled" && got["status"] != "interrupted" {
			t.Errorf("%v", got)
		}
	}
}

func TestACallThatIsTurnedAwayIsRecordedWithItsClientAndSession(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{DataDir: cpythontest.DataDir(t)})
	session := s.connect("", "2025-11-25")
	mark := "nope-" + strings.ToLower(session.ID())
	for _, arguments := range []map[string]any{{"code": "1", "language": mark}, {"code": "1", "gear": mark}} {
		if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: arguments}); err != nil || !res.IsError {
			t.Fatalf("%v: %+v %v", arguments, res, err)
		}
	}
	r, err := sidecar.OpenRecords(t.Context(), s.o, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	n := 0
	for entry, err := range r.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := entry.Event()
		if err != nil {
			t.Fatal(err)
		}
		if e.Type != audit.Refused || !strings.Contains(e.Reason, mark) {
			continue
		}
		n++
		if e.Client.Name != "test" || e.Client.Version != "1" || e.Client.Session != session.ID() || e.Client.Session == "" {
			t.Errorf("%+v", e.Client)
		}
	}
	if n != 2 {
		t.Errorf("%d events", n)
	}
}
