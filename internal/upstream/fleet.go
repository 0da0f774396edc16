package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/tool"
	"github.com/gearbox-mcp/gearbox/internal/upstream/oauth"
)

// Options are what a fleet is given. The zero value works.
type Options struct {
	Logger   *slog.Logger // nil logs nothing
	Clock    Clock        // nil is the time of day
	Redactor *logging.Redactor
	// Version is ours, which servers are told.
	Version string
	// Environ is our environment, of which servers get what any program needs; nil is
	// that of the process.
	Environ func() []string
	// OnChange is called, if it is set, when what [Fleet.Known] answers may have changed.
	// It should return soon, and may be called at once for several servers.
	OnChange func(server string)
	// Elicit asks a person for a server; nil declines in their place.
	Elicit func(context.Context, Question) (Reply, error)
	// Launcher starts what runs in a sandbox; nil leaves it failed.
	Launcher Launcher
	// Vault holds the logins of servers that ask for OAuth; nil is none.
	Vault *oauth.Vault
	// MaxMessage is the longest message that is taken of a server, in bytes; 0 is
	// [DefaultMaxMessage].
	MaxMessage int
}

func (o Options) filled() (Options, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.OnChange == nil {
		o.OnChange = func(string) {}
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.Redactor == nil {
		r, err := logging.NewRedactor(logging.Rules{})
		if err != nil {
			return o, err
		}
		o.Redactor = r
	}
	return o, nil
}

// Fleet is sessions with all configured servers, each of which fails alone. Its methods
// may be called at once.
type Fleet struct {
	opts    Options
	auth    *http.Client // for authorization servers
	servers []*server
	byName  map[string]*server

	mu     sync.Mutex // guards end and closed
	end    context.CancelFunc
	closed bool
	work   sync.WaitGroup
}

// New makes a fleet of servers that is not started. It fails when two have one name.
func New(specs []Spec, o Options) (*Fleet, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	f := &Fleet{opts: o, byName: map[string]*server{}}
	f.auth = oauth.NewClient()
	find := &searcher{environ: o.Environ, patience: shellTime}
	for _, s := range specs {
		if s.Name == "" || f.byName[s.Name] != nil {
			return nil, fmt.Errorf("server %q in %s: it has no name, or that of another one", s.Name, origin(s))
		}
		v := newServer(s, &f.opts, find, f.auth)
		f.servers, f.byName[s.Name] = append(f.servers, v), v
	}
	return f, nil
}

// Start begins sessions with all servers but the lazy ones, at once, and does not wait
// for them. They last until the context ends or the fleet is closed.
func (f *Fleet) Start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end != nil || f.closed {
		return
	}
	ctx, f.end = context.WithCancel(ctx)
	for _, v := range f.servers {
		f.work.Go(func() { v.run(ctx) })
	}
}

// Close ends all sessions, and the programs of servers with all that they started. It
// takes a few seconds at most, however many servers there are.
func (f *Fleet) Close() error {
	f.mu.Lock()
	f.closed = true
	end := f.end
	f.mu.Unlock()
	if end != nil {
		end()
	}
	f.work.Wait()
	f.auth.CloseIdleConnections()
	return nil
}

// Servers is the status of each server, in the order of the configuration.
func (f *Fleet) Servers() []Status {
	all := make([]Status, 0, len(f.servers))
	for _, v := range f.servers {
		all = append(all, v.status())
	}
	return all
}

// Known is the servers that are ready, with their tools, in the order of the
// configuration. With wait it starts those that are lazy and waits for those that are
// starting, up to the startup timeout of each; for those that have failed it does not.
func (f *Fleet) Known(ctx context.Context, wait bool) []tool.Server {
	if wait {
		var all sync.WaitGroup
		for _, v := range f.servers {
			all.Go(func() { _, _ = v.await(ctx) }) // its status says why it is missing
		}
		all.Wait()
	}
	var known []tool.Server
	for _, v := range f.servers {
		if s, ok := v.known(); ok {
			known = append(known, s)
		}
	}
	return known
}

// Server is one server with its tools. It is started and waited for as by [Fleet.Known].
// The error is [ErrUnknown], an [*UnavailableError], or that of the context.
func (f *Fleet) Server(ctx context.Context, name string) (tool.Server, error) {
	v, err := f.named(name)
	if err != nil {
		return tool.Server{}, err
	}
	for {
		if _, err := v.await(ctx); err != nil {
			return tool.Server{}, err
		}
		if s, ok := v.known(); ok { // it may have ended in between
			return s, nil
		}
	}
}

func (f *Fleet) named(name string) (*server, error) {
	if v := f.byName[name]; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknown, name)
}

// Call calls a tool by the name that its server has for it. Arguments are a JSON object;
// nil is an empty one. It waits for the server as [Fleet.Server] does, and for its turn
// among the calls of the server in the order in which they came.
//
// The error is [ErrUnknown], [ErrNotAllowed], [ErrArguments], an [*UnavailableError], a [*TimeoutError], a
// [*ProtocolError], an [*AnswerError], or that of the context. A tool that failed by its
// own word is a result.
func (f *Fleet) Call(ctx context.Context, name, rawTool string, arguments json.RawMessage) (tool.Result, error) {
	v, err := f.named(name)
	if err != nil {
		return tool.Result{}, err
	}
	if !v.spec.Allows(rawTool) {
		return tool.Result{}, fmt.Errorf("%w: %s.%s (allow and deny in %s)", ErrNotAllowed, name, rawTool, origin(v.spec))
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}") // null is refused by many servers
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &object); err != nil || object == nil {
		return tool.Result{}, fmt.Errorf("%w: call of %s.%s", ErrArguments, name, rawTool)
	}
	return v.exchange(ctx, rawTool, func(ctx context.Context, s *session) (tool.Result, error) {
		return s.call(ctx, rawTool, arguments)
	})
}

// Read reads a resource of a server, with the bounds and errors of [Fleet.Call].
func (f *Fleet) Read(ctx context.Context, name, uri string) (tool.Result, error) {
	v, err := f.named(name)
	if err != nil {
		return tool.Result{}, err
	}
	return v.exchange(ctx, uri, func(ctx context.Context, s *session) (tool.Result, error) { return s.read(ctx, uri) })
}
