package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// foreign reports whether an answer speaks of what only this program knows, or holds what
// does not show.
func foreign(message string) bool {
	for _, word := range []string{"Go ", "struct", "web.", "execution.", "json:", "jsontext", "unmarshal", "decision within", "\n", "\u202e", "\x00"} {
		if strings.Contains(message, word) {
			return true
		}
	}
	return !utf8.ValidString(message)
}

func TestWhatIsNoDecisionIsAnsweredInPlainWordsAndIsOnRecord(t *testing.T) {
	s := startAsking(t, nil)
	r := s.desk.put(t, time.Hour)
	with := func(more string) string {
		return fmt.Sprintf(`{"decision":"approve","hash":%q%s}`, r.Approval.Hash, more)
	}
	for name, row := range map[string]struct {
		body, field, says string
		status            int
		header            []string
	}{
		"nothing":               {"", "", "empty", 400, nil},
		"spaces":                {" \n ", "", "empty", 400, nil},
		"no JSON":               {"yes please", "", "not one JSON object", 400, nil},
		"half":                  {`{"decision":"approve"`, "", "byte 21", 400, nil},
		"two":                   {yes(r) + yes(r), "", "not one JSON object", 400, nil},
		"a list":                {`[]`, "", "and not a list: its fields are decision, scope, message, hash, credential", 400, nil},
		"a string":              {`"approve"`, "", "and not a string", 400, nil},
		"null":                  {`null`, "", "and not null", 400, nil},
		"a decision as number":  {`{"decision":1}`, "decision", "must be a string, and not a number", 400, nil},
		"a decision as truth":   {`{"decision":true}`, "decision", "must be a string, and not true or false", 400, nil},
		"a hash as object":      {`{"decision":"approve","hash":{"sha256":"x"}}`, "hash", "must be a string, and not an object", 400, nil},
		"a message as list":     {with(`,"message":["a"]`), "message", "must be a string, and not a list", 400, nil},
		"a credential as code":  {with(`,"credential":123456`), "credential", "must be a string, and not a number", 400, nil},
		"another field":         {with(`,"force":true`), "force", "no such field", 400, nil},
		"a field in capitals":   {`{"Decision":"approve"}`, "Decision", "no such field", 400, nil},
		"a field twice":         {`{"decision":"deny","decision":"approve"}`, "decision", "twice", 400, nil},
		"no UTF-8":              {"{\"decision\":\"\xff\"}", "", "UTF-8", 400, nil},
		"a field to forge with": {with(`,"a\u202eb\u0000":1`), "a⟨U+202E⟩b⟨U+0000⟩", "no such field", 400, nil},
		"a long field":          {with(`,"` + strings.Repeat("x", 5000) + `":1`), strings.Repeat("x", maxNamed) + "…", "no such field", 400, nil},
		"no hash":               {`{"decision":"approve"}`, "hash", "is missing", 400, nil},
		"a hash of zeros":       {fmt.Sprintf(`{"decision":"approve","hash":"sha256:%064x"}`, 0), "hash", "is missing", 400, nil},
		"a short hash":          {`{"decision":"approve","hash":"sha256:00"}`, "hash", "64 hexadecimal digits", 400, nil},
		"an empty hash":         {`{"decision":"approve","hash":""}`, "hash", "64 hexadecimal digits", 400, nil},
		"no decision":           {fmt.Sprintf(`{"hash":%q}`, r.Approval.Hash), "decision", "approve or deny", 400, nil},
		"other letters":         {fmt.Sprintf(`{"decision":"Approve","hash":%q}`, r.Approval.Hash), "decision", "approve or deny", 400, nil},
		"an empty scope":        {with(`,"scope":""`), "scope", "once or always", 400, nil},
		"a scope of null":       {with(`,"scope":null`), "scope", "must not be null", 400, nil},
		"a message of null":     {with(`,"message":null`), "message", "must not be null", 400, nil},
		"an unknown scope":      {with(`,"scope":"forever"`), "scope", "once or always", 400, nil},
		"a no with a scope":     {fmt.Sprintf(`{"decision":"deny","scope":"once","hash":%q}`, r.Approval.Hash), "scope", "a yes alone", 400, nil},
		"a long message":        {with(fmt.Sprintf(`,"message":%q`, strings.Repeat("x", 2001))), "message", "2000 bytes", 400, nil},
		"another type":          {yes(r), "Content-Type", "application/json", 400, []string{"Content-Type", "text/plain"}},
		"a long body":           {strings.Repeat(" ", maxDecision) + yes(r), "", "16384 bytes", 413, nil},
	} {
		header := append(row.header, "Authorization", s.operator)
		if row.header == nil {
			header = append(header, "Content-Type", "application/json")
		}
		before := events(t, s.desk)
		got := s.ask("POST", "/api/v1/approvals/"+string(r.ID), row.body, header...)
		var f failure
		if err := json.Unmarshal([]byte(got.body), &f); err != nil {
			t.Fatalf("%s: %s", name, got.body)
		}
		if got.status != row.status || f.Error.Cause != "malformed" || f.Error.Field != row.field || !strings.Contains(f.Error.Message, row.says) || foreign(f.Error.Message) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		after := events(t, s.desk)
		if len(after) != len(before)+1 {
			t.Fatalf("%s: %d events", name, len(after)-len(before))
		}
		e := after[len(after)-1]
		if e.Type != audit.Approval || e.Decision != "refused" || e.Operation != r.ID || e.Principal != "token:a" || e.Reason != f.Error.Message ||
			e.Details["field"] != row.field || e.Details["by"] != "api:boss" || size(e) > 1000 {
			t.Errorf("%s: recorded as %+v", name, e)
		}
	}
	if got, err := s.desk.Find(t.Context(), r.ID); err != nil || got.State != execution.StatePending || got.Approval.Answer != nil {
		t.Errorf("%+v %v", got, err)
	}
}

func TestWhatIsNoDecisionOnNothingIsOnRecordToo(t *testing.T) {
	s := startAsking(t, nil)
	id := strings.Repeat("x", 10_000)
	if got := s.decide(execution.ID(id), `{}`); got.status != 400 || !strings.Contains(got.body, `"cause":"malformed"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	all := events(t, s.desk)
	e := all[len(all)-1]
	if e.Decision != "refused" || e.Operation != "" || !strings.HasPrefix(e.Details["operation"], "xxx") || size(e) > 3000 {
		t.Errorf("%+v", e)
	}
}

// TestABodyThatDoesNotComeWholeIsNoDecision: each of these is sent as it stands, and then
// nothing more.
func TestABodyThatDoesNotComeWholeIsNoDecision(t *testing.T) {
	s := startAsking(t, func(s *Server) { s.pace.start = 100 * time.Millisecond })
	r := s.desk.put(t, time.Hour)
	for name, row := range map[string]struct {
		head, body, says string
		cut              bool
	}{
		"it breaks off":      {"Content-Length: 200", yes(r), "breaks off", true},
		"it stalls":          {"Content-Length: 200", yes(r), "in time", false},
		"a chunk breaks off": {"Transfer-Encoding: chunked", "50\r\n" + yes(r)[:20], "breaks off", true},
		"a chunk has no end": {"Transfer-Encoding: chunked", "z\r\n" + yes(r), "well-formed chunks", false},
	} {
		before := len(events(t, s.desk))
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(c, "POST /api/v1/approvals/%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nContent-Type: application/json\r\n%s\r\n\r\n%s", r.ID, s.operator, row.head, row.body)
		if row.cut {
			err = errors.Join(err, c.(*net.TCPConn).CloseWrite())
		}
		text, bad := io.ReadAll(c)
		if err := errors.Join(err, bad, c.Close()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := string(text)
		if !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, `"cause":"malformed"`) || !strings.Contains(got, row.says) {
			t.Errorf("%s: %s", name, got)
		}
		all := events(t, s.desk)
		if e := all[len(all)-1]; len(all) != before+1 || e.Decision != "refused" || e.Operation != r.ID || !strings.Contains(e.Reason, row.says) {
			t.Errorf("%s: %d events, the last %+v", name, len(all)-before, e)
		}
	}
}

func TestADecisionWithAQueryIsNone(t *testing.T) {
	s := startAsking(t, nil)
	r := s.desk.put(t, time.Hour)
	for query, field := range map[string]string{"decision=approve": "decision", "a%E2%80%AEb=1": "a⟨U+202E⟩b"} {
		got := s.decide(r.ID+execution.ID("?"+query), yes(r))
		var f failure
		if err := json.Unmarshal([]byte(got.body), &f); err != nil || got.status != 400 || f.Error.Cause != "malformed" || f.Error.Field != field || !strings.Contains(f.Error.Message, "in the body") {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
		all := events(t, s.desk)
		if e := all[len(all)-1]; e.Decision != "refused" || e.Operation != r.ID || e.Details["field"] != field {
			t.Errorf("%s: %+v", query, e)
		}
	}
	if got, err := s.desk.Find(t.Context(), r.ID); err != nil || got.State != execution.StatePending {
		t.Errorf("%+v %v", got, err)
	}
}

func TestOfThoseWhoMayNotDecideNoBodyIsLookedAtOrRecorded(t *testing.T) {
	s := startAsking(t, nil)
	r := s.desk.put(t, time.Hour)
	before := len(events(t, s.desk))
	agent := "Bearer " + s.create("a", token.Rights{})
	for status, header := range map[int]string{401: "Bearer x", 403: agent} {
		for _, body := range []string{`{"decision":1}`, yes(r)} {
			got := s.ask("POST", "/api/v1/approvals/"+string(r.ID), body, "Authorization", header, "Content-Type", "application/json")
			if got.status != status || strings.Contains(got.body, "malformed") {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
	}
	if n := len(events(t, s.desk)); n != before {
		t.Errorf("%d events about a decision", n-before)
	}
}

// events are all in the records, the oldest first.
func events(t *testing.T, d desk) []audit.Event {
	t.Helper()
	var all []audit.Event
	for entry, err := range d.Events(t.Context(), 0) {
		e, bad := entry.Event()
		if err := errors.Join(err, bad); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// size is how much of what was sent an event holds, in bytes.
func size(e audit.Event) int {
	n := len(e.Reason) + len(e.Client.Name)
	for key, value := range e.Details {
		n += len(key) + len(value)
	}
	return n
}
