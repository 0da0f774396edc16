package web

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// approvalPaths are all that have to do with approvals.
func approvalPaths(id execution.ID) map[string][]string {
	return map[string][]string{
		"/api/v1/approvals":                     {"GET"},
		"/api/v1/approvals?all":                 {"GET"},
		"/api/v1/approvals/events":              {"GET"},
		"/api/v1/approvals/" + string(id):       {"GET", "POST"},
		"/api/v1/approvals/" + string(id) + "/": {"GET", "POST"},
		"/api/v1/approvals/":                    {"GET", "POST"},

		"/api/v1/approvals/" + string(id) + "/inputs/" + execution.Digest(sha256.Sum256([]byte("typed"))).String(): {"GET"},
	}
}

func TestNobodyButAnOperatorSeesOrAnswersWhatIsAsked(t *testing.T) {
	s := startAsking(t, nil)
	r := s.desk.put(t, time.Hour)
	try := func(c *http.Client, url string, want int, header ...string) {
		t.Helper()
		for path, methods := range approvalPaths(r.ID) {
			for _, method := range methods {
				got := s.askBy(c, method, url+path, yes(r), append(header, "Content-Type", "application/json")...)
				if got.status != want || strings.Contains(got.body, "mount") {
					t.Errorf("%s %s with %.20q: %d %s", method, path, header, got.status, got.body)
				}
			}
		}
	}
	// Everybody on loopback is the principal local: there is no agent's token.
	if got := s.ask("POST", "/mcp", ""); got.body != "local POST" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	try(client(t), s.url, http.StatusUnauthorized)
	try(client(t), s.url, http.StatusUnauthorized, "Authorization", "Bearer x")
	agent := "Bearer " + s.create("a", token.Rights{})
	try(client(t), s.url, http.StatusForbidden, "Authorization", agent)
	if got, err := s.desk.Find(t.Context(), r.ID); err != nil || got.State != execution.StatePending {
		t.Errorf("%+v %v", got, err)
	}
	if got := s.ask("POST", "/api/v1/approvals/"+string(r.ID), ""); !strings.Contains(got.body, "--operator") {
		t.Errorf("%s", got.body)
	}
}

func TestOverTheSocketNobodyDecidesWithoutAnOperatorsToken(t *testing.T) {
	dir := t.TempDir()
	d := openDesk(t, dir)
	p := prepare(t, Config{Approvals: d})
	path := filepath.Join(private(t), "s.sock")
	if err := p.ListenUnix(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	p.run()
	r := d.put(t, time.Hour)
	c := overUnix(t, path)
	if got := p.askBy(c, "POST", "http://x/mcp", ""); got.body != "local POST" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	url := "http://x/api/v1/approvals/" + string(r.ID)
	if got := p.askBy(c, "POST", url, yes(r), "Content-Type", "application/json"); got.status != http.StatusUnauthorized {
		t.Errorf("%d %s", got.status, got.body)
	}
	operator := p.create("boss", token.Rights{Role: token.Operator})
	if got := p.askBy(c, "POST", url, yes(r), "Content-Type", "application/json", "Authorization", "Bearer "+operator); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestAnOperatorsTokenRunsNothing(t *testing.T) {
	s := startAsking(t, nil)
	for path, method := range map[string]string{"/mcp": "POST", "/api/v1/operations": "GET", "/api/v1/operations/op_1": "GET", "/api/v1/operations/op_1/cancel": "POST"} {
		got := s.ask(method, path, "", "Authorization", s.operator)
		if got.status != http.StatusForbidden || !strings.Contains(got.body, "operator") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := s.ask("GET", "/metrics", "", "Authorization", s.operator); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestAPageOfAnotherOriginDecidesNothing(t *testing.T) {
	s := startAsking(t, nil)
	r := s.desk.put(t, time.Hour)
	for _, header := range [][]string{
		{"Origin", "http://evil.example"},
		{"Origin", "null"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Host", "evil.example"},
	} {
		if got := s.decide(r.ID, yes(r), header...); got.status != http.StatusForbidden {
			t.Errorf("%q: %d %s", header, got.status, got.body)
		}
	}
	// What a form of a page could send, if a browser sent the token along.
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json5", "text/json"} {
		got := s.ask("POST", "/api/v1/approvals/"+string(r.ID), yes(r), "Authorization", s.operator, "Content-Type", kind)
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, "Content-Type") {
			t.Errorf("%q: %d %s", kind, got.status, got.body)
		}
	}
	if got := s.ask("POST", "/api/v1/approvals/"+string(r.ID)+"?access_token="+s.operator[len("Bearer "):], yes(r), "Content-Type", "application/json"); got.status != http.StatusBadRequest {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got, _ := s.desk.Find(t.Context(), r.ID); got.State != execution.StatePending {
		t.Errorf("%+v", got)
	}
	if got := s.decide(r.ID, yes(r), "Origin", s.url, "Sec-Fetch-Site", "same-origin"); got.status != http.StatusOK {
		t.Errorf("a page of ours: %d %s", got.status, got.body)
	}
}

func TestAPersonSeesAllThatWouldBeRun(t *testing.T) {
	s := startAsking(t, nil)
	r := s.desk.put(t, time.Hour)
	got := s.ask("GET", "/api/v1/approvals/"+string(r.ID), "", "Authorization", s.operator)
	var q fullQuestion
	if err := json.Unmarshal([]byte(got.body), &q); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	p := q.Permissions[0]
	if q.Code != askingCode || q.Hash != r.Approval.Hash || q.State != standsOpen || p.Number != 1 || p.Permission != "run(mount)" || p.Line != 2 ||
		p.Source != "subprocess.run(['mount'])" || q.Always[0] != "run(mount)" || q.Principal != "token:a" || q.Client.Name != "an agent" ||
		q.Gear != "user_confirmed" || !q.ExpiresAt.Equal(r.Approval.Expires) || q.Timeout != 5 {
		t.Errorf("%s", got.body)
	}
	if q.Stdin.Size != 5 || q.Stdin.Head != "typed" || !q.Stdin.Complete || q.Variables[0].Name != "n" || q.Variables[0].Head != `{"a":1}` {
		t.Errorf("%s", got.body)
	}
	binary, long := q.Files[0], q.Files[1]
	if binary.Name != "in/data.bin" || binary.Head != "" || binary.Complete || binary.SHA256.IsZero() || binary.Size != 2 ||
		long.Size != 2*headBytes || len(long.Head) != headBytes || long.Complete {
		t.Errorf("%+v", q.Files)
	}
}

// TestAPersonCanReadAllThatCameWithACall: byte for byte, and as it is to be shown; each is
// found by the hash that the question tells.
func TestAPersonCanReadAllThatCameWithACall(t *testing.T) {
	s := startAsking(t, nil)
	r := s.desk.put(t, time.Hour)
	path := "/api/v1/approvals/" + string(r.ID)
	get := func(path string) answer {
		t.Helper()
		return s.ask("GET", path, "", "Authorization", s.operator)
	}
	var q fullQuestion
	if err := json.Unmarshal([]byte(get(path).body), &q); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ü", headBytes)
	for name, row := range map[string]struct {
		of           input
		exact, shown string
	}{
		"stdin":      {*q.Stdin, "typed", "typed"},
		"a variable": {q.Variables[0], `{"a":1}`, `{"a":1}`},
		"bytes":      {q.Files[0], "\xff\x00", "⟨0xFF⟩⟨U+0000⟩"},
		"a long one": {q.Files[1], long, long},
		"hostile":    {q.Files[2], "<script>\u202e</script>\r\n", "<script>⟨U+202E⟩</script>⟨U+000D⟩\n"},
		"empty":      {q.Files[3], "", ""},
	} {
		exact, shown := get(path+"/inputs/"+row.of.SHA256.String()), get(path+"/inputs/"+row.of.SHA256.String()+"?visible")
		if exact.status != 200 || exact.body != row.exact || exact.header.Get("Content-Type") != "application/octet-stream" || len(exact.body) != row.of.Size {
			t.Errorf("%s: %d %q %v", name, exact.status, exact.body, exact.header)
		}
		if shown.status != 200 || shown.body != row.shown || shown.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %d %q %v", name, shown.status, shown.body, shown.header)
		}
		for _, got := range []answer{exact, shown} {
			if got.header.Get("Content-Disposition") != "attachment" || got.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: a browser might make a page of it: %v", name, got.header)
			}
		}
	}
	code, stdin := q.CodeSHA256.String(), q.Stdin.SHA256.String()
	for bad, status := range map[string]int{
		path + "/inputs/" + code:                       404, // it is no input, and stands in the question
		path + "/inputs/typed":                         400,
		path + "/inputs/" + stdin + "?visible=x":       400,
		path + "/inputs/" + stdin + "?show":            400,
		path + "/inputs/":                              404,
		"/api/v1/approvals/op_nothing/inputs/" + stdin: 404,
		path + "/inputs/" + strings.ToUpper(stdin[7:]): 400,
		path + "/inputs/" + q.Files[0].Name:            404,
	} {
		if got := get(bad); got.status != status || strings.Contains(got.body, "typed\"") {
			t.Errorf("%s: %d %s", bad, got.status, got.body)
		}
	}
}

func TestADecisionCountsOnceAndEveryOtherAnswerSaysWhyNot(t *testing.T) {
	s := startAsking(t, nil)
	r, late := s.desk.put(t, time.Hour), s.desk.put(t, -time.Second)
	for _, row := range []struct {
		id     execution.ID
		body   string
		status int
		says   string
	}{
		{"op_nothing", yes(r), 404, `"cause":"unknown"`},
		{r.ID, yes(late), 409, `"cause":"stale"`},
		{late.ID, yes(late), 409, `"cause":"expired"`},
		{r.ID, yes(r), 200, `"state":"approved"`},
		{r.ID, yes(r), 409, `"cause":"decided"`},
	} {
		if got := s.decide(row.id, row.body); got.status != row.status || !strings.Contains(got.body, row.says) {
			t.Errorf("%.90s: %d %s", row.body, got.status, got.body)
		}
	}
	got, err := s.desk.Find(t.Context(), r.ID)
	if err != nil || got.State != execution.StateApproved || got.Approval.Answer.By != "api:boss" || got.Approval.Answer.Scope != execution.Once {
		t.Errorf("%+v %v", got.Approval, err)
	}
}

func TestOfManyWhoDecideAtOnceOneDoes(t *testing.T) {
	s := startAsking(t, nil)
	r := s.desk.put(t, time.Hour)
	statuses := make(chan int, 16)
	var all sync.WaitGroup
	for range cap(statuses) {
		all.Go(func() { statuses <- s.decide(r.ID, yes(r)).status })
	}
	all.Wait()
	close(statuses)
	count := map[int]int{}
	for status := range statuses {
		count[status]++
	}
	if count[http.StatusOK] != 1 || count[http.StatusConflict] != cap(statuses)-1 {
		t.Errorf("%v", count)
	}
}

func TestTheListHoldsWhatIsOpenOrAll(t *testing.T) {
	s := startAsking(t, nil)
	open, denied, withdrawn, expired := s.desk.put(t, time.Hour), s.desk.put(t, time.Hour), s.desk.put(t, time.Hour), s.desk.put(t, -time.Second)
	if got := s.decide(denied.ID, fmt.Sprintf(`{"decision":"deny","message":"use the API","hash":%q}`, denied.Approval.Hash)); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	s.desk.end(t, withdrawn, execution.StatusCancelled)
	s.desk.end(t, expired, execution.StatusDenied)
	list := func(query string) questionList {
		t.Helper()
		got := s.ask("GET", "/api/v1/approvals"+query, "", "Authorization", s.operator)
		var l questionList
		if err := json.Unmarshal([]byte(got.body), &l); err != nil || got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, got.status, got.body)
		}
		return l
	}
	if l := list(""); len(l.Approvals) != 1 || l.Approvals[0].ID != open.ID || l.Approvals[0].State != standsOpen {
		t.Errorf("%+v", l)
	}
	want := []standing{standsExpired, standsWithdrawn, standsDenied, standsOpen}
	var before string
	for _, state := range want {
		l := list("?all=true&limit=1" + before)
		if len(l.Approvals) != 1 || l.Approvals[0].State != state || l.Next != l.Approvals[0].ID {
			t.Errorf("%s: %+v", state, l)
		}
		before = "&before=" + string(l.Next)
	}
	if l := list("?all=true&limit=1" + before); len(l.Approvals) != 0 || l.Next != "" {
		t.Errorf("%+v", l)
	}
	for _, query := range []string{"?limit=0", "?limit=501", "?all=perhaps", "?before=op_nothing&limit=x"} {
		if got := s.ask("GET", "/api/v1/approvals"+query, "", "Authorization", s.operator); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, got.status)
		}
	}
}

// failing decides as it is told.
type failing struct {
	desk
	err error
}

func (f failing) Decide(context.Context, approval.Decision) error { return f.err }

func TestWhatADecisionFailsOfIsToldAsFarAsItHelps(t *testing.T) {
	d := openDesk(t, t.TempDir())
	f := &failing{desk: d}
	s := &asking{site: start(t, Config{Approvals: f}, nil), desk: d}
	s.operator = "Bearer " + s.create("boss", token.Rights{Role: token.Operator})
	r := d.put(t, time.Hour)
	for _, row := range []struct {
		err    error
		status int
		says   string
	}{
		{&approval.RefusedError{Cause: approval.Unproven, Message: "a passphrase is needed"}, 403, `"cause":"credential"`},
		{&approval.RefusedError{Cause: approval.Throttled, Message: "later", RetryAfter: 90 * time.Second}, 429, `"cause":"throttled"`},
		{&execution.RejectedError{Code: execution.CodeUnavailable, Message: "no rules here"}, 503, "no rules here"},
		{fmt.Errorf("open /home/operator/secret: denied"), 500, "INTERNAL"},
	} {
		f.err = row.err
		got := s.decide(r.ID, yes(r))
		if got.status != row.status || !strings.Contains(got.body, row.says) || strings.Contains(got.body, "/home/operator") {
			t.Errorf("%v: %d %s", row.err, got.status, got.body)
		}
		if row.status == 429 && got.header.Get("Retry-After") != "90" {
			t.Errorf("%v", got.header)
		}
	}
}

func FuzzADecisionIsTakenOnlyAsItIsDescribed(f *testing.F) {
	hash := execution.DigestOf([]byte("x")).String()
	for _, text := range []string{
		`{"decision":"approve","hash":"` + hash + `"}`, `{"decision":"deny","hash":"` + hash + `","message":"no"}`,
		`{"decision":"approve","scope":"always","hash":"` + hash + `","credential":"123456"}`, `{"decision":"approve","HASH":"` + hash + `"}`, `[]`, `null`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parseBody[decision](text)
		if err == nil {
			err = d.check()
		}
		if err != nil {
			if wrong := new(bodyError); !errors.As(err, &wrong) || len(wrong.Error()) > 500 || foreign(wrong.Error()) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if d.Decision != approve && d.Decision != deny || d.Hash.IsZero() || len(d.Message) > approval.MaxMessage || d.Decision == deny && d.Scope != nil {
			t.Errorf("%+v of %s", d, text)
		}
		// Another reader of the same text sees the same, and nothing beside it.
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if fields["decision"] != string(d.Decision) || fields["hash"] != d.Hash.String() && !strings.EqualFold(fmt.Sprint(fields["hash"]), d.Hash.String()) {
			t.Errorf("%+v of %s", d, text)
		}
		for name := range fields {
			switch name {
			case "decision", "scope", "message", "hash", "credential":
			default:
				t.Errorf("the field %q was taken", name)
			}
		}
	})
}
