package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/subprocess"
)

// program is a server that runs on this machine and speaks over its standard streams.
type program struct {
	spec   Spec
	opts   *Options
	noise  *noise
	stderr *tail

	running Launched
	pipe    *pipe
	watched *traffic
	copying sync.WaitGroup
	end     sync.Once
	stopped bool // it did not end by itself; set by cut
	old     bool // does not bear the probe for the newer protocol
}

// start starts the program of a server.
func start(ctx context.Context, s Spec, o *Options, find *searcher) (*program, error) {
	p := &program{spec: s, opts: o, noise: &noise{}, stderr: &tail{}}
	var err error
	switch {
	case s.Sandbox == nil:
		p.running, err = launch(ctx, s, o, find)
	case o.Launcher == nil:
		err = errNoLauncher
	default:
		p.running, err = o.Launcher.Launch(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	p.attach()
	return p, nil
}

// launch starts a program beside us, with our rights.
func launch(ctx context.Context, s Spec, o *Options, find *searcher) (Launched, error) {
	env := environment(o.Environ(), s.Env)
	f, err := find.find(ctx, s.Command[0], s.Dir, env)
	if err != nil {
		return Launched{}, err
	}
	if err := checkBatch(f.program, s.Command[1:]); err != nil {
		return Launched{}, err
	}
	env["PATH"] = f.path
	// Its end is ordered: see cut.
	c := exec.CommandContext(context.WithoutCancel(ctx), f.program, s.Command[1:]...)
	c.Dir, c.Env = s.Dir, list(env)
	return run(c)
}

// run connects the standard streams. Plain pipes, because nothing of ours then waits for
// what the program leaves behind.
func run(c *exec.Cmd) (Launched, error) {
	var ends []*os.File
	closeAll := func() {
		for _, f := range ends {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll()
			return Launched{}, fmt.Errorf("make a pipe: %w", err)
		}
		ends = append(ends, r, w)
	}
	c.Stdin, c.Stdout, c.Stderr = ends[0], ends[3], ends[5]
	group, err := subprocess.Start(c)
	if err != nil {
		closeAll()
		return Launched{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	for _, f := range []*os.File{ends[0], ends[3], ends[5]} {
		_ = f.Close()
	}
	return Launched{Process: group, Stdin: ends[1], Stdout: ends[2], Stderr: ends[4]}, nil
}

func (p *program) attach() {
	r := p.running
	p.copying.Go(func() { _, _ = io.Copy(p.stderr, r.Stderr) })
	p.copying.Go(p.drain)
	p.pipe = newPipe(r.Stdout, r.Stdin, p.opts.MaxMessage, p.noise)
	b := &prober{p.pipe, make(chan jsonrpc.ID, 1)}
	p.watched = watch(b, p.noise)
	p.copying.Go(func() { p.refuse(b) })
}

// drain has reading end soon after the program, even if something that it left behind in
// a group of its own still holds the other end. Streams that are no files end by themselves.
func (p *program) drain() {
	<-p.running.Process.Exited()
	if out, ok := p.running.Stdout.(*os.File); ok {
		_ = out.SetReadDeadline(time.Now().Add(drainTime))
	}
	if errs, ok := p.running.Stderr.(*os.File); ok {
		if err := errs.SetReadDeadline(time.Now().Add(drainTime)); err != nil {
			_ = errs.Close() // what has no deadlines is let go at once
		}
	}
}

// Connect implements [mcp.Transport].
func (p *program) Connect(context.Context) (mcp.Connection, error) { return p.watched, nil }

// prober answers the probe in the place of a program that is silent, so that the session
// goes on in the same process with the older protocol: what starts slowly is not started
// twice.
type prober struct {
	*pipe
	probes chan jsonrpc.ID // the request, once it is made
}

const probeMethod = "server/discover"

func (b *prober) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == probeMethod {
		select {
		case b.probes <- r.ID:
		default: // the SDK may probe twice, for another version: then the program has answered
		}
	}
	return b.pipe.Write(ctx, m)
}

func (p *program) refuse(b *prober) {
	var id jsonrpc.ID
	select {
	case id = <-b.probes:
	case <-b.closed:
		return
	}
	select {
	case <-p.opts.Clock.After(probeTime(p.spec)):
	case <-b.closed:
		return
	}
	if p.watched.waits(id) {
		b.give(incoming{message: &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer to the probe"}}})
	}
}

func (p *program) version() string {
	if p.old {
		return sessionful
	}
	return ""
}

// speaksOld reports whether the program ended by itself before a session began: some do
// when they meet a request that they do not know.
func (p *program) speaksOld() bool {
	f := p.watched.failure()
	return !p.stopped && (f == nil || errors.Is(f, io.EOF))
}

// cut ends the program: its input ends, then it is asked to end, then it is killed.
func (p *program) cut() {
	p.end.Do(func() {
		_ = p.pipe.Close()
		select {
		case <-p.running.Process.Exited():
		case <-p.opts.Clock.After(leaveTime):
			p.stopped = true
			p.running.Process.Stop(leaveTime)
		}
		p.pipe.release()
		p.copying.Wait()
		_ = p.running.Stderr.Close()
	})
}

// explain says how the program ended, and what it said last. It is for after the cut.
func (p *program) explain(err error) string {
	reason := "the program ended by itself: " + ended(p.running.Process.Err())
	if p.stopped {
		reason = "the program closed its standard output"
	}
	if f := p.watched.failure(); f != nil && !errors.Is(f, io.EOF) {
		reason, err = f.Error(), f
	} else if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, mcp.ErrConnectionClosed) {
		reason = err.Error()
	}
	if n, _ := p.noise.seen(); n > 0 && !errors.Is(err, errNoise) {
		reason += fmt.Sprintf("; it wrote %d lines to standard output that are no messages", n)
	}
	if last := p.stderr.last(); last != "" {
		reason += "; the end of its standard error: " + last
	}
	return reason
}

func ended(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// grace is how long a program takes to end at most.
func (*program) grace() time.Duration { return 3 * leaveTime }

func (*program) trouble() string { return "" }

func (p *program) last() string { return p.stderr.text() }

func (p *program) ignored() (int, string) { return p.noise.seen() }
