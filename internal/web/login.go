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
	// Unrecorded is how many were left out before because they came too fast: others that
	// were turned away, or of who came in, more sessions from the same address.
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
	// sessionBurst are the sessions of one principal from one address that are recorded at
	// once, and then one each sessionEvery: who may come in may open any number.
	sessionBurst = 20
	sessionEvery = time.Minute
	// maxUserAgent bounds what a client says of itself.
	maxUserAgent = 200
)

// logins records who comes: once for each session, as far as those do not come too fast,
// and where the protocol has none, once an hour for each principal and address.
type logins struct {
	sink Logins // nil for none
	log  *slog.Logger
	now  func() time.Time

	mu         sync.Mutex // guards what follows
	visitors   map[visitor]*visits
	refusals   *rate.Limiter
	unrecorded int
}

type visitor struct {
	who    execution.Principal
	remote string
}

// visits are those of one visitor.
type visits struct {
	recorded   time.Time // when one last was
	sessions   *rate.Limiter
	unrecorded int
}

func newLogins(sink Logins, log *slog.Logger, now func() time.Time) *logins {
	return &logins{sink: sink, log: log, now: now, visitors: map[visitor]*visits{}, refusals: rate.NewLimiter(1, refusalBurst)}
}

// accepted records who comes in, unless that is known.
func (l *logins) accepted(r *http.Request, c execution.Caller) error {
	if l.sink == nil {
		return nil
	}
	v := visitor{c.Principal, remoteOf(r)}
	before, news := l.news(v, opensSession(r))
	if !news {
		return nil
	}
	err := l.sink.Login(r.Context(), Login{Accepted: true, Principal: c.Principal, Remote: v.remote, UserAgent: userAgent(r), Unrecorded: before})
	if err != nil {
		l.unmark(v, before)
		return fmt.Errorf("record who comes in: %w", err)
	}
	return nil
}

// news notes a visit and reports whether it is to be recorded, and how many before it
// were not because they came too fast.
func (l *logins) news(v visitor, session bool) (before int, news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	known := l.visitors[v]
	if known == nil {
		l.makeRoom(now)
		known = &visits{sessions: rate.NewLimiter(rate.Every(sessionEvery), sessionBurst)}
		l.visitors[v] = known
	}
	due := now.Sub(known.recorded) >= loginAgain
	switch {
	case !session && !due:
		return 0, false
	case session && !known.sessions.AllowN(now, 1) && !due:
		known.unrecorded++
		return 0, false
	}
	before, known.unrecorded, known.recorded = known.unrecorded, 0, now
	return before, true
}

// makeRoom forgets visitors that have not come for long, when there are many. The mutex
// is held.
func (l *logins) makeRoom(now time.Time) {
	if len(l.visitors) < maxVisitors {
		return
	}
	for old, v := range l.visitors {
		if now.Sub(v.recorded) >= loginAgain && v.unrecorded == 0 {
			delete(l.visitors, old)
		}
	}
	if len(l.visitors) >= maxVisitors {
		clear(l.visitors) // they are recorded once more
	}
}

// unmark takes back that a visit was recorded, which was to tell of others before it.
func (l *logins) unmark(v visitor, before int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.visitors[v]; known != nil {
		known.recorded = time.Time{}
		known.unrecorded += before
	}
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
