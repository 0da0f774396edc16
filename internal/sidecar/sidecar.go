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

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/instance"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver/fixtures"
	"github.com/gearbox-mcp/gearbox/internal/quota"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
	"github.com/gearbox-mcp/gearbox/internal/web"
)

// Sidecar is one running Gearbox. Close ends it.
type Sidecar struct {
	engine      *engine.Engine
	limiter     *quota.Limiter
	lister      web.Lister
	server      *mcpserver.Server
	gears       *gears
	places      *places
	environment *environment
	instance    *instance.Instance
	self        Status // the parts that stay the same
	addresses   atomic.Pointer[[]string]
	closeOnce   sync.Once
	closeErr    error
}

// Open checks the options and starts preparing the interpreter and the sandbox
// beside the caller. It returns at once, so that a client is answered whatever
// is still being prepared; a run waits for what it needs.
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
	if err := o.Pool.check(); err != nil {
		return nil, err
	}
	g, err := openGears(o, dir)
	if err != nil {
		return nil, err
	}
	if err := checkTrust(o, g.base); err != nil {
		return nil, err
	}
	if err := checkSharing(o, g); err != nil {
		return nil, err
	}
	joined, err := instance.Join(dir)
	if err != nil {
		return nil, err
	}
	s := &Sidecar{gears: g, instance: joined, self: self(o, version, g)}
	if err := s.assemble(ctx, o, dir, l, progress); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.answer(ctx, l)
	return s, nil
}

func (s *Sidecar) assemble(ctx context.Context, o Options, dir string, l *slog.Logger, progress func(string)) error {
	var err error
	if s.places, err = newPlaces(ctx, o, dir, s.gears.base, l, progress); err != nil {
		return err
	}
	journal := store.NewMemory(telemetry.AuditLog(l))
	door, err := authz.New(authz.Config{
		Recorder: journal, Approver: authz.NoApprover{}, Mechanisms: mechanisms, Now: time.Now,
	})
	if err != nil {
		return err
	}
	s.engine, err = engine.New(engine.Config{
		Journal: journal, Gears: s.gears, Places: s.places, Door: door, Exists: exists, Getenv: os.LookupEnv, Clock: systemClock{}, Logger: l, Queue: o.Pool.queue(),
	})
	if err != nil {
		return err
	}
	s.environment = &environment{places: s.places, gears: s.gears}
	s.limiter, s.lister = quota.New(s.engine, bounds{s.gears.tokens}, time.Now), journal
	var extension mcpserver.Extension
	if o.ConformanceFixtures {
		extension = fixtures.New()
	}
	s.server, err = mcpserver.New(mcpserver.Config{
		Extension: extension,
		Engine:    s.limiter, Environment: s.environment, Logger: l, Version: s.self.Version, Compat: o.Compat,
		Languages: s.places.languages(s.gears.base),
	})
	return err
}

// Serve answers one MCP client over the transport until it goes away or ctx ends.
// When ctx ends everything that runs is ended with it, so that no call is waited for.
func (s *Sidecar) Serve(ctx context.Context, t mcpserver.Transport) error {
	defer context.AfterFunc(ctx, s.engine.Close)()
	return s.server.Serve(ctx, t)
}

// Engine runs executions.
func (s *Sidecar) Engine() *engine.Engine { return s.engine }

// Environment tells what code would find.
func (s *Sidecar) Environment() mcpserver.Environment { return s.environment }

// Close ends every run and every process that was started, and lets go of the
// data directory. It may be repeated.
func (s *Sidecar) Close() error {
	s.closeOnce.Do(func() {
		if s.engine != nil {
			s.engine.Close()
		}
		if s.limiter != nil {
			s.limiter.Close()
		}
		var errs []error
		if s.places != nil {
			errs = append(errs, s.places.close())
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
