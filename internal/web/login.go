package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// Login is somebody who came in or was turned away.
type Login struct {
	Accepted bool
	// Principal is who came in; of who was turned away, whose token it was, if anybody's.
	Principal execution.Principal
	// Remote is the address of the other end, "unix" for a socket of the file system.
	Remote string
	// UserAgent is what the client says of itself.
	UserAgent string
	// Reason is why somebody was turned away.
	Reason string
	// Unrecorded is how many others were turned away before, and left out because they
	// came too fast.
	Unrecorded int
}

// Logins keeps the record of those who come. It is safe for concurrent use. An error
// means that it was not kept: then nobody comes in.
type Logins interface {
	Login(context.Context, Login) error
}

const (
	// loginAgain is how long somebody without a session counts as having come in.
	loginAgain = time.Hour
	// maxVisitors bounds what is remembered of those.
	maxVisitors = 10_000
	// refusalBurst are the refusals that are recorded at once, and then one each second:
	// everybody can be turned away, and the record is not theirs to fill.
	refusalBurst = 60
	// maxUserAgent bounds what a client says of itself.
	maxUserAgent = 200
)

// logins records who comes: once for each session, and where the protocol has none,
// once an hour for each principal and address.
type logins struct {
	sink Logins // nil for none
	log  *slog.Logger
	now  func() time.Time

	mu         sync.Mutex // guards what follows
	visitors   map[visitor]time.Time
	refusals   *rate.Limiter
	unrecorded int
}

type visitor struct {
	who    execution.Principal
	remote string
}

func newLogins(sink Logins, log *slog.Logger, now func() time.Time) *logins {
	return &logins{sink: sink, log: log, now: now, visitors: map[visitor]time.Time{}, refusals: rate.NewLimiter(1, refusalBurst)}
}

// accepted records who comes in, unless that is known.
func (l *logins) accepted(r *http.Request, c execution.Caller) error {
	if l.sink == nil || !l.news(visitor{c.Principal, remoteOf(r)}, opensSession(r)) {
		return nil
	}
	err := l.sink.Login(r.Context(), Login{Accepted: true, Principal: c.Principal, Remote: remoteOf(r), UserAgent: userAgent(r)})
	if err != nil {
		l.forget(visitor{c.Principal, remoteOf(r)})
		return fmt.Errorf("record who comes in: %w", err)
	}
	return nil
}

// news notes a visit and reports whether it is to be recorded.
func (l *logins) news(v visitor, session bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	last, known := l.visitors[v]
	if known && !session && now.Sub(last) < loginAgain {
		return false
	}
	if len(l.visitors) >= maxVisitors {
		for old, at := range l.visitors {
			if now.Sub(at) >= loginAgain {
				delete(l.visitors, old)
			}
		}
		if len(l.visitors) >= maxVisitors {
			clear(l.visitors) // they are recorded once more
		}
	}
	l.visitors[v] = now
	return true
}

func (l *logins) forget(v visitor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.visitors, v)
}

// refused records who is turned away.
func (l *logins) refused(r *http.Request, why error) {
	record := Login{Remote: remoteOf(r), UserAgent: userAgent(r), Reason: why.Error()}
	var refused *token.RefusedError
	if errors.As(why, &refused) {
		record.Reason = refused.Reason
		if refused.Token != "" {
			record.Principal = token.Token{Name: refused.Token}.Principal()
		}
	}
	l.mu.Lock()
	if !l.refusals.AllowN(l.now(), 1) {
		l.unrecorded++
		l.mu.Unlock()
		return
	}
	record.Unrecorded, l.unrecorded = l.unrecorded, 0
	l.mu.Unlock()
	l.log.LogAttrs(r.Context(), slog.LevelWarn, "a request was turned away", slog.String("reason", record.Reason),
		slog.String("remote", record.Remote), slog.String("principal", string(record.Principal)), slog.Int("unrecorded", record.Unrecorded))
	if l.sink == nil {
		return
	}
	if err := l.sink.Login(r.Context(), record); err != nil {
		l.log.LogAttrs(r.Context(), slog.LevelError, "a refusal could not be recorded", slog.String("error", err.Error()))
	}
}

// opensSession reports whether a request begins a session of the protocol.
func opensSession(r *http.Request) bool {
	return r.URL.Path == pathMCP && r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && r.Header.Get("Mcp-Method") == ""
}

func userAgent(r *http.Request) string {
	agent := r.UserAgent()
	return agent[:min(len(agent), maxUserAgent)]
}

// remoteOf is the address without the port, which is another one each time.
func remoteOf(r *http.Request) string {
	if arrivalOf(r).unix {
		return "unix"
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
