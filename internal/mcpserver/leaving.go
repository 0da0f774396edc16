package mcpserver

import (
	"context"
	"sync"
)

// leaving tells the calls of a session that its client is ending it: nobody waits for
// their answers any more, what they run is ended, and the SDK ends a session only when
// none of its calls is left. The zero leaving is ready for use.
type leaving struct {
	mu       sync.Mutex // guards what follows
	sessions map[string]*leaver
}

// leaver is a session of which a call waits, or which is being ended.
type leaver struct {
	users int             // calls and endings
	ended context.Context //nolint:containedctx // it is the state of this value and goes to nobody
	end   context.CancelFunc
}

// during is a context that ends with ctx or when the client ends the session, and left
// tells whether it did: the SDK then ends ctx too, before or after.
func (l *leaving) during(ctx context.Context, session string) (here context.Context, left func() bool, done func()) {
	s := l.use(session)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ended, cancel)
	return ctx, func() bool { return s.ended.Err() != nil }, func() {
		stop()
		cancel()
		l.release(session)
	}
}

// leave ends the waiting of the calls that a session has now, and of those that it gets
// until the returned function is called.
func (l *leaving) leave(session string) func() {
	l.use(session).end()
	return func() { l.release(session) }
}

func (l *leaving) use(session string) *leaver {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sessions == nil {
		l.sessions = map[string]*leaver{}
	}
	s := l.sessions[session]
	if s == nil {
		s = &leaver{}
		s.ended, s.end = context.WithCancel(context.Background())
		l.sessions[session] = s
	}
	s.users++
	return s
}

func (l *leaving) release(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[session]
	if s.users--; s.users == 0 {
		s.end()
		delete(l.sessions, session)
	}
}
