package pool_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// backend counts what is opened and closed; what its sources do is set by the test.
type backend struct {
	mu      sync.Mutex
	opened  []*source
	openErr error
}

func (b *backend) Name() string                         { return "test" }
func (b *backend) Probe(context.Context) sandbox.Report { return sandbox.Report{} }
func (b *backend) Open(_ context.Context, t sandbox.Template) (sandbox.Source, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.openErr != nil {
		return nil, b.openErr
	}
	s := &source{template: t}
	b.opened = append(b.opened, s)
	return s, nil
}

func (b *backend) sources() []*source {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*source(nil), b.opened...)
}

type source struct {
	template sandbox.Template

	mu     sync.Mutex
	dead   bool
	closed bool
}

func (s *source) set(dead, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead, s.closed = s.dead || dead, s.closed || closed
}

func (s *source) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *source) Level() execution.Level { return execution.LevelFull }
func (s *source) Done() <-chan struct{}  { return nil }
func (s *source) Close() error           { s.set(true, true); return nil }

func (s *source) Start(context.Context, bool) (sandbox.Child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return nil, sandbox.ErrSourceDead
	}
	return child{}, nil
}

type child struct{}

func (child) Bridge() bridge.Conn                         { return nil }
func (child) Stdin() io.WriteCloser                       { return nil }
func (child) Stdout() io.Reader                           { return nil }
func (child) Stderr() io.Reader                           { return nil }
func (child) Arm(context.Context, sandbox.Arm) error      { return nil }
func (child) Kill(sandbox.Cause)                          {}
func (child) Stop(context.Context) (sandbox.Ended, error) { return sandbox.Ended{}, nil }
func (child) Wait(context.Context) (sandbox.Ended, error) { return sandbox.Ended{}, nil }

func template(i int) sandbox.Template { return sandbox.Template{Shape: sandbox.Shape{Processes: i}} }

func take(t *testing.T, p *pool.Pool, tpl sandbox.Template) func() {
	t.Helper()
	_, release, err := p.Child(t.Context(), tpl, execution.Local)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestOneSourceServesATemplate(t *testing.T) {
	b := &backend{}
	p := pool.New(b)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() { take(t, p, template(1))() })
	}
	wg.Wait()
	take(t, p, template(2))()
	if n := len(b.sources()); n != 2 {
		t.Errorf("%d sources for two templates", n)
	}
}

func TestADeadSourceIsReplacedUnnoticed(t *testing.T) {
	b := &backend{}
	p := pool.New(b)
	take(t, p, template(1))()
	first := b.sources()[0]
	first.set(true, false)
	take(t, p, template(1))()
	if n := len(b.sources()); n != 2 || !first.isClosed() {
		t.Errorf("%d sources, the dead one closed: %v", n, first.isClosed())
	}
}

func TestASourceThatCannotBeOpenedIsTriedAgainByTheNextCaller(t *testing.T) {
	b := &backend{openErr: errors.New("no user namespaces")}
	p := pool.New(b)
	if _, err := p.Level(t.Context(), template(1)); !errors.Is(err, b.openErr) {
		t.Fatalf("%v", err)
	}
	b.mu.Lock()
	b.openErr = nil
	b.mu.Unlock()
	if level, err := p.Level(t.Context(), template(1)); err != nil || level != execution.LevelFull {
		t.Errorf("%s, %v", level, err)
	}
}

func TestTheLeastUsedIdleSourceMakesRoom(t *testing.T) {
	b := &backend{}
	p := pool.New(b)
	busy := take(t, p, template(0))
	for i := 1; i < 8; i++ {
		take(t, p, template(i))()
	}
	take(t, p, template(1))() // used again: the second is now the oldest idle one
	take(t, p, template(8))()
	for i, s := range b.sources() {
		if s.isClosed() != (i == 2) {
			t.Errorf("source %d closed: %v", i, s.isClosed())
		}
	}
	busy()
}

func TestCloseEndsEverySourceAndTakesNoMore(t *testing.T) {
	b := &backend{}
	p := pool.New(b)
	take(t, p, template(1))()
	take(t, p, template(2))()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for i, s := range b.sources() {
		if !s.isClosed() {
			t.Errorf("source %d is open", i)
		}
	}
	if _, _, err := p.Child(t.Context(), template(1), execution.Local); !errors.Is(err, sandbox.ErrSourceDead) {
		t.Errorf("%v", err)
	}
}
