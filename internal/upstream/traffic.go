package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// traffic watches the messages of one connection: it keeps what comes for a call, and
// drops what nobody waits for before it can pile up.
type traffic struct {
	mcp.Connection
	failures
	noise *noise
	pace  *rate.Limiter // of notifications

	mu    sync.Mutex // guards what follows
	calls map[jsonrpc.ID]*answer
	sent  map[jsonrpc.ID]bool // requests without a response yet
	asks  int                 // requests of the server without our response yet
}

func watch(c mcp.Connection, n *noise) *traffic {
	return &traffic{Connection: c, noise: n, pace: rate.NewLimiter(notices, 2*notices), calls: map[jsonrpc.ID]*answer{}, sent: map[jsonrpc.ID]bool{}}
}

// errAsks ends a session whose server asks and does not read what is answered.
var errAsks = fmt.Errorf("the server sent more than %d requests of its own without taking an answer", maxAsks)

// Read implements [mcp.Connection].
func (t *traffic) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		keep := false
		m, err := t.Connection.Read(ctx)
		if err == nil {
			keep, err = t.incoming(ctx, m)
		}
		if err != nil {
			t.note(err)
			return nil, err
		}
		if keep {
			return m, nil
		}
	}
}

// incoming reports whether a message is one to go on with.
func (t *traffic) incoming(ctx context.Context, m jsonrpc.Message) (bool, error) {
	switch m := m.(type) {
	case *jsonrpc.Response:
		return t.response(m), nil
	case *jsonrpc.Request:
		if m.IsCall() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.asks++; t.asks > maxAsks {
				return false, errAsks
			}
			return true, nil
		}
		if !wanted(m.Method) {
			return false, nil
		}
		return true, t.pace.Wait(ctx) // the SDK queues them without a bound
	}
	return false, nil
}

func wanted(notification string) bool {
	switch notification {
	case "notifications/cancelled", "notifications/progress", "notifications/tools/list_changed", "notifications/subscriptions/acknowledged", "notifications/elicitation/complete":
		return true
	}
	return false
}

// response takes the first response to a request that was made, and no other.
func (t *traffic) response(m *jsonrpc.Response) bool {
	t.mu.Lock()
	a, known := t.calls[m.ID], t.sent[m.ID]
	delete(t.calls, m.ID)
	delete(t.sent, m.ID)
	t.mu.Unlock()
	if !known {
		_ = t.noise.add("a response that no request waits for", 0)
		return false
	}
	if a != nil {
		a.came(m)
	}
	return true
}

// Write implements [mcp.Connection].
func (t *traffic) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		t.mu.Lock()
		t.asks--
		t.mu.Unlock()
	case *jsonrpc.Request:
		if m.IsCall() {
			t.outgoing(m.ID, expected(ctx))
		} else if m.Method == "notifications/cancelled" {
			t.forget(m.Params)
		}
	}
	return t.Connection.Write(ctx, m)
}

func (t *traffic) outgoing(id jsonrpc.ID, a *answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent[id] = true
	if a != nil {
		a.sent(id)
		t.calls[id] = a
	}
}

// forget drops a call that was cancelled: nobody waits for what still comes for it.
func (t *traffic) forget(params json.RawMessage) {
	var p struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(p.ID); err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.calls, id)
		delete(t.sent, id)
	}
}

// waits reports whether a request has no response yet.
func (t *traffic) waits(id jsonrpc.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent[id]
}

// noise counts what a server sends that is no message.
type noise struct {
	mu     sync.Mutex // guards what follows
	count  int
	sample string
	run    int // since the last message
	bytes  int // of that
}

var errNoise = errors.New("the program writes to its standard output what is no message of the protocol, and nothing else: it may be the wrong program, or need an option that makes it an MCP server over stdio")

// add counts one, and reports an error when there have been too many in a row.
func (n *noise) add(text string, size int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count++; n.count == 1 {
		n.sample = text
	}
	n.run++
	n.bytes += size
	if n.run > maxNoise || n.bytes > maxNoiseBytes {
		return errNoise
	}
	return nil
}

// message says that a message came.
func (n *noise) message() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.run, n.bytes = 0, 0
}

func (n *noise) seen() (int, string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count, n.sample
}
