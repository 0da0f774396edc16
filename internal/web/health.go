package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Ready is nil when a program could be run just now. It is asked by one caller at a
// time.
type Ready interface {
	Ready(context.Context) error
}

const (
	// readyTime is how long the question may take.
	readyTime = 10 * time.Second
	// readyFor is how long a good answer counts, and notReadyFor a bad one: everybody
	// may ask, and an answer costs a run.
	readyFor    = 10 * time.Second
	notReadyFor = 2 * time.Second
)

// probe asks whether all is ready, once for all who want to know.
type probe struct {
	ready Ready
	log   *slog.Logger
	now   func() time.Time

	work sync.WaitGroup
	root context.Context //nolint:containedctx // ends with the server, and belongs to no request
	stop context.CancelFunc

	mu     sync.Mutex    // guards what follows
	asking chan struct{} // closed when the answer is there; nil when nobody asks
	err    error         // the last answer
	until  time.Time     // when it ends to count
}

func newProbe(ready Ready, log *slog.Logger, now func() time.Time) *probe {
	p := &probe{ready: ready, log: log, now: now}
	p.root, p.stop = context.WithCancel(context.Background())
	return p
}

// answer is the last answer if it still counts, else a new one. It returns ctx's error
// when that ends first; the question goes on.
func (p *probe) answer(ctx context.Context) error {
	p.mu.Lock()
	if p.asking == nil && p.now().Before(p.until) {
		defer p.mu.Unlock()
		return p.err
	}
	if p.asking == nil {
		p.asking = make(chan struct{})
		p.work.Go(p.ask)
	}
	asking := p.asking
	p.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *probe) ask() {
	ctx, cancel := context.WithTimeout(p.root, readyTime)
	defer cancel()
	err := p.ready.Ready(ctx)
	counts := readyFor
	if err != nil {
		counts = notReadyFor
		p.log.Warn("the server is not ready", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.until = err, p.now().Add(counts)
	close(p.asking)
	p.asking = nil
}

// close ends a question that is open.
func (p *probe) close() {
	p.stop()
	p.work.Wait()
}

type health struct {
	Status string `json:"status"`
}

// reasoned is an error that says in a few words, for everybody, what is wrong. Empty
// means that it does not.
type reasoned interface {
	error
	Reason() string
}

// ServeHTTP answers whether the server is ready. Everybody may ask here: of the reason
// why it is not they are told only what the error has for everybody, and the log has it
// all.
func (p *probe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := p.answer(r.Context()); err != nil {
		message := "no program can be run just now"
		if known, ok := errors.AsType[reasoned](err); ok && known.Reason() != "" {
			message += ": " + known.Reason()
		}
		fail(w, http.StatusServiceUnavailable, execution.CodeUnavailable, message+"; the log of the server says more")
		return
	}
	reply(w, http.StatusOK, health{"ready"})
}

func alive(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, health{"alive"}) }
