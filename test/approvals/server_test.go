//go:build linux

package approvals

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// server is a running gearbox serve with one client that has greeted it.
type server struct {
	client

	t       testing.TB
	cmd     *exec.Cmd
	address string // host:port, over HTTP
	log     *journal
	gone    chan struct{} // closed when it has ended
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

// options are how a server is started.
type options struct {
	http  bool
	token string // of the client
	env   []string
	flags []string
}

// serve starts a server on a data directory and greets it. It ends with the test.
func serve(t testing.TB, dir string, o options) *server {
	t.Helper()
	args := append([]string{"serve", "--data-dir", dir}, o.flags...)
	if o.http {
		args = append(args, "--http", "127.0.0.1:0")
	}
	s := &server{
		// The test's context ends before its clean-up, in which the server is looked at.
		t: t, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), gearbox(t), args...), gone: make(chan struct{}),
		log: &journal{address: make(chan string, 1), done: make(chan struct{})},
	}
	s.cmd.Env = environment(o.env...)
	s.start(o)
	t.Cleanup(s.kill)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if o.http {
		select {
		case address := <-s.log.address:
			s.address = strings.TrimPrefix(strings.TrimSuffix(address, "/mcp"), "http://")
			s.client = newWeb(s.address, o.token)
		case <-s.gone:
		case <-ctx.Done():
		}
	}
	if s.client == nil {
		t.Fatalf("the server does not listen: %s", s.log)
	}
	if err := greet(ctx, s.client); err != nil {
		t.Fatalf("greet the server: %v\n%s", err, s.log)
	}
	return s
}

func (s *server) start(o options) {
	s.t.Helper()
	errOut, err := s.cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if !o.http {
		in, err := s.cmd.StdinPipe()
		if err != nil {
			s.t.Fatal(err)
		}
		// Wait would close a pipe of exec's own before all was read.
		r, w := io.Pipe()
		s.cmd.Stdout = w
		s.client = newPipes(in, r)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go s.log.follow(errOut)
	go func() {
		defer close(s.gone)
		<-s.log.done
		_ = s.cmd.Wait() // how it ended shows in what it did
		if p, ok := s.client.(*pipes); ok {
			p.fail(io.EOF)
		}
	}()
}

// kill ends it at once and waits for that.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.gone
	if s.client != nil {
		s.close()
	}
}

// stop ends it as a service manager does and waits for that.
func (s *server) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(unix.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	<-s.gone
	s.close()
}

func (s *server) use(tool string, arguments any) answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	a, err := use(ctx, s.client, tool, arguments)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", tool, err, s.log)
	}
	return a
}

// execute runs a program and expects an answer, whatever it is.
func (s *server) execute(c call) answer {
	s.t.Helper()
	return s.use("execute", c)
}

// ask runs a program about which a human has to be asked.
func (s *server) ask(c call) answer {
	s.t.Helper()
	a := s.execute(c)
	if a.Status != "pending_approval" || a.Operation == "" || a.ExitCode != -1 || a.Summary == "" || len(a.Permissions) == 0 ||
		!strings.Contains(a.Hint, a.Operation) || a.Expires == "" || a.Stdout != "" {
		s.t.Fatalf("no question: %s\n%s", a.raw, s.log)
	}
	return a
}

// now is how an operation stands.
func (s *server) now(id string) answer {
	s.t.Helper()
	return s.use("get_operation", query{Operation: id, Wait: new(float64)})
}

// outcome asks for an operation until it has ended.
func (s *server) outcome(id string) answer {
	s.t.Helper()
	var a answer
	eventually(s.t, "the end of "+id, func() string {
		wait := 10.0
		a = s.use("get_operation", query{Operation: id, Wait: &wait})
		if a.Status == "running" || a.Status == "pending_approval" {
			return string(a.raw)
		}
		return ""
	})
	return a
}
