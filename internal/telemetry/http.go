package telemetry

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

type httpMetrics struct {
	requests counters
	duration histograms
	inFlight prometheus.Gauge
}

func (m *Metrics) httpMetrics() httpMetrics {
	route := label("route", "what was asked for", routes()...)
	return httpMetrics{
		requests: m.counter("gearbox_http_requests_total", "HTTP requests that were answered.", route,
			label("class", "class of the status", "1xx", "2xx", "3xx", "4xx", "5xx")),
		duration: m.histogram("gearbox_http_request_duration_seconds",
			"Time from an HTTP request to the end of its answer. Streams of events that a client holds open by GET are not in it.", durationBuckets(), route),
		inFlight: m.gauge("gearbox_http_requests_in_flight", "HTTP requests that are being answered, open streams among them."),
	}
}

// routes are those that are told apart: whole paths, or with a slash at the end all
// paths below.
func routes() []string { return []string{"/mcp", "/api/v1/", "/healthz", "/readyz", "/metrics"} }

// Route is the route of a request by its path.
func Route(r *http.Request) string {
	for _, route := range routes() {
		if r.URL.Path == route || strings.HasSuffix(route, "/") && strings.HasPrefix(r.URL.Path, route) {
			return route
		}
	}
	return other
}

// HTTP counts what passes a handler. The route function is asked after the handler has
// returned, so that it can read [http.Request.Pattern]; what it returns beside the
// known routes is counted as other.
func (m *Metrics) HTTP(next http.Handler, route func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := m.now()
		m.http.inFlight.Inc()
		seen := &answer{ResponseWriter: w}
		returned := false
		defer func() {
			m.http.inFlight.Dec()
			if !returned {
				seen.status = http.StatusInternalServerError // it panicked, and the server breaks the connection
			}
			where := route(r)
			m.http.requests.at(where, seen.class()).Inc()
			if !(r.Method == http.MethodGet && seen.isStream()) {
				m.http.duration.at(where).Observe(m.now().Sub(began).Seconds())
			}
		}()
		next.ServeHTTP(seen, r)
		returned = true
	})
}

// answer remembers the status that goes out.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	if a.status < http.StatusOK { // 1xx come before the answer
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *answer) Write(b []byte) (int, error) {
	if a.status < http.StatusOK {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Flush implements [http.Flusher], which streams ask for.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// Unwrap is for [http.ResponseController].
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) class() string {
	if a.status == 0 { // nothing was written: the server says 200
		return "2xx"
	}
	return strconv.Itoa(a.status/100) + "xx"
}

func (a *answer) isStream() bool {
	if a.status == http.StatusSwitchingProtocols {
		return true
	}
	kind, _, _ := mime.ParseMediaType(a.Header().Get("Content-Type"))
	return kind == "text/event-stream"
}
