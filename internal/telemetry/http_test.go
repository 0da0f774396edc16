package telemetry_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

// site answers in each way that handlers do.
func site(release <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /mcp", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/api/v1/deadline", func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("/api/v1/panic", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	return mux
}

func TestRequestsAreCountedByRouteAndClass(t *testing.T) {
	m := metrics(t)
	release := make(chan struct{})
	server := httptest.NewServer(m.HTTP(site(release), telemetry.Route))
	defer server.Close()
	get := func(method, path string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := server.Client().Do(req)
		if err != nil {
			return nil
		}
		return res
	}
	for _, c := range []struct{ method, path string }{
		{"POST", "/mcp"},
		{"POST", "/mcp"},
		{"GET", "/healthz"},
		{"GET", "/readyz"},
		{"GET", "/api/v1/deadline"},
		{"POST", "/api/v1/panic"},
		{"GET", "/wp-login.php"},
		{"GET", "/api/v1"},
	} {
		if res := get(c.method, c.path); res != nil {
			_ = res.Body.Close()
		}
	}
	stream := get("GET", "/mcp")
	if line, err := bufio.NewReader(stream.Body).ReadString('\n'); line != "data: 1\n" {
		t.Fatalf("the stream does not flow while it is open: %q %v", line, err)
	}
	if n := value(t, scrape(t, m), "gearbox_http_requests_in_flight"); n != 1 {
		t.Errorf("%v requests in flight while a stream is open", n)
	}
	close(release)
	_, _ = io.Copy(io.Discard, stream.Body)
	_ = stream.Body.Close()
	server.Close() // waits for the handlers

	got := scrape(t, m)
	for _, c := range []struct {
		want         float64
		route, class string
	}{
		{2 + 1, "/mcp", "2xx"},
		{1, "/healthz", "2xx"},
		{1, "/readyz", "5xx"},
		{0, "/readyz", "1xx"},
		{1, "/api/v1/", "2xx"},
		{1, "/api/v1/", "5xx"},
		{2, "other", "4xx"},
	} {
		if n := value(t, got, "gearbox_http_requests_total", "route="+c.route, "class="+c.class); n != c.want {
			t.Errorf("%s %s: %v, want %v", c.route, c.class, n, c.want)
		}
	}
	if n := value(t, got, "gearbox_http_request_duration_seconds", "route=/mcp"); n != 2 {
		t.Errorf("%v durations of /mcp: the stream is one, or a call is none", n)
	}
	if n := value(t, got, "gearbox_http_requests_in_flight"); n != 0 {
		t.Errorf("%v requests in flight after the end", n)
	}
}

func TestTheRouteIsAskedWhenTheHandlerHasMatched(t *testing.T) {
	m := metrics(t)
	var pattern string
	h := m.HTTP(site(nil), func(r *http.Request) string { pattern = r.Pattern; return "/healthz" })
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/healthz", nil))
	if pattern != "GET /healthz" {
		t.Errorf("the pattern was %q", pattern)
	}
}

func TestAWriteThatFailsIsTheHandlersToSee(t *testing.T) {
	broken := fmt.Errorf("the client is gone")
	var got error
	h := metrics(t).HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, got = w.Write([]byte("x")) }), telemetry.Route)
	h.ServeHTTP(brokenWriter{httptest.NewRecorder(), broken}, httptest.NewRequest(http.MethodGet, "/mcp", nil))
	if got != broken { //nolint:errorlint // exactly this one
		t.Errorf("%v", got)
	}
}

type brokenWriter struct {
	http.ResponseWriter
	err error
}

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
