package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/sync/semaphore"

	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// server is one configured server through its sessions, one at a time.
type server struct {
	spec  Spec
	opts  *Options
	mask  *mask
	find  *searcher
	auth  auth.OAuthHandler   // nil where no login is used
	turns *semaphore.Weighted // first come, first served
	wake  chan struct{}       // has one element when a lazy server is needed

	mu     sync.Mutex // guards what follows
	state  State
	reason string
	since  time.Time
	next   time.Time
	turned chan struct{} // closed and replaced when the state changes
	// current is the session; only when the state is Ready.
	current  *session
	tools    listing
	sessions int // that were begun
	// What is kept of the session that there was last.
	agreed, title, version, instructions string
	stderr                               string
	ignored                              int
	noise                                string
	// old is set when a server by its address turned out to speak SSE, or a program to
	// end at the probe for the newer protocol.
	old bool
}

func newServer(s Spec, o *Options, find *searcher, client *http.Client) *server {
	v := &server{
		spec: s, opts: o, mask: newMask(s, o.Redactor), find: find,
		turns: semaphore.NewWeighted(int64(max(1, s.concurrency()))),
		wake:  make(chan struct{}, 1), turned: make(chan struct{}),
		state: Starting, since: o.Clock.Now(),
	}
	v.auth = keeper(s, o, client, v.mask)
	switch fault := s.fault(); {
	case s.Disabled:
		v.state, v.reason = Disabled, "it is disabled in "+origin(s)
	case fault != "":
		v.state, v.reason = Failed, v.mask.text(fault)
	case s.Lazy:
		v.state = Lazy
	}
	return v
}

// idle reports whether nothing is to be done for the server, ever.
func (v *server) idle() bool { return v.spec.Disabled || v.spec.fault() != "" }

// turn changes the state.
func (v *server) turn(to State, reason string, change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state, v.reason, v.since, v.next = to, v.mask.text(reason), v.opts.Clock.Now(), time.Time{}
	if to != Ready {
		v.current = nil
	}
	if change != nil {
		change()
	}
	close(v.turned)
	v.turned = make(chan struct{})
}

// run keeps a session with the server until the context ends.
func (v *server) run(ctx context.Context) {
	if v.idle() {
		if s := v.status(); s.State == Failed {
			v.opts.Logger.WarnContext(ctx, "another server cannot be used", logging.KeyUpstream, v.spec.Name, logging.KeyReason, s.Reason)
		}
		return
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval, pause.Multiplier = firstPause, longestPause, 2
	for ctx.Err() == nil && v.needed(ctx) {
		v.once(ctx, pause)
	}
	if s := v.now(); s == Starting || s == Lazy {
		v.turn(Failed, ErrClosed.Error(), nil)
	}
}

// needed waits until a lazy server is.
func (v *server) needed(ctx context.Context) bool {
	if v.now() != Lazy {
		return true
	}
	select {
	case <-v.wake:
		return true
	case <-ctx.Done():
		return false
	}
}

func (v *server) now() State {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state
}

// once has one session with the server, and waits until the next may be tried.
func (v *server) once(ctx context.Context, pause backoff.BackOff) {
	session, tools, err := v.connect(ctx)
	if ctx.Err() != nil {
		if session != nil {
			session.abort()
		}
		return
	}
	if err != nil {
		v.pause(ctx, Failed, err.Error(), pause.NextBackOff())
		return
	}
	began := v.opts.Clock.Now()
	v.ready(session, tools)
	reason := v.attend(ctx, session)
	if ctx.Err() != nil {
		v.turn(Failed, ErrClosed.Error(), nil)
		return
	}
	if v.opts.Clock.Now().Sub(began) >= steadyTime {
		pause.Reset()
	}
	v.lost(ctx, reason, pause.NextBackOff())
}

// lost waits to begin anew. A pause that nobody would sit out is a failure.
func (v *server) lost(ctx context.Context, reason string, d time.Duration) {
	v.opts.Logger.WarnContext(ctx, "session with another server ended", logging.KeyUpstream, v.spec.Name, logging.KeyReason, v.mask.text(reason))
	to := Starting
	if d > v.spec.startupTimeout() {
		to = Failed
	}
	if v.spec.Lazy {
		to = Lazy
	}
	v.pause(ctx, to, reason, d)
	v.opts.OnChange(v.spec.Name)
}

func (v *server) pause(ctx context.Context, to State, reason string, d time.Duration) {
	v.turn(to, reason, func() { v.next = v.opts.Clock.Now().Add(d) })
	if to == Failed {
		v.opts.Logger.WarnContext(ctx, "another server cannot be used", logging.KeyUpstream, v.spec.Name, logging.KeyReason, v.mask.text(reason))
	}
	select {
	case <-v.opts.Clock.After(d):
	case <-ctx.Done():
	}
}

// connect begins a session, within the startup timeout.
func (v *server) connect(ctx context.Context) (*session, listing, error) {
	l, err := v.dial(ctx) // it may ask a login shell, which is bounded by itself
	if err != nil {
		return nil, listing{}, err
	}
	outer := ctx
	ctx, stop := within(ctx, v.opts.Clock, v.spec.startupTimeout(), errStartup)
	defer stop()
	s, tools, err := open(ctx, v.spec, v.opts, l)
	if err == nil {
		return s, tools, nil
	}
	if ctx.Err() == nil && v.older(l) {
		return v.connect(outer)
	}
	v.remember(l)
	reason := l.explain(err)
	if errors.Is(err, errStartup) {
		reason = fmt.Sprintf("it did not answer within %v (startup_timeout); %s", v.spec.startupTimeout(), hint(v.spec))
		if last := l.last(); last != "" {
			reason += "; the end of its standard error: " + last
		}
	}
	return nil, listing{}, errors.New(reason)
}

func hint(s Spec) string {
	if s.Transport == Stdio {
		return "a first start that downloads the server may need more, or the program is no MCP server over stdio"
	}
	return "the address may be wrong, or the server overloaded"
}

// dial makes the link for a session.
func (v *server) dial(ctx context.Context) (link, error) {
	v.mu.Lock()
	old := v.old
	v.mu.Unlock()
	if v.spec.Transport == Stdio {
		p, err := start(ctx, v.spec, v.opts, v.find)
		if err != nil {
			return nil, err
		}
		p.old = old
		return p, nil
	}
	return reach(v.spec, v.opts, v.spec.Transport == SSE || v.spec.Transport == Auto && old, v.auth)
}

// older reports whether the server is to be tried by older means, which it then is from
// now on.
func (v *server) older(l link) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.old || !l.speaksOld() {
		return false
	}
	v.old = v.spec.Transport == Stdio || v.spec.Transport == Auto
	return v.old
}

// remember keeps what a link tells beside the protocol.
func (v *server) remember(l link) {
	stderr := v.mask.text(l.last())
	ignored, noise := l.ignored()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stderr, v.ignored, v.noise = stderr, ignored, v.mask.text(noise)
}

func (v *server) ready(s *session, tools listing) {
	r := s.client.InitializeResult()
	v.turn(Ready, "", func() {
		v.current, v.tools = s, v.clean(tools)
		v.sessions++
		v.agreed, v.instructions = r.ProtocolVersion, v.mask.text(begin(r.Instructions, MaxInstructions))
		v.title, v.version = "", ""
		if r.ServerInfo != nil {
			v.title, v.version = v.mask.exact(begin(r.ServerInfo.Name, maxSample)), v.mask.exact(begin(r.ServerInfo.Version, maxSample))
		}
	})
	v.opts.Logger.Info("session with another server began", logging.KeyUpstream, v.spec.Name)
	v.opts.OnChange(v.spec.Name)
}

// attend follows the changes of a session until it ends, and says why it did.
func (v *server) attend(ctx context.Context, s *session) string {
	over := make(chan error, 1)
	go func() { over <- s.client.Wait() }()
	defer close(s.gone)
	defer v.remember(s.link)
	for {
		select {
		case <-ctx.Done():
			s.abort()
			<-over
			s.why = ErrClosed.Error()
			return s.why
		case err := <-over:
			s.close()
			s.why = s.link.explain(err)
			return s.why
		case <-s.changed:
			v.refresh(ctx, s)
		}
	}
}

// refresh asks for the tools again, once for all changes that come close together.
func (v *server) refresh(ctx context.Context, s *session) {
	select {
	case <-v.opts.Clock.After(settleTime):
	case <-ctx.Done():
		return
	}
	select {
	case <-s.changed:
	default:
	}
	ctx, stop := within(ctx, v.opts.Clock, v.spec.timeout(), errStartup)
	defer stop()
	ctx, unlink := s.alive(ctx)
	defer unlink()
	tools, err := s.list(ctx)
	if err != nil {
		v.opts.Logger.WarnContext(ctx, "changed tools of another server could not be read", logging.KeyUpstream, v.spec.Name, logging.KeyError, v.mask.text(err.Error()))
		tools.notes = []string{"its tools have changed, and could not be read: " + v.mask.text(err.Error())}
		v.mu.Lock()
		v.tools.notes = tools.notes
		v.mu.Unlock()
		return
	}
	tools = v.clean(tools)
	v.mu.Lock()
	v.tools = tools
	v.mu.Unlock()
	v.opts.OnChange(v.spec.Name)
}

// clean takes the credentials of the server's configuration out of what it says of its
// tools: programs in a sandbox read that.
func (v *server) clean(l listing) listing {
	for i := range l.notes {
		l.notes[i] = v.mask.text(l.notes[i])
	}
	if len(v.mask.secrets()) == 0 {
		return l
	}
	for i := range l.tools {
		d := &l.tools[i]
		d.Title, d.Description = v.mask.exact(d.Title), v.mask.exact(d.Description)
		d.Input, d.Output = v.mask.json(d.Input), v.mask.json(d.Output)
	}
	return l
}

// await waits until the server is ready, unless it has failed. A lazy server is started.
func (v *server) await(ctx context.Context) (*session, error) {
	ctx, stop := within(ctx, v.opts.Clock, v.spec.startupTimeout(), errStartup)
	defer stop()
	for {
		v.mu.Lock()
		state, reason, current, turned := v.state, v.reason, v.current, v.turned
		v.mu.Unlock()
		switch state {
		case Ready:
			return current, nil
		case Failed, Disabled:
			return nil, v.unavailable(state, reason)
		case Lazy:
			v.start()
			continue
		case Starting:
		}
		select {
		case <-turned:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errStartup) {
				return nil, v.unavailable(state, fmt.Sprintf("it is still starting after %v", v.spec.startupTimeout()))
			}
			return nil, context.Cause(ctx)
		}
	}
}

// start has a lazy server started.
func (v *server) start() {
	if v.now() == Lazy {
		v.turn(Starting, "", nil)
		select {
		case v.wake <- struct{}{}:
		default:
		}
	}
}

func (v *server) unavailable(s State, reason string) error {
	return &UnavailableError{Server: v.spec.Name, State: s, Reason: reason}
}

func (v *server) status() Status {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := Status{
		Name: v.spec.Name, Alias: v.spec.Alias, Transport: v.spec.Transport,
		State: v.state, Reason: v.reason, Since: v.since, Next: v.next, Restarts: max(0, v.sessions-1),
		Protocol: v.agreed, Title: v.title, Version: v.version,
		Stderr: v.stderr, Ignored: v.ignored, Noise: v.noise,
		Tools: len(v.tools.tools), Notes: slices.Clone(v.tools.notes),
	}
	if v.current != nil {
		s.Stderr = v.mask.text(v.current.link.last())
		s.Ignored, s.Noise = v.current.link.ignored()
		s.Noise, s.Reason = v.mask.text(s.Noise), v.mask.text(v.current.link.trouble())
	}
	return s
}

// known is the server with its tools, if it is ready.
func (v *server) known() (tool.Server, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return tool.Server{
		Name: v.spec.Name, Alias: v.spec.Alias, Description: v.spec.Description, Instructions: v.instructions, Tools: slices.Clone(v.tools.tools),
	}, v.state == Ready
}

// begin is the beginning of a text, in whole characters.
func begin(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
