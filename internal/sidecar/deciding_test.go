//go:build linux

package sidecar_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

const needsAYes = "import subprocess\nprint('it ran', subprocess.run(['mount', '--version'], capture_output=True).returncode)"

// heard is an event of the API.
type heard struct {
	Type      string       `json:"type"`
	Operation execution.ID `json:"operation_id"`
	Hash      string       `json:"hash"`
	Question  struct {
		Summary string `json:"summary"`
		Again   string `json:"asked_again"`
		Answer  struct {
			Decision, By string
		} `json:"answer"`
	} `json:"question"`
}

// follow gives the events of a server.
func (s *served) follow(operator string) func() heard {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/api/v1/approvals/events", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := bearer(operator).RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%v %v", res, err)
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	return func() heard {
		s.t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var e heard
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					s.t.Fatalf("%s: %v", data, err)
				}
				return e
			}
		}
		s.t.Fatalf("the stream ended: %v", lines.Err())
		return heard{}
	}
}

func (s *served) post(path, secret, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
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

// ask has an agent ask for a yes.
func (s *served) ask(agent string) execution.ID {
	s.t.Helper()
	res := callTool(s.t.(*testing.T), s.connect(agent, eras[0]), "execute", map[string]any{"code": needsAYes})
	if res["status"] != "pending_approval" {
		s.t.Fatalf("%v", res)
	}
	return execution.ID(res["operation_id"].(string))
}

// servedAlone has a data directory of its own, since what is asked is seen by all.
func servedAlone(t *testing.T, o sidecar.Options) *served {
	t.Helper()
	o.DataDir = t.TempDir()
	if err := os.Chmod(o.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Transport = sidecar.TransportHTTP
	return serveHTTP(t, o)
}

func TestAFrontEndHearsOfAQuestionAnswersItAndItRuns(t *testing.T) {
	s := servedAlone(t, sidecar.Options{})
	agent, operator := s.create("agent", token.Rights{}), s.create("boss", token.Rights{Role: token.Operator})
	next := s.follow(operator)
	if e := next(); e.Type != "open" {
		t.Fatalf("%+v", e)
	}
	id := s.ask(agent)
	asked := next()
	if asked.Type != "asked" || asked.Operation != id || !strings.Contains(asked.Question.Summary, "run(mount)") {
		t.Fatalf("%+v", asked)
	}
	// The agent, with all that it has, decides nothing.
	yes := fmt.Sprintf(`{"decision":"approve","hash":%q}`, asked.Hash)
	if status, text := s.post("/api/v1/approvals/"+string(id), agent, yes); status != http.StatusForbidden {
		t.Errorf("%d %s", status, text)
	}
	if status, text := s.post("/api/v1/approvals/"+string(id), operator, yes); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if e := next(); e.Type != "decided" || e.Operation != id || e.Question.Answer.Decision != "approved" {
		t.Errorf("%+v", e)
	}
	// Who decided is on record, and not masked as a secret would be.
	records, err := sidecar.OpenRecords(t.Context(), s.o, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = records.Close() }()
	by := ""
	for e, err := range records.LatestOf(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := e.Event()
		if err != nil {
			t.Fatal(err)
		}
		if ev.Decision == string(execution.Approved) {
			by = ev.Details["by"]
		}
	}
	if by != "api:"+s.name("boss") {
		t.Errorf("decided by %q", by)
	}
	got := callTool(t, s.connect(agent, eras[0]), "get_operation", map[string]any{"operation_id": string(id), "wait_seconds": 60})
	if got["status"] != "ok" || !strings.HasPrefix(fmt.Sprint(got["stdout"]), "it ran") {
		t.Errorf("%v", got)
	}
}

func TestAFrontEndHearsWhatIsDecidedInATerminal(t *testing.T) {
	s := servedAlone(t, sidecar.Options{})
	agent, operator := s.create("agent", token.Rights{}), s.create("boss", token.Rights{Role: token.Operator})
	next := s.follow(operator)
	next()
	id := s.ask(agent)
	asked := next()
	// As gearbox approvals does it: on the records alone, by nothing of the server's.
	records, err := sidecar.OpenRecords(t.Context(), s.o, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = records.Close() }()
	d, err := records.Decisions()
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Decide(t.Context(), approval.Decision{Operation: id, Hash: r.Approval.Hash, Verdict: execution.Refused, Message: "no", By: "terminal:me"}); err != nil {
		t.Fatal(err)
	}
	if e := next(); e.Type != "decided" || e.Operation != id || e.Hash != asked.Hash || e.Question.Answer.Decision != "denied" || e.Question.Answer.By != "terminal:me" {
		t.Errorf("%+v", e)
	}
}

func TestAServerThatIsToAskForACredentialDoesNotStartBeforeOneIsSet(t *testing.T) {
	o := sidecar.Options{DataDir: t.TempDir(), Transport: sidecar.TransportHTTP, Approvals: sidecar.ApprovalOptions{Credential: "passphrase"}}
	if s, err := tryOpen(t, o); err == nil {
		t.Error("it started", s.Close())
	} else if !strings.Contains(err.Error(), "none is set") || !strings.Contains(err.Error(), "credential set passphrase") {
		t.Errorf("%v", err)
	}
	k, err := credential.NewPassphrase("correct horse battery")
	if err == nil {
		err = setCredential(t, o, k)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := tryOpen(t, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	o.Approvals.Credential = "totp"
	if _, err := tryOpen(t, o); err == nil {
		t.Error("it started with a credential of another kind")
	}
}

// setCredential sets the first credential of a data directory.
func setCredential(t *testing.T, o sidecar.Options, k credential.Key) error {
	t.Helper()
	c, err := sidecar.ChangeCredential(t.Context(), o, execution.Client{Name: "test"})
	if err != nil {
		return err
	}
	if err = c.Prove(t.Context(), ""); err == nil {
		err = c.Set(t.Context(), k)
	}
	return errors.Join(err, c.Close())
}

func TestACredentialIsAskedForByEachWay(t *testing.T) {
	s := servedAlone(t, sidecar.Options{})
	agent, operator := s.create("agent", token.Rights{}), s.create("boss", token.Rights{Role: token.Operator})
	id := s.ask(agent)
	_, text := s.get("/api/v1/approvals/"+string(id), operator)
	var q struct{ Hash execution.Digest }
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		t.Fatal(err)
	}
	decide := func(more string, want int, says string) {
		t.Helper()
		status, text := s.post("/api/v1/approvals/"+string(id), operator, fmt.Sprintf(`{"decision":"deny","hash":%q%s}`, q.Hash, more))
		if status != want || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s", more, status, text)
		}
	}
	k, err := credential.NewPassphrase("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	if err := setCredential(t, s.o, k); err != nil {
		t.Fatal(err)
	}
	decide("", http.StatusForbidden, "a passphrase is needed")
	decide(`,"credential":"wrong horse"`, http.StatusForbidden, `"cause":"credential"`)
	// A command that knows nothing of the setting is asked for it too.
	records, err := sidecar.OpenRecords(t.Context(), sidecar.Options{DataDir: s.o.DataDir}, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = records.Close() }()
	d, err := records.Decisions()
	if err != nil {
		t.Fatal(err)
	}
	if kind, err := d.Credential(); kind != credential.Passphrase || err != nil {
		t.Errorf("%v %v", kind, err)
	}
	if _, err := d.Decide(t.Context(), approval.Decision{Operation: id, Hash: q.Hash, Verdict: execution.Approved, By: "terminal:me"}); err == nil {
		t.Error("a terminal decided without it")
	}
	decide(`,"credential":"correct horse battery"`, http.StatusOK, "denied")
}

// listener is an address that a webhook is sent to, and what came there.
type listener struct {
	url, secretFile string
	bodies          chan string
}

func listen(t *testing.T) listener {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	l := listener{secretFile: filepath.Join(t.TempDir(), "secret"), bodies: make(chan string, 10)}
	if err := os.WriteFile(l.secretFile, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verifier.Verify(body, r.Header)
		}
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, `{"decision":"approve"}`) // which means nothing
		l.bodies <- string(body)
	}))
	t.Cleanup(receiver.Close)
	l.url = receiver.URL
	return l
}

// hooked are the options of a server that tells it.
func (l listener) hooked(code string) sidecar.Options {
	return sidecar.Options{Approvals: sidecar.ApprovalOptions{Webhook: sidecar.WebhookOptions{URL: l.url, SecretFile: l.secretFile, Code: code}}}
}

// TestAWebhookIsToldHowAQuestionEnded: each end has its type, whichever process brings it
// about, and nothing is told that the question did not tell.
func TestAWebhookIsToldHowAQuestionEnded(t *testing.T) {
	l := listen(t)
	s := servedAlone(t, l.hooked("on"))
	agent := s.create("agent", token.Rights{})
	records, err := sidecar.OpenRecords(t.Context(), s.o, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = records.Close() }()
	elsewhere, err := records.Decisions()
	if err != nil {
		t.Fatal(err)
	}
	decide := func(v execution.Verdict, message string) func(execution.ID, execution.Digest) error {
		return func(id execution.ID, hash execution.Digest) error {
			_, err := elsewhere.Decide(t.Context(), approval.Decision{Operation: id, Hash: hash, Verdict: v, Message: message, By: "terminal:\u202eme"})
			return err
		}
	}
	for _, row := range []struct {
		want, by string
		end      func(execution.ID, execution.Digest) error
	}{
		{"approval.approved", "terminal:⟨U+202E⟩me", decide(execution.Approved, "")},
		{"approval.denied", "terminal:⟨U+202E⟩me", decide(execution.Refused, "a word for the model alone")},
		{"approval.withdrawn", "", func(id execution.ID, _ execution.Digest) error {
			_, err := s.Engine().Cancel(context.WithoutCancel(t.Context()), execution.Principal("token:"+s.name("agent")), id)
			return err
		}},
	} {
		id := s.ask(agent)
		var asked sidecar.Announcement
		if body := <-l.bodies; json.Unmarshal([]byte(body), &asked) != nil || asked.Type != "approval.asked" || asked.Operation != id {
			t.Fatalf("%s", body)
		}
		if err := row.end(id, asked.Hash); err != nil {
			t.Fatal(err)
		}
		body := <-l.bodies
		var e sidecar.Ending
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Type != row.want || e.Operation != id || e.Hash != asked.Hash || e.By != row.by || e.Timestamp.Before(asked.Timestamp) {
			t.Errorf("%v %s", err, body)
		}
		var fields map[string]any
		_ = json.Unmarshal([]byte(body), &fields) // it could be, above
		for name := range fields {
			switch name {
			case "type", "timestamp", "operation_id", "hash", "by", "scope":
			default:
				t.Errorf("%s tells %s: %s", row.want, name, body)
			}
		}
	}
	if len(l.bodies) > 0 {
		t.Errorf("told beyond that: %s", <-l.bodies)
	}
}

func TestAWebhookIsToldOfWhatIsAsked(t *testing.T) {
	l := listen(t)
	for code, shown := range map[string]bool{"": false, "on": true} {
		s := servedAlone(t, l.hooked(code))
		id := s.ask(s.create("agent", token.Rights{}))
		body := <-l.bodies
		var a sidecar.Announcement
		if err := json.Unmarshal([]byte(body), &a); err != nil || a.Type != "approval.asked" || a.Operation != id || a.Permissions[0].Permission != "run(mount)" || a.Hash.IsZero() || a.ExpiresAt.Before(time.Now()) {
			t.Errorf("%v %s", err, body)
		}
		if strings.Contains(body, "it ran") != shown {
			t.Errorf("with the code %q: %s", code, body)
		}
		res, err := s.Engine().Wait(context.WithoutCancel(t.Context()), execution.Principal("token:"+s.name("agent")), id, 0)
		if err != nil || res.Status != execution.StatusPendingApproval {
			t.Errorf("%+v %v", res, err)
		}
	}
}

func TestAWebhookThatCannotBeSignedIsAnError(t *testing.T) {
	dir := t.TempDir()
	open, bad := filepath.Join(dir, "open"), filepath.Join(dir, "bad")
	for name, mode := range map[string]os.FileMode{open: 0o644, bad: 0o600} {
		if err := os.WriteFile(name, []byte("whsec_c2hvcnQ="), mode); err != nil {
			t.Fatal(err)
		}
	}
	for says, w := range map[string]sidecar.WebhookOptions{
		"chmod 600":                             {URL: "https://hooks.example/", SecretFile: open},
		"openssl":                               {URL: "https://hooks.example/", SecretFile: bad},
		"no such file":                          {URL: "https://hooks.example/", SecretFile: dir + "/nothing"},
		"use https":                             {URL: "http://hooks.example/", SecretFile: bad},
		"needs --approvals-webhook-secret-file": {URL: "https://hooks.example/"},
		"is for --approvals-webhook-url":        {SecretFile: bad},
	} {
		_, err := tryOpen(t, sidecar.Options{DataDir: t.TempDir(), Transport: sidecar.TransportHTTP, Approvals: sidecar.ApprovalOptions{Webhook: w}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestAFrontEndIsToldWhyNoRuleCanBeAdded: the file and the line, and that the question still
// stands; once goes on being an answer.
func TestAFrontEndIsToldWhyNoRuleCanBeAdded(t *testing.T) {
	s := servedAlone(t, sidecar.Options{})
	agent, operator := s.create("agent", token.Rights{}), s.create("boss", token.Rights{Role: token.Operator})
	next := s.follow(operator)
	next()
	id := s.ask(agent)
	hash := next().Hash
	if err := os.WriteFile(filepath.Join(s.o.DataDir, "rules.yaml"), []byte("allow: []\ndney: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, text := s.post("/api/v1/approvals/"+string(id), operator, fmt.Sprintf(`{"decision":"approve","scope":"always","hash":%q}`, hash))
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "rules.yaml:2:1") || !strings.Contains(text, "nothing was decided") || !strings.Contains(text, `"field":"scope"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := s.post("/api/v1/approvals/"+string(id), operator, fmt.Sprintf(`{"decision":"approve","hash":%q}`, hash)); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
}

// TestAFrontEndHearsThatTheRulesChangedAndAnswersTheNewQuestion: what it was shown counts no
// more from then on, whether or not the new question is there already.
func TestAFrontEndHearsThatTheRulesChangedAndAnswersTheNewQuestion(t *testing.T) {
	s := servedAlone(t, sidecar.Options{})
	agent, operator := s.create("agent", token.Rights{}), s.create("boss", token.Rights{Role: token.Operator})
	next := s.follow(operator)
	next()
	id := s.ask(agent)
	first := next()
	rules := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.o.DataDir, "rules.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := reload(t, s.Sidecar, s.o); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(to heard) (int, string) {
		t.Helper()
		return s.post("/api/v1/approvals/"+string(id), operator, fmt.Sprintf(`{"decision":"approve","hash":%q}`, to.Hash))
	}
	rules("deny: ['run(curl)']\n")
	if status, text := answer(first); status != http.StatusConflict || !strings.Contains(text, `"cause":"stale"`) || !strings.Contains(text, "the rules changed") {
		t.Errorf("%d %s", status, text)
	}
	if e := next(); e.Type != "withdrawn" || e.Hash != first.Hash {
		t.Errorf("%+v", e)
	}
	second := next()
	if second.Type != "asked" || second.Operation != id || second.Hash == first.Hash || second.Question.Again != "the rules changed" {
		t.Fatalf("%+v", second)
	}
	if status, text := answer(first); status != http.StatusConflict || !strings.Contains(text, second.Hash) {
		t.Errorf("%d %s", status, text)
	}
	// What the rules allow runs without any answer.
	rules("allow: ['run(mount)']\n")
	got := callTool(t, s.connect(agent, eras[0]), "get_operation", map[string]any{"operation_id": string(id), "wait_seconds": 60})
	if got["status"] != "ok" {
		t.Errorf("%v", got)
	}
	if status, text := answer(second); status != http.StatusConflict || !strings.Contains(text, "the changed rules") {
		t.Errorf("%d %s", status, text)
	}
}
