//go:build linux

package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// transport is how a server is spoken with.
type transport string

const (
	overStdio transport = "stdio"
	overHTTP  transport = "http"
	overUnix  transport = "unix"
)

// server is a running gearbox serve with one client that has greeted it.
type server struct {
	transport
	client

	cmd  *exec.Cmd
	log  *journal
	gone chan struct{} // closed when it has ended
	err  error         // how, once it has
}

// journal keeps what a server writes to standard error.
type journal struct {
	mu      sync.Mutex // guards what follows
	text    bytes.Buffer
	address chan string // where it listens
	done    chan struct{}
}

func (j *journal) follow(r io.Reader) {
	defer close(j.done)
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		j.mu.Lock()
		j.text.Write(line)
		j.mu.Unlock()
		var said struct{ Msg, Address string }
		if json.Unmarshal(line, &said) == nil && said.Address != "" && said.Msg == "answering over HTTP" {
			j.address <- said.Address
		}
		if err != nil {
			return
		}
	}
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// serve starts a server on a data directory and greets it. It ends with the test.
func serve(t *testing.T, dir string, over transport, flags ...string) *server {
	t.Helper()
	s := launch(t, dir, over, flags...)
	if s == nil {
		t.FailNow()
	}
	return s
}

// launch is nil when the server does not come up, and then the test has failed.
func launch(t *testing.T, dir string, over transport, flags ...string) *server {
	t.Helper()
	args := append([]string{"serve", "--data-dir", dir}, flags...)
	switch over {
	case overHTTP:
		args = append(args, "--http", "127.0.0.1:0")
	case overUnix:
		args = append(args, "--unix", filepath.Join(t.TempDir(), "gearbox.sock"))
	case overStdio:
	}
	s := &server{
		// The test's context ends before its clean-up, in which the server is looked at.
		transport: over, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), gearbox(t), args...), gone: make(chan struct{}),
		log: &journal{address: make(chan string, 1), done: make(chan struct{})},
	}
	s.cmd.Env = environment()
	if err := s.start(); err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(s.kill)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if over != overStdio {
		select {
		case address := <-s.log.address:
			s.client = newWeb(strings.TrimPrefix(strings.TrimSuffix(address, "/mcp"), "http://"))
		case <-s.gone:
		case <-ctx.Done():
		}
	}
	if s.client == nil {
		t.Errorf("the server over %s does not listen: %s", over, s.log)
		return nil
	}
	if err := greet(ctx, s.client); err != nil {
		t.Errorf("greet the server over %s: %v\n%s", over, err, s.log)
		return nil
	}
	return s
}

func (s *server) start() error {
	errOut, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if s.transport == overStdio {
		in, err := s.cmd.StdinPipe()
		if err != nil {
			return err
		}
		// Wait would close a pipe of exec's own before all was read.
		r, w := io.Pipe()
		s.cmd.Stdout = w
		s.client = newPipes(in, r)
	}
	if err := shared.start(s.cmd); err != nil {
		return err
	}
	go s.log.follow(errOut)
	go func() {
		defer close(s.gone)
		<-s.log.done
		s.err = shared.wait(s.cmd)
		if p, ok := s.client.(*pipes); ok {
			p.fail(io.EOF)
		}
	}()
	return nil
}

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) signal(t *testing.T, sig unix.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("signal %v: %v", sig, err)
	}
}

// kill ends it at once and waits for that.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.gone
	if s.client != nil {
		s.client.close()
	}
}

// ended waits for its end and gives the exit code, -1 after a signal.
func (s *server) ended(t *testing.T) int {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-s.gone:
	case <-limit.C:
		t.Fatalf("the server has not ended within %v: %s", patience, s.log)
	}
	return s.cmd.ProcessState.ExitCode()
}

// web is the client of a server that is spoken with over HTTP.
func (s *server) web(t *testing.T) *web {
	t.Helper()
	w, ok := s.client.(*web)
	if !ok {
		t.Fatalf("the server over %s has no pages", s.transport)
	}
	return w
}

// execute runs a program and expects an answer, whatever it is.
func (s *server) execute(t *testing.T, c call) answer {
	t.Helper()
	return s.use(t, "execute", c)
}

func (s *server) use(t *testing.T, tool string, arguments any) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, err := use(ctx, s.client, tool, arguments)
	if err != nil {
		t.Fatalf("%s over %s: %v\n%s", tool, s.transport, err, s.log)
	}
	return a
}

// outcome asks for an operation until it has ended.
func (s *server) outcome(t *testing.T, id string) answer {
	t.Helper()
	a := s.use(t, "get_operation", query{Operation: id, Wait: seconds(60)})
	if a.Status == "running" {
		t.Fatalf("%s still runs: %s", id, a.raw)
	}
	return a
}

func seconds(n float64) *float64 { return &n }
