package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/token"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func request(t testing.TB, method, path string, header ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), arrivalKey{}, arrival{}), method, path, http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestAnswersAreOfNoUseToABrowser(t *testing.T) {
	s := start(t, Config{}, nil)
	for _, path := range paths() {
		got := s.ask(http.MethodGet, path, "")
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Cache-Control": "no-store",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.header.Get(name))
			}
		}
	}
}

func TestAnUnknownPathIsNotFound(t *testing.T) {
	s := start(t, Config{}, nil)
	if got := s.ask(http.MethodGet, "/nothing", ""); got.status != http.StatusNotFound || !strings.Contains(got.body, "/mcp") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestAPanicIsAnAnswerAndNotTheEnd(t *testing.T) {
	s := start(t, Config{}, nil)
	if got := s.ask(http.MethodPost, "/mcp", "panic"); got.status != http.StatusInternalServerError || strings.Contains(got.body, "purpose") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if !strings.Contains(s.book.String(), "on purpose") {
		t.Error("the log does not say why")
	}
	if got := s.ask(http.MethodPost, "/mcp", ""); got.status != http.StatusOK {
		t.Error(got.status)
	}
}

// raw sends what no proper client would.
func (s *site) raw(text string) net.Conn {
	s.t.Helper()
	c, err := new(net.Dialer).DialContext(s.t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c
}

func statusOn(t *testing.T, c net.Conn) int {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode
}

func TestABodyThatIsTooLongIsRefused(t *testing.T) {
	s := start(t, Config{}, nil)
	// Announced, and nothing of it sent: the answer does not wait for it.
	for _, path := range []string{"/mcp", "/api/v1/operations/op_1/cancel"} {
		c := s.raw("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000000\r\n\r\n")
		if got := statusOn(t, c); got != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d", path, got)
		}
	}
	// Not announced.
	c := s.raw("POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
	go func() {
		block := fmt.Appendf(nil, "%x\r\n%s\r\n", 1<<16, bytes.Repeat([]byte("x"), 1<<16))
		for range 20 {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	}()
	if got := statusOn(t, c); got != http.StatusRequestEntityTooLarge {
		t.Errorf("chunked: %d", got)
	}
}

func TestNothingOfABodyIsReadBeforeItIsKnownWhoSentIt(t *testing.T) {
	s := start(t, Config{}, nil)
	s.create("a", token.Rights{})
	c := s.raw("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
	if got := statusOn(t, c); got != http.StatusUnauthorized {
		t.Error(got)
	}
}

func TestClientsThatSendTooSlowlyAreCutOff(t *testing.T) {
	s := start(t, Config{}, func(s *Server) {
		s.http.ReadHeaderTimeout = time.Millisecond
		s.pace.start = time.Millisecond
	})
	for name, head := range map[string]string{
		"in the head": "POST /mcp HTTP/1.1\r\nHost: loc",
		"in the body": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nso far",
	} {
		if _, err := io.ReadAll(s.raw(head)); err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		} // it has ended: that is all that was waited for
	}
}

func TestAClientThatTakesNothingIsCutOff(t *testing.T) {
	s := start(t, Config{}, func(s *Server) { s.pace = pace{start: time.Millisecond, slowest: 1 << 40} })
	s.raw("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nflood")
	<-s.agents.started // the handler is told that its answer goes nowhere
}

func TestALongAnswerIsNotCut(t *testing.T) {
	s := start(t, Config{}, func(s *Server) { s.pace.start = 20 * time.Millisecond })
	got := make(chan answer)
	go func() { got <- s.ask(http.MethodPost, "/mcp", "hold") }()
	<-s.agents.started
	timer := time.NewTimer(100 * time.Millisecond) // longer than any deadline that was set until now
	<-timer.C
	s.agents.release <- struct{}{}
	if a := <-got; a.body != "so far to the end" {
		t.Errorf("%q", a.body)
	}
}

func TestReadinessIsAskedOnceForAllAndCountsForAWhile(t *testing.T) {
	var mu sync.Mutex
	now, asked, broken := time.Unix(1000, 0), 0, error(nil)
	set := func(f func()) { mu.Lock(); defer mu.Unlock(); f() }
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := start(t, Config{
		Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		Ready: readyFunc(func(context.Context) error {
			begun <- struct{}{}
			<-goOn
			mu.Lock()
			defer mu.Unlock()
			asked++
			return broken
		}),
	}, nil)
	many := make(chan int)
	const askers = 5
	for range askers {
		go func() { many <- s.ask(http.MethodGet, "/readyz", "").status }()
	}
	<-begun
	goOn <- struct{}{}
	for range askers { // those who come when it is answered get the same answer
		if status := <-many; status != http.StatusOK {
			t.Error(status)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	again := func(want int) {
		t.Helper()
		go func() { many <- s.ask(http.MethodGet, "/readyz", "").status }()
		<-begun
		goOn <- struct{}{}
		if status := <-many; status != want {
			t.Errorf("%d, not %d", status, want)
		}
	}
	set(func() { now, broken = now.Add(readyFor), errors.New("no sandbox at /home/operator") })
	again(http.StatusServiceUnavailable)
	if got := s.ask(http.MethodGet, "/readyz", ""); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "operator") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.ask(http.MethodGet, "/healthz", ""); got.status != http.StatusOK {
		t.Errorf("%d: it lives all the same", got.status)
	}
	set(func() {
		now, broken = now.Add(notReadyFor), fmt.Errorf("write /home/operator/records: %w", fullError{})
	})
	again(http.StatusServiceUnavailable)
	if got := s.ask(http.MethodGet, "/readyz", ""); !strings.Contains(got.body, "the shelf is full") || strings.Contains(got.body, "operator") {
		t.Errorf("%d %s", got.status, got.body)
	}
	set(func() { now, broken = now.Add(notReadyFor), nil })
	again(http.StatusOK)
}

// fullError has something to say to everybody.
type fullError struct{}

func (fullError) Error() string  { return "no room" }
func (fullError) Reason() string { return "the shelf is full" }

func TestStoppingLetsCallsEndAndTakesNoNewOnes(t *testing.T) {
	s := start(t, Config{}, nil)
	call, stream := make(chan answer), make(chan answer)
	go func() { call <- s.ask(http.MethodPost, "/mcp", "hold") }()
	<-s.agents.started
	go func() { stream <- s.ask(http.MethodGet, "/mcp", "", "Listen", "yes") }()
	<-s.agents.started
	s.end()
	<-stream // nobody waits for those who only listen
	for {    // the listener closes beside this
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			break
		}
		_ = c.Close()
	}
	s.agents.release <- struct{}{}
	if a := <-call; a.body != "so far to the end" {
		t.Errorf("the call was cut: %q", a.body)
	}
}

func TestWhatDoesNotEndInTimeIsCutAndStillAnswered(t *testing.T) {
	cut := make(chan struct{})
	s := start(t, Config{Grace: time.Millisecond, Cut: func() { close(cut) }}, nil)
	call := make(chan answer)
	go func() { call <- s.ask(http.MethodPost, "/mcp", "hold") }()
	<-s.agents.started
	s.end()
	<-cut
	s.agents.release <- struct{}{} // what runs was ended
	if a := <-call; a.body != "so far to the end" {
		t.Errorf("%q", a.body)
	}
}
