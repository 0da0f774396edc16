package instance

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/socket"
)

// The bounds of one question. Whoever asks sits on the same machine, so that a slow
// one is a broken one. A handler whose answer takes longer by its nature lifts its
// deadlines with an [http.ResponseController].
const (
	maxHeader   = 4 << 10
	maxQuestion = 64 << 10
	askingTime  = 5 * time.Second
)

// verdict is what was found out about the other end of a connection: why it may not
// ask, or nil. The connection's context holds it.
type verdict struct{ err error }

type verdictKey struct{}

func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           guard(h),
		ReadHeaderTimeout: askingTime, ReadTimeout: askingTime, WriteTimeout: askingTime, IdleTimeout: askingTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			err := socket.CheckPeer(c)
			if err != nil {
				log.Warn("a process that may not ask this instance was refused", "reason", err)
			}
			return context.WithValue(ctx, verdictKey{}, verdict{err})
		},
	}
}

// guard is what every question passes first.
func guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, checked := r.Context().Value(verdictKey{}).(verdict)
		switch {
		case !checked:
			refuse(w, "the other end of this connection was not checked")
		case v.err != nil:
			refuse(w, v.err.Error())
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxQuestion)
			h.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, reason string) {
	w.Header().Set("Connection", "close")
	Fail(w, http.StatusForbidden, reason)
}

// Reply answers with a value as JSON.
func Reply(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		Fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	write(w, http.StatusOK, text)
}

// Fail answers with an HTTP status and a sentence that says why.
func Fail(w http.ResponseWriter, status int, reason string) {
	text, _ := json.Marshal(failure{reason}) // a string always is JSON
	write(w, status, text)
}

// failure is the body of an answer whose status is not 200.
type failure struct {
	Error string `json:"error"`
}

func write(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // whoever asked may be gone
}
