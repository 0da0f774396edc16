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
	// sendTime is what a client has to send a body or to take what is written, beside
	// the time that slowest allows for its length.
	sendTime = 15 * time.Second
	// slowest is the least speed of a client in bytes a second.
	slowest = 64 << 10
	// maxHeader bounds the head of a request in bytes.
	maxHeader = 32 << 10
)

// allowance is how long so many bytes may take.
func allowance(n int64) time.Duration {
	return sendTime + time.Duration(n)*time.Second/slowest
}

// steady holds a client to its pace. Errors of deadlines are left out: where a writer
// has none, it is a test's.
type steady struct {
	http.ResponseWriter
	control *http.ResponseController
	wrote   bool
}

// keepPace is a writer and a request with deadlines. finish is called when the request
// is answered.
func keepPace(w http.ResponseWriter, r *http.Request) (s *steady, finish func()) {
	s = &steady{ResponseWriter: w, control: http.NewResponseController(w)}
	if r.ContentLength != 0 && r.Body != nil {
		b := &steadyBody{ReadCloser: r.Body, control: s.control, start: time.Now()}
		_ = s.control.SetReadDeadline(b.start.Add(allowance(0))) // also for a body that nobody reads
		r.Body = b
	}
	return s, func() { s.due(0) }
}

func (s *steady) due(n int) { _ = s.control.SetWriteDeadline(time.Now().Add(allowance(int64(n)))) }

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
	start   time.Time
	got     int64
}

// Read implements [io.Reader].
func (b *steadyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.got += int64(n)
	var deadline time.Time // none, once the body is there: the next read is the server's own
	if !errors.Is(err, io.EOF) {
		deadline = b.start.Add(allowance(b.got))
	}
	_ = b.control.SetReadDeadline(deadline)
	return n, err
}
