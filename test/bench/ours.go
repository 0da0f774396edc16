//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// boxes is the sandbox without the engine: children as the default gear has them.
type boxes struct {
	backend  sandbox.Backend
	template sandbox.Template
	arm      sandbox.Arm
}

// boxes makes the backend as sidecar does.
func (b *bench) boxes() (boxes, error) {
	in := b.interpreter()
	resolve := func(context.Context, execution.Digest) (sandbox.Interpreter, error) { return in, nil }
	groups, err := cgroup.Find()
	if err != nil {
		groups = nil // it works without, less exactly
	}
	g, err := frozen(sidecar.DefaultGear)
	if err != nil {
		return boxes{}, err
	}
	l := g.Limits()
	python := len(g.Programs()) == 0
	return boxes{
		backend: linux.New(linux.Config{Interpreters: resolve, Groups: groups}),
		template: sandbox.Template{
			Interpreter: in.Digest, Language: execution.Python, Class: execution.ClassLocal,
			Shape: sandbox.Shape{
				Programs: strings.Join(g.Programs(), ","), Reads: strings.Join(g.Granted(policy.Read), "\n"),
				NoFork: !g.Forks(), NoExec: python, Timeout: l.MaxTimeout,
				Memory: l.Memory, Processes: l.Processes, OpenFiles: l.OpenFiles, Scratch: l.Scratch, ScratchFiles: l.ScratchFiles,
			},
		},
		arm: sandbox.Arm{Limits: l, Environment: g.Env(), NoFork: !g.Forks(), NoExec: python},
	}, nil
}

func frozen(name string) (gear.Frozen, error) {
	var server gear.Gear
	for _, g := range gear.Builtin() {
		if g.Name == name {
			server = g
		}
	}
	return gear.Freeze(server, nil, nil, gear.Overlays{})
}

// drive takes a parked child through one program, as the engine does, and returns
// what it printed. It returns when the answer could be given; the child may not be
// gone yet.
func (s boxes) drive(ctx context.Context, child sandbox.Child, code string) (string, error) {
	if _, err := sandboxtest.Analyse(child.Bridge(), code); err != nil {
		return "", err
	}
	if err := child.Arm(ctx, s.arm); err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	var streams sync.WaitGroup
	streams.Go(func() { _, _ = io.Copy(&stdout, child.Stdout()) }) // what is missing is noticed by whoever compares
	streams.Go(func() { _, _ = io.Copy(&stderr, child.Stderr()) })
	_ = child.Stdin().Close()
	result, err := sandboxtest.Execute(child.Bridge(), nil)
	if err != nil {
		return "", err
	}
	if _, err := child.Stop(ctx); err != nil {
		return "", err
	}
	streams.Wait()
	if result.Exception != nil {
		return result.Exception.Text, nil
	}
	return stdout.String(), nil
}

// bury waits until nothing of a child is left.
func bury(ctx context.Context, c sandbox.Child) {
	c.Kill(sandbox.CauseAbandoned)
	_, _ = c.Wait(ctx) // how it ended is not what is measured
}

// onDemand starts a child for each lap, as is done when the pool has none.
func (s boxes) onDemand(code, want string) func(context.Context) (lap, func(), error) {
	return func(ctx context.Context) (lap, func(), error) {
		source, err := s.backend.Open(ctx, s.template)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) (time.Duration, error) {
			return s.startAndDrive(ctx, source, time.Now(), code, want)
		}, func() { _ = source.Close() }, nil
	}
}

func (s boxes) startAndDrive(ctx context.Context, source sandbox.Source, start time.Time, code, want string) (time.Duration, error) {
	child, err := source.Start(ctx, false)
	if err != nil {
		return 0, err
	}
	defer bury(ctx, child)
	got, err := s.drive(ctx, child, code)
	return time.Since(start), expect(got, want, err)
}

// cold opens the fork server for each lap.
func (s boxes) cold(code, want string) func(context.Context) (lap, func(), error) {
	return func(context.Context) (lap, func(), error) {
		return func(ctx context.Context) (time.Duration, error) {
			start := time.Now()
			source, err := s.backend.Open(ctx, s.template)
			if err != nil {
				return 0, err
			}
			defer func() { _ = source.Close() }()
			return s.startAndDrive(ctx, source, start, code, want)
		}, nil, nil
	}
}

// pooled takes the child of each lap from a pool.
func (s boxes) pooled(code, want string) func(context.Context) (lap, func(), error) {
	return func(context.Context) (lap, func(), error) {
		p := pool.New(s.backend, pool.Config{})
		return func(ctx context.Context) (time.Duration, error) {
			untilParked(ctx, p)
			start := time.Now()
			child, release, err := p.Child(ctx, s.template, execution.Local)
			if err != nil {
				return 0, err
			}
			defer release()
			defer bury(ctx, child)
			got, err := s.drive(ctx, child, code)
			return time.Since(start), expect(got, want, err)
		}, func() { _ = p.Close() }, nil
	}
}

// untilParked waits for a child that is ready, however busy the machine is: making
// one on demand has a row of its own. The first lap opens the source.
func untilParked(ctx context.Context, p *pool.Pool) {
	for p.Stats().Sources > 0 && p.Stats().Parked == 0 && ctx.Err() == nil {
		rest(ctx, time.Millisecond)
	}
}
