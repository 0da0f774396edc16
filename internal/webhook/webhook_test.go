package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const secretText = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func secret(t testing.TB) Secret {
	t.Helper()
	s, err := ParseSecret(secretText + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// got is a request as the receiver has it.
type got struct {
	path   string
	header http.Header
	body   string
}

// receiver answers as it is told, one status for each request in turn.
type receiver struct {
	*httptest.Server

	got chan got
}

func receive(t *testing.T, statuses ...int) *receiver {
	t.Helper()
	r := &receiver{got: make(chan got, 100)}
	next := make(chan int, len(statuses))
	for _, s := range statuses {
		next <- s
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		status := http.StatusNoContent
		select {
		case status = <-next:
		default:
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		r.got <- got{q.URL.Path, q.Header, string(body)}
	}))
	t.Cleanup(r.Close)
	return r
}

// sender sends without pauses, and gives what became of each message.
func sender(t *testing.T, url string, change func(*Config)) (*Sender, chan Result) {
	t.Helper()
	results := make(chan Result, 2*most)
	c := Config{
		URL: url, Secret: secret(t), Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: time.Now, Version: "1",
		Count: func(r Result) { results <- r }, Pauses: func() backoff.BackOff { return &backoff.ZeroBackOff{} },
	}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, results
}

func message(body string) Message {
	return Message{About: "op_1", Until: time.Now().Add(time.Hour), Body: func(context.Context) ([]byte, error) { return []byte(body), nil }}
}

func TestAMessageIsSignedAsTheStandardSays(t *testing.T) {
	r := receive(t)
	s, results := sender(t, r.URL, nil)
	s.Send(message(`{"type":"approval.asked"}`))
	if got := <-results; got != Delivered {
		t.Fatal(got)
	}
	g := <-r.got
	id, at := g.header.Get("webhook-id"), g.header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Hour || !strings.HasPrefix(id, "msg_") {
		t.Errorf("%v", g.header)
	}
	// By hand, from the words of the specification.
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secretText, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, at, g.body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); g.header.Get("webhook-signature") != want {
		t.Errorf("%v, not %s", g.header, want)
	}
	if g.body != `{"type":"approval.asked"}` || g.header.Get("Content-Type") != "application/json" || g.header.Get("User-Agent") != "gearbox/1" {
		t.Errorf("%+v", g)
	}
}

// The vector is that of the specification's reference libraries.
func TestTheSignatureIsTheOneOfTheReference(t *testing.T) {
	s, _ := sender(t, "http://127.0.0.1:1/", func(c *Config) { c.Now = func() time.Time { return time.Unix(1614265330, 0) } })
	r, err := s.request(t.Context(), "msg_p5jXN8AQM9LWM0D4loKWxJek", []byte(`{"test": 2432232314}`))
	if err != nil || r.Header.Get("webhook-signature") != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("%v %v", r.Header, err)
	}
}

func TestItIsSentAgainUnderTheSameIDUntilItIsTaken(t *testing.T) {
	r := receive(t, 500, 503, 404, 429, 401)
	s, results := sender(t, r.URL, nil)
	s.Send(message("{}"))
	if got := <-results; got != Delivered {
		t.Fatal(got)
	}
	ids := map[string]bool{}
	for range 6 {
		g := <-r.got
		ids[g.header.Get("webhook-id")] = true
	}
	if len(ids) != 1 || len(r.got) != 0 {
		t.Errorf("%v and %d more", ids, len(r.got))
	}
	s.Send(message("{}"))
	if g := <-r.got; ids[g.header.Get("webhook-id")] {
		t.Error("another message has the same id")
	}
}

// TestNoRedirectIsFollowedAndTheMessageIsSentAgain: what stands before a receiver for a
// while, as a page to log in at, does not cost the message.
func TestNoRedirectIsFollowedAndTheMessageIsSentAgain(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := receive(t, status, status)
		s, results := sender(t, r.URL+"/hook", nil)
		s.Send(message("{}"))
		if got := <-results; got != Delivered {
			t.Errorf("%d: %s", status, got)
		}
		if len(r.got) != 3 {
			t.Errorf("%d: %d requests", status, len(r.got))
		}
		for len(r.got) > 0 {
			if g := <-r.got; g.path != "/hook" {
				t.Errorf("%d leads to %s", status, g.path)
			}
		}
	}
}

func TestARedirectSaysInTheLogWhatToDo(t *testing.T) {
	var log bytes.Buffer
	r := receive(t, 302)
	s, results := sender(t, r.URL, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	s.Send(message("{}"))
	<-results
	if !strings.Contains(log.String(), "no redirect is followed: set approvals.webhook.url") {
		t.Errorf("%s", log.String())
	}
}

func TestAReceiverThatIsGoneIsToldOnce(t *testing.T) {
	r := receive(t, http.StatusGone)
	s, results := sender(t, r.URL, nil)
	s.Send(message("{}"))
	if got := <-results; got != Failed || len(r.got) != 1 {
		t.Errorf("%s after %d requests", got, len(r.got))
	}
}

func TestWhatIsSettledIsNotToldAnyMore(t *testing.T) {
	r := receive(t, 500, 500)
	s, results := sender(t, r.URL, nil)
	tries := 0
	m := message("")
	m.Body = func(context.Context) ([]byte, error) {
		if tries++; tries == 3 {
			return nil, nil
		}
		return []byte("{}"), nil
	}
	s.Send(m)
	if got := <-results; got != Outdated || len(r.got) != 2 {
		t.Errorf("%s after %d", got, len(r.got))
	}
	m.Body = func(context.Context) ([]byte, error) { return nil, errors.New("the disk") }
	m.Until = time.Now().Add(-time.Second)
	s.Send(m)
	if got := <-results; got != Failed {
		t.Errorf("%s", got)
	}
}

func TestNobodyWaitsForAReceiverThatHangs(t *testing.T) {
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hung.Close()
	defer close(release)
	s, results := sender(t, hung.URL, nil)
	for range most + 3 {
		s.Send(message("{}"))
	}
	for range 3 {
		if got := <-results; got != Dropped {
			t.Errorf("%s", got)
		}
	}
	s.Close()
	for range most {
		if got := <-results; got != Failed {
			t.Errorf("%s", got)
		}
	}
	s.Send(message("{}")) // and after the end nothing happens
}

func TestAddressesAreSafe(t *testing.T) {
	for _, url := range []string{"https://hooks.example/x?y=z", "http://127.0.0.1:8000/", "http://[::1]/x", "http://localhost:1/", "http://127.9.9.9/"} {
		if err := CheckURL(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{
		"", "hooks.example", "http://hooks.example/", "http://10.0.0.1/", "http://127.0.0.1.evil.example/", "http://localhost.evil.example/",
		"ftp://127.0.0.1/", "https://", "https:///x", "https://user:pw@hooks.example/", "https://hooks.example/#x", "file:///etc/passwd", "http://0.0.0.0/",
	} {
		if err := CheckURL(url); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
}

func TestPlainHTTPReachesLoopbackAloneWhateverTheNameLeadsTo(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "192.0.2.1:80": false, "10.0.0.1:80": false, "[fe80::1%lo]:80": false, "": false} {
		if err := onlyLoopback("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func FuzzOnlySecretsOfTheStandardAreTaken(f *testing.F) {
	for _, s := range []string{secretText, "whsec_", "whsec_AAAA", strings.TrimPrefix(secretText, "whsec_"), secretText + "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSecret(text)
		if err != nil {
			if len(text) > 10 && strings.Contains(err.Error(), text) {
				t.Error("the error tells what was read")
			}
			return
		}
		if len(s.key) < leastSecret || len(s.key) > mostSecret || !strings.HasPrefix(strings.TrimSpace(text), "whsec_") {
			t.Errorf("%q", text)
		}
	})
}
