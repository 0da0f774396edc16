package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

func TestWithoutAnyTokenEverybodyOnLoopbackIsLocal(t *testing.T) {
	s := start(t, Config{}, nil)
	if got := s.ask(http.MethodPost, "/mcp", ""); got.body != "local POST" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestFromTheFirstTokenOnOneIsNeeded(t *testing.T) {
	s := start(t, Config{}, nil)
	secret := s.create("a", token.Rights{})
	for _, path := range []string{"/mcp", "/metrics", "/api/v1/operations", "/api/v1/operations/op_1", "/api/v1/nothing"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if got := s.ask(method, path, ""); got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %s: %d %v", method, path, got.status, got.header)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := s.ask(http.MethodGet, path, ""); got.status != http.StatusOK {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	for path, want := range map[string]string{"/mcp": "token:a GET", "/metrics": "metrics\n"} {
		if got := s.ask(http.MethodGet, path, "", "Authorization", "bearer  "+secret); got.body != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestEveryCredentialThatIsNotValidIsAnsweredAlike(t *testing.T) {
	s := start(t, Config{}, nil)
	revoked := s.create("revoked", token.Rights{})
	if _, err := s.tokens.Revoke("revoked"); err != nil {
		t.Fatal(err)
	}
	other, _, err := token.NewRegister(token.OpenFile(t.TempDir()), time.Now).Create("elsewhere", token.Rights{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	missing := s.ask(http.MethodPost, "/mcp", "")
	for _, sent := range []string{"Bearer " + revoked, "Bearer " + other, "Bearer x", "Bearer", "", "Basic eDp5", "Bearer " + strings.Repeat("x", 10_000)} {
		got := s.ask(http.MethodPost, "/mcp", "", "Authorization", sent)
		if got.status != http.StatusUnauthorized || got.body != missing.body || got.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%.40q: %d %s", sent, got.status, got.body)
		}
	}
	if got := s.ask(http.MethodPost, "/mcp", "", "Authorization", "Bearer "+revoked, "Authorization", "Bearer "+other); got.status != http.StatusUnauthorized {
		t.Errorf("two credentials: %d", got.status)
	}
}

func TestARevocationTakesEffectAtOnce(t *testing.T) {
	s := start(t, Config{}, nil)
	secret := s.create("a", token.Rights{})
	if got := s.ask(http.MethodPost, "/mcp", "", "Authorization", "Bearer "+secret); got.status != http.StatusOK {
		t.Fatal(got.status)
	}
	if _, err := s.tokens.Revoke("a"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/mcp", "/metrics", "/api/v1/operations"} {
		if got := s.ask(http.MethodGet, path, "", "Authorization", "Bearer "+secret); got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	// Nobody comes in without one either, now that there was one.
	if got := s.ask(http.MethodPost, "/mcp", ""); got.status != http.StatusUnauthorized {
		t.Error(got.status)
	}
}

func TestAStreamEndsSoonAfterItsToken(t *testing.T) {
	s := start(t, Config{}, func(s *Server) { s.bearer.recheck = time.Millisecond })
	secret := s.create("a", token.Rights{})
	ended := make(chan answer)
	go func() { ended <- s.ask(http.MethodGet, "/mcp", "", "Listen", "yes", "Authorization", "Bearer "+secret) }()
	<-s.agents.started
	if _, err := s.tokens.Revoke("a"); err != nil {
		t.Fatal(err)
	}
	<-ended
}

func TestWhoComesIsRecordedOncePerSessionAndHour(t *testing.T) {
	book, now := &logBook{}, time.Unix(1000, 0)
	l := newLogins(book, discard(), func() time.Time { return now })
	visit := func(want int, header ...string) {
		t.Helper()
		if err := l.accepted(request(t, http.MethodPost, "/mcp", header...), execution.Caller{Principal: "token:a"}); err != nil {
			t.Fatal(err)
		}
		if got := len(book.take()); got != want {
			t.Errorf("%q: recorded %d times, not %d", header, got, want)
		}
	}
	visit(1) // a session
	visit(1) // another one
	visit(0, "Mcp-Session-Id", "x")
	visit(0, "Mcp-Method", "tools/call")
	now = now.Add(loginAgain)
	visit(1, "Mcp-Method", "tools/call")
	visit(0, "Mcp-Method", "tools/call")
}

func TestTheRecordIsNotFilledBySessions(t *testing.T) {
	book, now := &logBook{}, time.Unix(1_000_000, 0)
	l := newLogins(book, discard(), func() time.Time { return now })
	session := func(p execution.Principal) {
		t.Helper()
		if err := l.accepted(request(t, http.MethodPost, "/mcp"), execution.Caller{Principal: p}); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 * sessionBurst {
		session("token:a")
	}
	if n := len(book.take()); n != sessionBurst {
		t.Errorf("%d recorded", n)
	}
	session("token:b")
	if got := book.take(); len(got) != 1 || got[0].Principal != "token:b" || got[0].Unrecorded != 0 {
		t.Errorf("another principal: %+v", got)
	}
	now = now.Add(sessionEvery)
	book.broken = errors.New("the disk is full")
	if err := l.accepted(request(t, http.MethodPost, "/mcp"), execution.Caller{Principal: "token:a"}); err == nil {
		t.Error("who could not be recorded came in")
	}
	book.broken = nil
	session("token:a")
	if got := book.take(); len(got) != 1 || got[0].Unrecorded != 9*sessionBurst {
		t.Errorf("%+v", got)
	}
}

func TestWhoIsTurnedAwayIsRecordedWithTheReason(t *testing.T) {
	s := start(t, Config{}, nil)
	secret := s.create("a", token.Rights{})
	if _, err := s.tokens.Revoke("a"); err != nil {
		t.Fatal(err)
	}
	s.ask(http.MethodPost, "/mcp", "", "Authorization", "Bearer "+secret, "User-Agent", strings.Repeat("x", 1000))
	s.ask(http.MethodPost, "/mcp", "")
	s.ask(http.MethodGet, "/mcp", "", "Origin", "http://evil.example")
	got := s.book.take()
	if len(got) != 3 || got[0].Reason != "revoked" || got[0].Principal != "token:a" || len(got[0].UserAgent) != maxUserAgent ||
		got[0].Remote != "127.0.0.1" || got[1].Reason != "no token" || !strings.Contains(got[2].Reason, "evil.example") || got[2].Accepted {
		t.Errorf("%+v", got)
	}
	if strings.Contains(s.book.String(), secret) {
		t.Error("the log holds a secret")
	}
}

func TestTheRecordIsNotFilledByThoseWhoAreTurnedAway(t *testing.T) {
	book, now := &logBook{}, time.Unix(1000, 0)
	l := newLogins(book, discard(), func() time.Time { return now })
	r := request(t, http.MethodPost, "/mcp")
	for range 10 * refusalBurst {
		l.refused(r, token.ErrRefused)
	}
	if n := len(book.take()); n != refusalBurst {
		t.Errorf("%d recorded", n)
	}
	now = now.Add(time.Second)
	l.refused(r, token.ErrRefused)
	if got := book.take(); len(got) != 1 || got[0].Unrecorded != 9*refusalBurst {
		t.Errorf("%+v", got)
	}
}

func TestWhoCannotBeRecordedDoesNotComeIn(t *testing.T) {
	s := start(t, Config{}, nil)
	s.book.broken = errors.New("the disk is full")
	for range 2 {
		if got := s.ask(http.MethodPost, "/mcp", "", "Mcp-Method", "tools/call"); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "disk") {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

func TestTheAPIShowsEachPrincipalItsOwnOperationsAlone(t *testing.T) {
	s := start(t, Config{}, nil)
	a, b := "Bearer "+s.create("a", token.Rights{}), "Bearer "+s.create("b", token.Rights{Tools: []string{"get_operation"}})
	for _, row := range []struct {
		who, method, path string
		status            int
		has, hasNot       string
	}{
		{a, "GET", "operations", 200, `"op_3"`, "op_2"},
		{a, "GET", "operations", 200, `"op_1"`, "secret"},
		{b, "GET", "operations", 200, `"op_2"`, "op_1"},
		{a, "GET", "operations?limit=1", 200, `"next":"op_3"`, "op_1"},
		{a, "GET", "operations?limit=1&before=op_3", 200, `"op_1"`, `"op_3"`},
		{a, "GET", "operations?limit=0", 400, `"limit"`, ""},
		{a, "GET", "operations?limit=x", 400, `"limit"`, ""},
		{a, "GET", "operations?limit=1&cursor=x", 400, `"cursor"`, ""},
		{a, "GET", "operations/op_1?wait=5", 400, `"wait"`, ""},
		{a, "POST", "operations/op_3/cancel?force=1", 400, `"force"`, ""},
		{a, "GET", "nothing", 404, "NOT_FOUND", ""},
		{a, "DELETE", "operations/op_1", 404, "NOT_FOUND", ""},
		{a, "GET", "operations/op_1", 200, `"stdout":"1\n"`, ""},
		{a, "GET", "operations/op_1?wait_seconds=5", 200, `"stdout"`, ""},
		{a, "GET", "operations/op_1?wait_seconds=NaN", 400, `"wait_seconds"`, ""},
		{a, "GET", "operations/op_1?wait_seconds=x", 400, `"wait_seconds"`, ""},
		{a, "GET", "operations/op_2", 404, "NOT_FOUND", ""},
		{a, "GET", "operations/op_9", 404, "NOT_FOUND", ""},
		{a, "POST", "operations/op_2/cancel", 404, "NOT_FOUND", ""},
		{a, "POST", "operations/op_3/cancel", 200, "op_3", ""},
		{a, "GET", "operations/op_broken", 500, "INTERNAL", "operator"},
		{b, "POST", "operations/op_2/cancel", 403, "cancel_operation", ""},
	} {
		got := s.ask(row.method, "/api/v1/"+row.path, "", "Authorization", row.who)
		if got.status != row.status || !strings.Contains(got.body, row.has) || row.hasNot != "" && strings.Contains(got.body, row.hasNot) ||
			got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s", row.method, row.path, got.status, got.body)
		}
	}
}

func TestAnAgentsClientIsToldInItsOwnProtocolWhyItIsTurnedAway(t *testing.T) {
	s := start(t, Config{}, nil)
	s.create("a", token.Rights{})
	for name, got := range map[string]answer{
		"UNAUTHENTICATED":  s.ask(http.MethodPost, "/mcp", "{}"),
		"FORBIDDEN":        s.ask(http.MethodPost, "/mcp", "{}", "Origin", "http://evil.example"),
		"INVALID_ARGUMENT": s.ask(http.MethodPost, "/mcp?access_token=x", "{}"),
	} {
		var m struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   struct {
				Code    int
				Message string
				Data    struct{ Code string }
			}
		}
		err := json.Unmarshal([]byte(got.body), &m)
		if err != nil || m.Version != "2.0" || string(m.ID) != "null" || m.Error.Code != invalidRequest || m.Error.Message == "" || m.Error.Data.Code != name {
			t.Errorf("%s: %v: %d %s", name, err, got.status, got.body)
		}
	}
	if got := s.ask(http.MethodGet, "/api/v1/operations", ""); !strings.Contains(got.body, `"code":"UNAUTHENTICATED"`) {
		t.Errorf("elsewhere: %s", got.body)
	}
}

func TestTheUseOfATokenIsNotedBesideTheAnswer(t *testing.T) {
	s := start(t, Config{}, nil)
	secret := s.create("a", token.Rights{})
	if got := s.ask(http.MethodPost, "/mcp", "", "Authorization", "Bearer "+secret); got.status != http.StatusOK {
		t.Fatal(got.status)
	}
	s.bearer.noted.Wait()
	if got, err := s.tokens.Of("token:a"); err != nil || got.LastUsed.IsZero() {
		t.Errorf("%+v %v", got, err)
	}
}
