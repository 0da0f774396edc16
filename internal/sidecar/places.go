package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/analysis/shell"
	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/guest"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// places knows where runs take place: the interpreter, the backend for sandboxed
// gears and the one for gears without isolation. They are prepared beside the
// start; whoever needs one waits for it. Only an interpreter that the operator names is
// looked at before.
type places struct {
	options Options
	dataDir string
	base    func() gear.Frozen // the server's own gear: its source is opened beside the start
	least   execution.Level
	preload string // of the templates for Python
	log     *slog.Logger
	say     func(string)

	backend sandbox.Backend // nil where the platform has no sandbox
	absent  string          // why the backend that was named does not exist; empty if it does
	boxed   *pool.Pool      // over backend
	bare    *pool.Pool      // for gears without isolation
	turns   *pool.Turns     // of both
	probe   func() sandbox.Report

	shapes   shapes
	analyser string // names the guest that reports the facts
	shell    bool   // this machine has a bash

	found  chan struct{} // closed once python and pyErr are set; then mu guards them until pyErr is nil
	python cpython.Installation
	pyErr  error

	root    context.Context // of the work beside the callers; stop ends it
	stop    context.CancelFunc
	working sync.WaitGroup

	mu       sync.Mutex // guards what follows
	compiled *cpython.Installation
	moved    bool             // runs use the compiled one
	code     cpython.ByteCode // of the guest; nil until it is made
}

var _ engine.Places = (*places)(nil)

func newPlaces(ctx context.Context, o Options, dataDir string, base func() gear.Frozen, l *slog.Logger, say func(string)) (*places, error) {
	least, err := o.minimumIsolation(inContainer())
	if err != nil {
		return nil, err
	}
	preload, err := o.preload()
	if err != nil {
		return nil, err
	}
	if say == nil {
		say = func(string) {}
	}
	p := &places{options: o, dataDir: dataDir, base: base, least: least, preload: preload, log: l, say: say, shell: hasShell(), found: make(chan struct{})}
	if p.analyser, err = guest.Version(); err != nil {
		return nil, err
	}
	var bare sandbox.Backend
	if p.backend, bare = backends(p.interpreter, l); o.missing() != "" {
		p.backend, p.absent = nil, o.missing()
	}
	if o.Python != "" {
		if p.python, p.pyErr = named(ctx, o.Python, p.walls()); p.pyErr != nil && o.Transport != TransportDoctor { // whose report has it
			return nil, p.pyErr
		}
	}
	p.turns = pool.NewTurns(or(o.Pool.Concurrency), 0)
	shared := o.Pool.config(p.turns, l)
	if bare != nil {
		p.bare = pool.New(bare, shared)
	}
	// Preparing belongs to the sidecar, not to the call that opened it.
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.root = ctx
	if p.backend != nil {
		boxed := shared
		boxed.Least = least
		p.boxed = pool.New(p.backend, boxed)
		p.probe = sync.OnceValue(func() sandbox.Report { return p.backend.Probe(ctx) })
	}
	p.working.Go(func() { p.prepare(ctx) })
	return p, nil
}

// prepare makes the embedded interpreter ready if it is the one, opens the source that the first call will need,
// and then makes the interpreter faster.
func (p *places) prepare(ctx context.Context) {
	if p.options.Python == "" {
		p.python, p.pyErr = cpython.Ensure(ctx, p.config())
	}
	failed := p.pyErr
	if failed == nil && p.walls() {
		p.code, _ = cpython.LoadByteCode(p.dataDir, p.python, guest.Files)
	}
	close(p.found)
	if failed != nil && !p.ensureAgain(ctx, failed) {
		return
	}
	p.makeReady(ctx)
	if p.isolates() {
		p.makeGuestCode(ctx)
	}
	if p.python.Embedded && !p.python.Compiled {
		p.compile(ctx)
	}
}

// ensureEvery is how long a disk without room for the interpreter is left alone.
const ensureEvery = 5 * time.Second

// ensureAgain makes the interpreter ready once the disk, which was too full for it, has
// room, and reports whether it is ready. Until then calls are refused for that reason. A
// short command does not wait: it has been refused already.
func (p *places) ensureAgain(ctx context.Context, failed error) bool {
	if ctx.Err() == nil {
		p.log.Error("no interpreter", "error", failed)
	}
	for failed != nil {
		if _, full := errors.AsType[*cpython.SpaceError](failed); !full || p.options.FinishPreparing {
			return false
		}
		select {
		case <-time.After(ensureEvery):
		case <-ctx.Done():
			return false
		}
		var python cpython.Installation
		python, failed = cpython.Ensure(ctx, p.config())
		p.mu.Lock()
		p.python, p.pyErr = python, failed
		p.mu.Unlock()
	}
	p.log.Info("there is an interpreter now")
	return true
}

// makeReady opens the source that the first call under the server's own gear will need.
func (p *places) makeReady(ctx context.Context) {
	base := p.base()
	if !p.isolates() {
		return
	}
	if _, err := p.Place(ctx, execution.Local, base, p.mainLanguage(base)); err != nil && ctx.Err() == nil {
		p.log.Warn("executions will be refused", "error", err)
	}
}

// makeGuestCode compiles the guest for the fork servers to come. The first one did not
// wait for that.
func (p *places) makeGuestCode(ctx context.Context) {
	p.mu.Lock()
	there := p.code != nil
	p.mu.Unlock()
	if there {
		return
	}
	code, err := cpython.MakeByteCode(ctx, p.dataDir, p.python, guest.Files)
	if err != nil && ctx.Err() == nil {
		p.log.Warn("the sandbox's own Python could not be byte-compiled; it works, and starts more slowly", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.code = code
}

// named is the operator's own interpreter. Whether it can be used is known after it has
// told of itself, and is worth the moment: a client would not show what is only logged.
func named(ctx context.Context, path string, walls bool) (cpython.Installation, error) {
	python, err := cpython.FromPath(ctx, path)
	if err == nil && walls {
		err = showable(python, ownPlaces())
	}
	if err != nil {
		return cpython.Installation{}, about("python", "--python: %w", err)
	}
	return python, nil
}

func (p *places) config() cpython.Config {
	return cpython.Config{Dir: p.dataDir, Progress: p.say, Logger: p.log}
}

// compile byte-compiles a fresh interpreter beside the first answers. Runs move
// to it once a source stands ready, so that none waits for the change.
func (p *places) compile(ctx context.Context) {
	compiled, err := cpython.Compile(ctx, p.config())
	if err != nil {
		if ctx.Err() == nil {
			p.log.Warn("the interpreter could not be byte-compiled; it works, more slowly", "error", err)
		}
		return
	}
	p.mu.Lock()
	p.compiled = &compiled
	p.mu.Unlock()
	if p.isolates() {
		base := p.base()
		if _, err := p.boxed.Level(ctx, p.template(compiled, base, p.mainLanguage(base), execution.ClassLocal)); err != nil {
			p.log.Warn("the compiled interpreter does not start; the plain one stays in use", "error", err)
			return
		}
	}
	p.mu.Lock()
	p.moved = true
	p.mu.Unlock()
	if p.boxed != nil {
		p.boxed.Replace(p.python.Digest, compiled.Digest)
	}
}

// isolates reports whether the server's own gear runs anything in a sandbox.
func (p *places) isolates() bool { return p.walls() && p.base().Enabled() }

// walls reports whether it would if it ran anything. That stays, while a change of the
// configuration may turn execution on.
func (p *places) walls() bool { return p.backend != nil && p.base().Isolation() != gear.None }

// languages are those of a gear that this machine can run.
func (p *places) languages(g gear.Frozen) []execution.Language {
	return slices.DeleteFunc(g.Languages(), func(l execution.Language) bool { return l == execution.Bash && !p.shell })
}

// mainLanguage is what a gear is likely to run first.
func (p *places) mainLanguage(base gear.Frozen) execution.Language {
	if l := p.languages(base); len(l) > 0 && !slices.Contains(l, execution.Python) {
		return l[0]
	}
	return execution.Python
}

// current is the interpreter for sources opened now.
func (p *places) current(ctx context.Context) (cpython.Installation, error) {
	select {
	case <-p.found:
	case <-ctx.Done():
		return cpython.Installation{}, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moved {
		return *p.compiled, p.pyErr
	}
	return p.python, p.pyErr
}

// interpreter resolves a template's digest for a backend. The zero digest is
// whichever there is.
func (p *places) interpreter(ctx context.Context, d execution.Digest) (sandbox.Interpreter, error) {
	now, err := p.current(ctx)
	if err != nil {
		return sandbox.Interpreter{}, err
	}
	known := []cpython.Installation{now, p.python}
	p.mu.Lock()
	code := p.code
	if p.compiled != nil {
		known = append(known, *p.compiled)
	}
	p.mu.Unlock()
	for _, i := range known {
		if i.Digest == d || d.IsZero() {
			return sandbox.Interpreter{
				Digest: i.Digest, Version: i.Version, Embedded: i.Embedded, Executable: i.Executable,
				Root: i.Root, Mounts: i.Mounts, Path: i.Path, GuestCode: code,
			}, nil
		}
	}
	return sandbox.Interpreter{}, fmt.Errorf("there is no interpreter %s", d)
}

// Place implements [engine.Places].
func (p *places) Place(ctx context.Context, who execution.Principal, g gear.Frozen, l execution.Language) (engine.Place, error) {
	if l == execution.Bash && !p.shell {
		return engine.Place{}, unavailable(noShell+": "+shellHint, "language")
	}
	python, err := p.current(ctx)
	if err != nil {
		return engine.Place{}, p.noPython(err)
	}
	place := engine.Place{Interpreter: python.Content, Analyser: p.analyser, Template: p.template(python, g, l, who.Class())}
	if l == execution.Bash {
		place.Analyser = shell.Version
	}
	if g.Isolation() == gear.None {
		return p.unisolated(place)
	}
	return p.isolated(ctx, place)
}

func (p *places) unisolated(place engine.Place) (engine.Place, error) {
	if p.bare == nil {
		return engine.Place{}, unavailable("running without isolation is not supported on "+runtime.GOOS, "")
	}
	place.Children, place.Backend, place.Isolation = p.bare, bareName, execution.LevelNone
	place.Warnings = []string{"This ran without isolation, with the rights of the server: it could have done whatever the operator can, approvals and records included."}
	return place, nil
}

// isolated refuses to run anything behind a weaker wall than was asked for.
func (p *places) isolated(ctx context.Context, place engine.Place) (engine.Place, error) {
	switch {
	case p.absent != "":
		return engine.Place{}, unavailable(p.absent, "")
	case p.boxed == nil:
		return engine.Place{}, unavailable(noSandbox(), "")
	}
	if place.Template.Language == execution.Python {
		place.Template.Preload = p.preload
	}
	asked := time.Now()
	level, err := p.boxed.Level(ctx, place.Template)
	waited := time.Since(asked)
	var preload *sandbox.PreloadError
	switch {
	case ctx.Err() != nil:
		return engine.Place{}, ctx.Err()
	case errors.As(err, &preload):
		return engine.Place{}, unavailable("nothing runs, because a module of --preload cannot be imported ahead: "+preload.Reason+". "+preloadHint(p.options.Python), "")
	case err != nil:
		p.log.Error("the sandbox could not be prepared", "error", err)
		return engine.Place{}, unavailable("no sandbox can be built here: "+p.failure(err)+". `gearbox doctor` says more", "")
	case !level.AtLeast(p.least):
		return engine.Place{}, unavailable(p.tooWeak(level), "")
	}
	place.Children, place.Backend, place.Isolation = p.boxed.After(waited), p.backend.Name(), level
	if w := levelWarning(level); w != "" {
		place.Warnings = []string{w}
	}
	return place, nil
}

func noSandbox() string {
	return fmt.Sprintf("this version has no sandbox for %s on %s. Run Gearbox on Linux (a virtual machine or WSL will do) and connect to it from here", runtime.GOOS, runtime.GOARCH)
}

func (p *places) tooWeak(level execution.Level) string {
	return fmt.Sprintf("this machine isolates at level %s, below the minimum of %s: %s. Change that, or start with --minimum-isolation %s",
		level, p.least, p.failure(nil), level)
}

// failure says what keeps this machine from the strongest level, as a probe finds
// it; when it finds nothing, the error that led to it is all there is.
func (p *places) failure(err error) string {
	for _, c := range p.probe().Checks {
		if !c.OK {
			return strings.TrimSuffix(strings.TrimSpace(c.Name+": "+c.Detail+". "+c.Hint), ".")
		}
	}
	if err != nil {
		return err.Error()
	}
	return "the reason is not known"
}

func (p *places) noPython(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return unavailable("there is no usable Python interpreter: "+err.Error(), "")
}

const (
	noShell   = "there is no bash on this machine"
	shellHint = "install the package bash (`apt-get install bash`, `dnf install bash`, `apk add bash`), or send Python"
)

// preloadHint mends a module that cannot be preloaded.
func preloadHint(python string) string {
	return "Mend the environment " + python + ", or start without that module in --preload"
}

func unavailable(message, field string) error {
	return &execution.RejectedError{Code: execution.CodeUnavailable, Field: field, Message: message}
}

func (p *places) close() error {
	if !p.options.FinishPreparing {
		p.stop()
	}
	p.working.Wait()
	p.stop()
	var errs []error
	for _, pl := range []*pool.Pool{p.boxed, p.bare} {
		if pl != nil {
			errs = append(errs, pl.Close())
		}
	}
	p.python.Release()
	if p.compiled != nil {
		p.compiled.Release()
	}
	return errors.Join(errs...)
}
