package relay

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// DefaultStart is how long the first answer waits for a server that is not there yet.
// Clients give up on a server after 10 seconds at the earliest.
const DefaultStart = 5 * time.Second

// Config is what a Relay needs. Find, Logger and Version are required.
type Config struct {
	// Find tells where the server is. It is asked before each attempt to reach it.
	Find func(context.Context) (Target, error)
	// Token is the credential, read before each attempt; nil and an empty one for none.
	Token func() (string, error)
	// Roots are the certificate authorities that are trusted; nil for the system's.
	Roots *x509.CertPool
	// Tools are listed until the server was reached once.
	Tools []*mcp.Tool
	// Start is how long the first answer waits for the server; 0 means [DefaultStart].
	Start   time.Duration
	Logger  *slog.Logger
	Version string
}

// Relay passes the messages of one client on to a server. Run may be called once.
type Relay struct {
	c       Config
	client  mcp.Connection
	standIn *standIn
	contact *contact
	work    sync.WaitGroup
	outbox  chan told // what the client tells the server, in order
	// stands is closed when what the client said of its session so far has taken effect.
	// It belongs to the goroutine that reads from the client.
	stands <-chan struct{}

	mu        sync.Mutex // guards what follows
	calls     map[jsonrpc.ID]*call
	asked     map[jsonrpc.ID]question // what servers asked the client
	questions int
	hello     json.RawMessage // the client's initialize, nil before and without one
	ready     bool            // the client has said that it is initialized
	listening map[*session]bool
}

// told is what the client tells the server, to be passed on when its session stands.
type told struct {
	message jsonrpc.Message
	after   <-chan struct{}
}

// New makes a Relay.
func New(c Config) (*Relay, error) {
	if c.Find == nil || c.Logger == nil || c.Version == "" {
		return nil, errors.New("relay: Find, Logger and Version are required")
	}
	if c.Token == nil {
		c.Token = func() (string, error) { return "", nil }
	}
	c.Start = cmp.Or(c.Start, DefaultStart)
	stands := make(chan struct{})
	close(stands) // nothing is said of one yet
	r := &Relay{
		c: c, outbox: make(chan told, 64), stands: stands,
		calls: map[jsonrpc.ID]*call{}, asked: map[jsonrpc.ID]question{}, listening: map[*session]bool{},
	}
	r.contact = newContact(c.Logger, r.reach, r.owed, r.recheck)
	return r, nil
}

// Run serves one client until it goes away or ctx ends; neither is an error. What it
// submitted goes on at the server.
func (r *Relay) Run(ctx context.Context, t mcp.Transport) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errEnded)
	var err error
	self := &mcp.Implementation{Name: "gearbox", Title: "Gearbox", Version: r.c.Version}
	if r.standIn, err = newStandIn(ctx, self, r.c.Tools, slog.New(slog.DiscardHandler), r.contact.say, r.fromStandIn); err != nil {
		return err
	}
	defer r.standIn.close()
	if r.client, err = t.Connect(ctx); err != nil {
		return err
	}
	start := time.AfterFunc(r.c.Start, r.contact.settle)
	defer start.Stop()
	r.work.Go(func() { r.contact.keep(ctx) })
	r.work.Go(func() { r.tellServer(ctx) })
	for {
		m, failed := r.client.Read(ctx)
		if failed != nil {
			err = failed
			break
		}
		r.take(ctx, m)
	}
	ended := ctx.Err() != nil
	busy := r.busy()
	cancel(errEnded)
	if !busy { // the server ends what a session waits for, together with the session
		r.leave(context.WithoutCancel(ctx))
	}
	r.work.Wait()
	_ = r.client.Close()
	if ended || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("read from the client: %w", err)
}

// busy reports whether the server has calls that it has not answered.
func (r *Relay) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c.passedOn {
			return true
		}
	}
	return false
}

// leave tells the server that the session is over.
func (r *Relay) leave(ctx context.Context) {
	if l := r.contact.current(); l != nil {
		if err := l.leave(ctx); err != nil {
			r.c.Logger.Debug("the session could not be ended", "error", err)
		}
	}
}

// take takes in a message of the client. What it says in order stays in order.
func (r *Relay) take(ctx context.Context, m jsonrpc.Message) {
	q, isRequest := m.(*jsonrpc.Request)
	switch {
	case !isRequest:
		r.enqueue(ctx, m)
	case q.IsCall():
		c := newCall(ctx, q, r.stands)
		if q.Method == "initialize" {
			r.stands = c.over
		}
		r.mu.Lock()
		r.calls[q.ID] = c
		r.mu.Unlock()
		r.work.Go(func() { r.call(c.ctx, c) })
	case q.Method == "notifications/initialized":
		after, over := r.stands, make(chan struct{})
		r.stands = over
		r.work.Go(func() {
			defer close(over)
			if await(ctx, after) {
				r.initialized(ctx, q)
			}
		})
	case q.Method == "notifications/cancelled":
		r.cancel(ctx, q)
	default:
		r.enqueue(ctx, m)
	}
}

// await waits for what has to be over first. It is false if ctx ends before.
func await(ctx context.Context, after <-chan struct{}) bool {
	select {
	case <-after:
		return true
	case <-ctx.Done():
		return false
	}
}

// initialized notes that the client is ready for what a server says unasked.
func (r *Relay) initialized(ctx context.Context, q *jsonrpc.Request) {
	r.standIn.tell(ctx, q)
	r.mu.Lock()
	r.ready = true
	r.mu.Unlock()
	if l := r.contact.current(); l != nil {
		r.listenTo(l, l.current())
	}
}

func (r *Relay) enqueue(ctx context.Context, m jsonrpc.Message) {
	select {
	case r.outbox <- told{m, r.stands}:
	case <-ctx.Done():
	}
}

// tellServer passes on what is no call. While the server is away it is dropped: there
// is no session left that it could belong to.
func (r *Relay) tellServer(ctx context.Context) {
	for {
		select {
		case t := <-r.outbox:
			if await(ctx, t.after) {
				r.tell(ctx, t.message)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (r *Relay) tell(ctx context.Context, m jsonrpc.Message) {
	l := r.contact.current()
	if l == nil {
		return
	}
	s := l.current()
	if answer, ok := m.(*jsonrpc.Response); ok {
		asked, known := r.takeQuestion(answer.ID)
		if !known || asked.session != s {
			return
		}
		m = &jsonrpc.Response{ID: asked.id, Result: answer.Result, Error: answer.Error}
	}
	ctx, stop := context.WithTimeoutCause(ctx, smallTime, errSilent)
	defer stop()
	if _, err := l.post(ctx, s, m, "", nil); err != nil {
		r.c.Logger.Debug("a notification could not be passed on", "error", err)
	}
}

// write writes to the client. When that is gone reading tells so too.
func (r *Relay) write(ctx context.Context, m jsonrpc.Message) {
	if err := r.client.Write(context.WithoutCancel(ctx), m); err != nil {
		r.c.Logger.Debug("the client does not take a message", "error", err)
	}
}

// fromStandIn passes on what the stand-in says unasked: that the list of tools changed.
func (r *Relay) fromStandIn(q *jsonrpc.Request) { r.write(context.Background(), q) }

// owed counts the calls that the server has not answered.
func (r *Relay) owed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, c := range r.calls {
		if c.passedOn {
			n++
		}
	}
	return n
}
