// Package sidecar puts the parts together. It is the only room that knows every
// concrete type: which backends this platform has, which store keeps the
// records, where the interpreter comes from.
//
// Nothing is decided here about a program. What belongs here is configuration,
// start, stop, and the report of the doctor.
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gateway"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/instance"
	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver/fixtures"
	"github.com/gearbox-mcp/gearbox/internal/quota"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
	"github.com/gearbox-mcp/gearbox/internal/visible"
	"github.com/gearbox-mcp/gearbox/internal/webhook"
)

// Sidecar is one running Gearbox. Close ends it.
type Sidecar struct {
	engine      *engine.Engine
	limiter     *quota.Limiter
	bounds      *bounds
	records     *store.SQLite
	metrics     *telemetry.Metrics
	logins      logins
	server      *mcpserver.Server
	gears       *gears
	places      *places
	environment *environment
	instance    *instance.Instance
	self        Status // the parts that stay the same
	addresses   atomic.Pointer[[]string]
	redactor    *logging.Redactor
	changes     ChangeLog
	journal     telemetry.Journal
	guard       *credential.File
	webhook     *webhook.Sender // nil for none
	telling     *telling        // by it; nil for none
	servers     *upstream.Fleet // nil for none, and then gateway too
	gateway     *gateway.Gateway
	approved    chan struct{} // somebody has decided
	log         *slog.Logger
	reloading   sync.Mutex // guards what follows
	options     Options    // in force
	closed      bool
	chores      sync.WaitGroup
	stopChores  context.CancelFunc
	closeOnce   sync.Once
	closeErr    error
}

// Open checks the options and starts preparing the interpreter and the sandbox
// beside the caller. It returns at once, so that a client is answered whatever
// is still being prepared; a run waits for what it needs. Only an interpreter that the
// options name has to start once, some ten milliseconds: one that cannot be used is an
// error.
//
// progress is told what takes long; nil for silence.
func Open(ctx context.Context, o Options, version string, l *slog.Logger, progress func(string)) (*Sidecar, error) {
	dir, err := o.dataDir()
	if err != nil {
		return nil, err
	}
	if err := makeDataDir(dir); err != nil {
		return nil, err
	}
	g, err := o.check(dir)
	if err != nil {
		return nil, err
	}
	if o.Transport.serves() {
		if err := o.checkServing(dir); err != nil {
			return nil, err
		}
	}
	redactor, err := logging.NewRedactor(o.Redact)
	if err != nil {
		return nil, err
	}
	l = slog.New(redactor.Handler(l.Handler()))
	joined, err := instance.Join(dir)
	if err != nil {
		return nil, err
	}
	s := &Sidecar{gears: &gears{tokens: openTokens(dir)}, instance: joined, self: self(o, version), redactor: redactor, log: l, options: o, approved: make(chan struct{}, 1)}
	s.gears.now.Store(g)
	ctx, s.stopChores = context.WithCancel(ctx)
	if err := s.assemble(ctx, o, dir, l, progress); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.watch(ctx)
	s.answer(ctx, l)
	s.chores.Go(func() { s.keepRecords(ctx, l) })
	if o.Transport.serves() {
		s.chores.Go(func() { s.followApprovals(ctx, l) })
	}
	return s, nil
}

func (s *Sidecar) assemble(ctx context.Context, o Options, dir string, l *slog.Logger, progress func(string)) error {
	var err error
	if s.places, err = newPlaces(ctx, o, dir, s.gears.base, l, progress); err != nil {
		return err
	}
	journal, err := s.openRecords(ctx, o, dir, l)
	if err != nil {
		return err
	}
	s.guard = o.guard(dir)
	if err := s.openWebhook(o, l); err != nil {
		return err
	}
	if s.webhook != nil {
		s.telling = newTelling(journal, s.webhook, s.records, o.Approvals.Webhook.Code == "on")
		journal = s.telling
	}
	s.journal, s.changes = journal, recordedChanges{journal, loggedChanges{l}}
	if err := s.openServers(ctx, o, dir, l); err != nil {
		return err
	}
	door, err := authz.New(authz.Config{
		Recorder: journal, Patience: s.patience, Mechanisms: mechanisms(dir, s.gateway != nil), Now: time.Now,
	})
	if err != nil {
		return err
	}
	c := engine.Config{
		Journal: journal, Gears: s.gears, Places: s.places, Door: s.metrics.Door(door), Exists: exists, Getenv: o.Agent.programsEnvironment(os.LookupEnv), Clock: systemClock{}, Logger: l, Queue: o.queue(),
		MaxPending: s.maxPending, MaxPause: s.maxPause, Enter: func(p execution.Principal) (func(), error) { return s.limiter.Enter(p) },
		Instance: string(s.instance.ID()), Elsewhere: elsewhere{dir, l}, ApproveScripts: o.Tools.Approve == "script",
	}
	if s.gateway != nil {
		c.Tools, c.Bindings = s.gateway, s.gateway
	}
	if s.engine, err = engine.New(c); err != nil {
		return err
	}
	s.environment = &environment{places: s.places, gears: s.gears}
	s.bounds = newBounds(s.gears.tokens, o.Principal)
	s.limiter, s.logins = quota.New(s.engine, s.bounds, time.Now), logins{journal, s.metrics}
	var extension mcpserver.Extension
	if o.ConformanceFixtures {
		extension = fixtures.New()
	}
	page, err := o.Approvals.page()
	if err != nil {
		return err
	}
	s.server, err = mcpserver.New(mcpserver.Config{
		ApprovalPage: page, Visible: visible.Line, Toolbox: s.toolbox(ctx), OwnSourceLimits: s.gears.base().Source() != gear.SourceLimits{},
		Extension: extension, Observer: newRefusals(journal, s.metrics, l),
		Engine: s.metrics.Engine(s.limiter), Records: standings{s.records}, Environment: s.environment, Logger: l, Version: s.self.Version, Compat: o.Compat,
		Languages: s.places.languages(s.gears.base()),
	})
	if err != nil || o.Transport != TransportStdio { // over HTTP it starts when it listens
		return err
	}
	return s.recordStart(ctx, o, TransportStdio)
}

// patience is what the options in force say.
func (s *Sidecar) patience() time.Duration { return s.optionsInForce().patience() }

// maxPending is what the options in force say. Whoever is asked here is there to answer.
func (s *Sidecar) maxPending() int {
	a := s.optionsInForce().Approvals
	if a.Here {
		return 0
	}
	return a.maxPending()
}

// maxPause is what the options in force say.
func (s *Sidecar) maxPause() time.Duration { return s.optionsInForce().Approvals.maxPause() }

// optionsInForce are those that the last change left.
func (s *Sidecar) optionsInForce() Options {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	return s.options
}

// Serve answers one MCP client over the transport until it goes away or ctx ends.
// When ctx ends everything that runs is ended with it, so that no call is waited for.
func (s *Sidecar) Serve(ctx context.Context, t mcpserver.Transport) error {
	defer context.AfterFunc(ctx, func() { _ = s.Close() })() // whoever closes it next is told of errors
	return s.server.Serve(ctx, t)
}

// Engine runs executions.
func (s *Sidecar) Engine() *engine.Engine { return s.engine }

// Environment tells what code would find.
func (s *Sidecar) Environment() mcpserver.Environment { return s.environment }

// Close ends every run and every process that was started, and lets go of the
// data directory. It may be repeated. The fork servers are ended before the runs are
// waited for: one that hangs would not tell of their ends.
func (s *Sidecar) Close() error {
	s.closeOnce.Do(func() {
		s.reloading.Lock()
		s.closed = true
		s.reloading.Unlock()
		var errs []error
		if s.engine != nil {
			s.engine.Shut()
		}
		if s.places != nil {
			errs = append(errs, s.places.close())
		}
		if s.servers != nil {
			errs = append(errs, s.servers.Close())
		}
		if s.engine != nil {
			s.engine.Close()
		}
		if s.limiter != nil {
			s.limiter.Close()
		}
		s.stopChores()
		s.chores.Wait()
		if s.webhook != nil {
			s.webhook.Close()
		}
		if s.records != nil {
			errs = append(errs, s.records.Close())
		}
		errs = append(errs, s.instance.Leave())
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

// exists answers for a path as the operator would see it.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// makeDataDir makes the data directory, or checks the one that is there before
// anything in it is believed.
func makeDataDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the data directory: %w", err)
	}
	return checkOwner(dir, st)
}
