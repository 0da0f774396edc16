package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// callHeader names a call that belongs to no session, by a text that its client made up.
// Without sessions a connection that breaks means that the client gives its call up.
// Where the call has a name that is not so: the client may be gone for another reason,
// and what it submitted goes on. Such a call is given up by DELETE with its name.
const callHeader = "Gearbox-Call"

// maxCallName bounds a name, in bytes.
const maxCallName = 64

// errDisconnected says that nobody waits for the answer to a call, and that this is no
// wish to end it.
var errDisconnected = errors.New("the client has disconnected")

// namedCalls are the calls under way that have a name. The zero value is ready for use.
type namedCalls struct {
	mu    sync.Mutex // guards what follows
	calls map[string]context.CancelCauseFunc
}

// begin takes in a request with a name, until the returned function is called.
func (n *namedCalls) begin(r *http.Request) (*http.Request, func()) {
	name := r.Header.Get(callHeader)
	if name == "" || len(name) > maxCallName {
		return r, func() {}
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, taken := n.calls[name]; taken {
		cancel(nil)
		return r, func() {}
	}
	if n.calls == nil {
		n.calls = map[string]context.CancelCauseFunc{}
	}
	n.calls[name] = cancel
	release := context.AfterFunc(r.Context(), func() { cancel(errDisconnected) })
	return r.WithContext(ctx), func() {
		release()
		n.mu.Lock()
		delete(n.calls, name)
		n.mu.Unlock()
		cancel(nil)
	}
}

// giveUp ends the call of a name and reports whether there is one.
func (n *namedCalls) giveUp(name string) bool {
	n.mu.Lock()
	cancel := n.calls[name]
	n.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel(context.Canceled)
	return true
}
