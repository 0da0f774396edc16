package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// Tokens recognises the holders of tokens. It is safe for concurrent use.
type Tokens interface {
	// List is every token, also those that are revoked or expired.
	List() ([]token.Token, error)
	// Verify finds the token of a secret. The error wraps [token.ErrRefused] when there
	// is no valid one.
	Verify(secret string) (token.Token, error)
	// Used notes that a token was used.
	Used(token.Token) error
}

// bearer finds out who sends a request.
type bearer struct {
	tokens Tokens
	logins *logins
	log    *slog.Logger
	now    func() time.Time
	noting atomic.Bool    // the use of a token is being noted
	noted  sync.WaitGroup // of all that were
	// recheck is how long the stream of a token that is no longer valid may go on.
	recheck time.Duration
	// always says that only the holders of tokens come in over TCP.
	always atomic.Bool
}

// require lets h answer those that may come in with one of the roles, under their own
// name.
func (b *bearer) require(h http.Handler, roles ...token.Role) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret, sent := secretOf(r)
		who, err := b.identify(r, secret, sent, roles)
		if err == nil {
			err = b.logins.accepted(r, who)
		}
		var wrong *roleError
		switch {
		case errors.As(err, &wrong):
			b.logins.refused(r, err)
			refuse(w, r, http.StatusForbidden, codeForbidden, wrong.Error())
		case errors.Is(err, token.ErrRefused):
			b.logins.refused(r, err)
			unauthenticated(w, r, roles)
		case err != nil:
			b.log.LogAttrs(r.Context(), slog.LevelError, "nobody can be let in", slog.String("error", err.Error()))
			refuse(w, r, http.StatusServiceUnavailable, execution.CodeUnavailable, "it cannot be found out now who may come in; the log of the server has the reason")
		default:
			ctx := execution.WithCaller(r.Context(), who)
			if sent {
				var stop func()
				ctx, stop = b.whileValid(ctx, secret)
				defer stop()
			}
			h.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// identify is the caller. Where a token was sent it decides, also where none is needed.
// Without one everybody is an agent at most: by every way that is open without a token,
// loopback and the socket, agents come too.
func (b *bearer) identify(r *http.Request, secret string, sent bool, roles []token.Role) (execution.Caller, error) {
	if !sent {
		needed, err := true, error(nil)
		if slices.Contains(roles, token.Agent) {
			needed, err = b.needed(r)
		}
		if err != nil {
			return execution.Caller{}, err
		}
		if needed {
			return execution.Caller{}, &token.RefusedError{Reason: "no token"}
		}
		return execution.Caller{Principal: execution.Local}, nil
	}
	t, err := b.tokens.Verify(secret)
	if err != nil {
		return execution.Caller{}, err
	}
	if !slices.Contains(roles, t.Role) {
		return execution.Caller{}, &roleError{t}
	}
	b.note(t)
	return t.Caller(), nil
}

// roleError says that a token is valid and for something else.
type roleError struct{ t token.Token }

func (e *roleError) Error() string {
	if e.t.Role == token.Operator {
		return "the token " + e.t.Name + " is an operator's: it answers what people are asked and runs nothing; agents need one of gearbox token create NAME"
	}
	return "the token " + e.t.Name + " is an agent's, and no agent decides or sees what people are asked; the operator makes another one with: gearbox token create NAME --operator"
}

// note notes the use of a token beside the answer, one at a time: nobody waits for a
// disk because of this, and nobody stays out.
func (b *bearer) note(t token.Token) {
	if b.now().Sub(t.LastUsed) < token.Coarse || !b.noting.CompareAndSwap(false, true) {
		return
	}
	b.noted.Go(func() {
		defer b.noting.Store(false)
		if err := b.tokens.Used(t); err != nil {
			b.log.Warn("the use of a token could not be noted", "token", t.Name, "error", err)
		}
	})
}

// needed reports whether an agent needs a token. Once there was one there is no way back,
// whatever becomes of the file. Those of operators do not count: agents that came without
// one go on doing so.
func (b *bearer) needed(r *http.Request) (bool, error) {
	if arrivalOf(r).unix {
		return false, nil
	}
	if b.always.Load() {
		return true, nil
	}
	all, err := b.tokens.List()
	there := slices.ContainsFunc(all, func(t token.Token) bool { return t.Role == token.Agent })
	if err == nil && there {
		b.always.Store(true)
	}
	return there, err
}

// secretOf is what stands in the header. Anything there that is no bearer token is a
// malformed one.
func secretOf(r *http.Request) (secret string, sent bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		return "", false
	}
	scheme, secret, _ := strings.Cut(headers[0], " ")
	if len(headers) > 1 || !strings.EqualFold(scheme, "bearer") {
		return "", true
	}
	return strings.TrimSpace(secret), true
}

// recheck is the default of [bearer.recheck].
const recheck = 5 * time.Second

// whileValid is a context that ends soon after the token does. Most requests are over
// before the first look.
func (b *bearer) whileValid(ctx context.Context, secret string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	first := time.AfterFunc(b.recheck, func() {
		defer close(ended)
		b.watch(ctx, secret)
		cancel()
	})
	return ctx, func() {
		cancel()
		if !first.Stop() {
			<-ended
		}
	}
}

// watch returns when the token is no longer valid or ctx has ended.
func (b *bearer) watch(ctx context.Context, secret string) {
	again := time.NewTicker(b.recheck)
	defer again.Stop()
	for {
		if _, err := b.tokens.Verify(secret); err != nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// unauthenticated is one answer for every reason.
func unauthenticated(w http.ResponseWriter, r *http.Request, roles []token.Role) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	command := "gearbox token create NAME"
	if !slices.Contains(roles, token.Agent) {
		command += " --operator"
	}
	refuse(w, r, http.StatusUnauthorized, codeUnauthenticated, "a valid token is needed: send it in the header Authorization: Bearer. The operator makes one with: "+command)
}
