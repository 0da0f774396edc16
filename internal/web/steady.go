package web

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// The patience with clients. Deadlines move with what arrives, so that an answer may
// take as long as it likes and a client may not.
const (
	// headerTime is for the head of a request.
	headerTime = 10 * time.Second
	// idleTime is how long a connection may wait for its next request.
	idleTime = 2 * time.Minute
	// maxHeader bounds the head of a request in bytes.
	maxHeader = 32 << 10
)

// pace is what is asked of a client that sends a body, or takes what is written.
type pace struct {
	// start is the time that it has in any case.
	start time.Duration
	// slowest is its least speed beyond that, in bytes a second.
	slowest int64
}

func defaultPace() pace { return pace{start: 15 * time.Second, slowest: 64 << 10} }

// allowance is how long so many bytes may take.
func (p pace) allowance(n int64) time.Duration {
	return p.start + time.Duration(n)*time.Second/time.Duration(p.slowest)
}

// steady holds a client to its pace. Errors of deadlines are left out: where a writer
// has none, it is a test's.
type steady struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace
	wrote   bool
}

// keep is a writer and a request with deadlines. finish is called when the request
// is answered. The request that came stays as it was: net/http looks at its body to
// know what is left of it.
func (p pace) keep(w http.ResponseWriter, r *http.Request) (s *steady, with *http.Request, finish func()) {
	s = &steady{ResponseWriter: w, control: http.NewResponseController(w), pace: p}
	if r.ContentLength != 0 && r.Body != nil {
		b := &steadyBody{ReadCloser: r.Body, control: s.control, pace: p, start: time.Now()}
		_ = s.control.SetReadDeadline(b.start.Add(p.allowance(0))) // also for a body that nobody reads
		r = r.WithContext(r.Context())
		r.Body = b
	}
	return s, r, func() { s.due(0) }
}

func (s *steady) due(n int) {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.pace.allowance(int64(n))))
}

// WriteHeader implements [http.ResponseWriter].
func (s *steady) WriteHeader(status int) {
	s.wrote = true
	s.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (s *steady) Write(p []byte) (int, error) {
	s.wrote = true
	s.due(len(p))
	return s.ResponseWriter.Write(p)
}

// FlushError sends what is buffered, see [http.ResponseController.Flush].
func (s *steady) FlushError() error {
	s.due(0)
	return s.control.Flush()
}

// Unwrap is for [http.ResponseController].
func (s *steady) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// steadyBody is a body with a deadline that moves with what arrives.
type steadyBody struct {
	io.ReadCloser
	control *http.ResponseController
	pace    pace
	start   time.Time
	got     int64
}

// Read implements [io.Reader].
func (b *steadyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.got += int64(n)
	var deadline time.Time // none, once the body is there: the next read is the server's own
	if !errors.Is(err, io.EOF) {
		deadline = b.start.Add(b.pace.allowance(b.got))
	}
	_ = b.control.SetReadDeadline(deadline)
	return n, err
}
