package e2e

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what authenticators use
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write what the scripts compare with")

// TestApprovals plays agents and the humans who answer them, each script on a data
// directory of its own:
//
//	server NAME start [FLAG…] | stop | kill
//	call SERVER TOOL ARGUMENTS      one MCP call; its answer becomes the standard output,
//	                                and the operation's id $ID
//	call SERVER TOOL ARGUMENTS until STATUS   the same again and again, until the status is that
//	screen NAME start ARGUMENT…     gearbox on a terminal of its own
//	screen NAME shows TEXT          waits until it is there, behind what was waited for before
//	screen NAME lacks TEXT          it was never there
//	screen NAME type TEXT           a line, or ^C or ^D
//	screen NAME breaks              the line of the last prompt ends there
//	screen NAME scan                takes what is on it into an authenticator
//	screen NAME code next|again|wrong   types a code of that: one that was not shown before,
//	                                the same once more, or another
//	screen NAME ends CODE
//	mask                            takes names, times and hashes out of the standard output
func TestApprovals(t *testing.T) {
	if text, _, exit := gearboxIn(t, t.TempDir(), "doctor"); exit != 0 {
		t.Skipf("skipped: no sandbox on this machine: %s", text)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/approvals",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GEARBOX_DATA_DIR", e.WorkDir+"/data")
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("PATH", withReferenceServers(e.Getenv("PATH")))
			e.Values[castKey{}] = &cast{ctx: t.Context(), agents: map[string]*agent{}, screens: map[string]*screen{}}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "servers" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return referenceServers() != "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "server": theCast((*cast).server), "call": theCast((*cast).call), "screen": theCast((*cast).screen), "mask": mask,
		},
	})
}

type castKey struct{}

// cast is who appears in one script.
type cast struct {
	ctx     context.Context
	agents  map[string]*agent
	screens map[string]*screen

	authenticator authenticator
}

// authenticator shows codes as RFC 6238 has them.
type authenticator struct {
	secret []byte
	step   int64 // of the last code
}

// code is one as a person would type it. The next one is that of the step after the last
// where that is not over yet, so that nobody has to wait for it.
func (c *cast) code(ts *testscript.TestScript, which string) string {
	a := &c.authenticator
	switch which {
	case "next", "wrong":
		step := max(a.step+1, time.Now().Unix()/30)
		if which == "wrong" { // one digit away from each that may count now
			return notAmong(a.at(step-2), a.at(step-1), a.at(step), a.at(step+1), a.at(step+2))
		}
		a.step = step
	case "again":
	default:
		ts.Fatalf("code next, again or wrong")
	}
	return a.at(a.step)
}

func (a *authenticator) at(step int64) string {
	mac := hmac.New(sha1.New, a.secret)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash takes everything
	sum := mac.Sum(nil)
	from := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[from:])&0x7fffffff%1_000_000)
}

func notAmong(codes ...string) string {
	for n := 0; ; n++ {
		if code := fmt.Sprintf("%06d", n); !slices.Contains(codes, code) {
			return code
		}
	}
}

func theCast(do func(*cast, *testscript.TestScript, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("see TestApprovals for how this is used")
		}
		do(ts.Value(castKey{}).(*cast), ts, args)
	}
}

// agent is a server and a client of it.
type agent struct {
	cmd     *exec.Cmd
	log     *bufio.Reader
	session *mcp.ClientSession
}

func (c *cast) server(ts *testscript.TestScript, args []string) {
	name, verb := args[0], args[1]
	if verb == "start" {
		c.agents[name] = c.startAgent(ts, args[2:])
		return
	}
	a := c.agents[name]
	signal := map[string]os.Signal{"stop": syscall.SIGTERM, "kill": syscall.SIGKILL}[verb]
	if a == nil || signal == nil {
		ts.Fatalf("server %s %s: there is no such thing", name, verb)
	}
	delete(c.agents, name)
	ts.Check(a.cmd.Process.Signal(signal))
	_, _ = io.Copy(io.Discard, a.log)
	if err := a.cmd.Wait(); err != nil && verb == "stop" {
		ts.Fatalf("server %s: %v", name, err)
	}
}

func (c *cast) startAgent(ts *testscript.TestScript, flags []string) *agent {
	a := &agent{cmd: exec.CommandContext(c.ctx, "gearbox", append([]string{"serve", "--http", "127.0.0.1:0"}, flags...)...)}
	a.cmd.Dir = ts.MkAbs(".")
	a.cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"), "GEARBOX_DATA_DIR="+ts.Getenv("GEARBOX_DATA_DIR"), "HOME="+ts.Getenv("HOME"))
	errs, err := a.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(a.cmd.Start())
	ts.Defer(func() {
		if a.cmd.ProcessState == nil {
			_ = a.cmd.Process.Kill()
			_ = a.cmd.Wait()
		}
	})
	a.log = bufio.NewReader(errs)
	address := ""
	for address == "" {
		line, err := a.log.ReadString('\n')
		if err != nil {
			ts.Fatalf("the server ended: %s", line)
		}
		var said struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "answering over HTTP" {
			address = said.Address
		}
	}
	a.session, err = mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(c.ctx, &mcp.StreamableClientTransport{Endpoint: address + "/mcp"}, nil)
	ts.Check(err)
	return a
}

func (c *cast) call(ts *testscript.TestScript, args []string) {
	a := c.agents[args[0]]
	if a == nil || len(args) != 3 && (len(args) != 5 || args[3] != "until") {
		ts.Fatalf("call SERVER TOOL ARGUMENTS [until STATUS]")
	}
	var arguments map[string]any
	ts.Check(json.Unmarshal([]byte(args[2]), &arguments))
	ctx, stop := context.WithTimeout(c.ctx, patience)
	defer stop()
	answer, whole := a.call(ctx, ts, args[1], arguments)
	for len(args) == 5 && answer["status"] != args[4] {
		answer, whole = a.call(ctx, ts, args[1], arguments)
	}
	if id, _ := answer["operation_id"].(string); id != "" {
		ts.Setenv("ID", id)
	}
	var shown any = answer
	if answer == nil { // as with pictures
		shown = whole
	}
	text, err := json.MarshalIndent(shown, "", "  ")
	ts.Check(err)
	_, _ = ts.Stdout().Write(append(text, '\n'))
}

// call is the structured answer of a call, and all of it.
func (a *agent) call(ctx context.Context, ts *testscript.TestScript, tool string, arguments map[string]any) (map[string]any, *mcp.CallToolResult) {
	res, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	ts.Check(err)
	answer, _ := res.StructuredContent.(map[string]any)
	return answer, res
}

// screen is a terminal with a command on it.
type screen struct {
	cmd   *exec.Cmd
	tty   *os.File
	shown transcript
	read  int // up to where it was waited for
	ended sync.WaitGroup
}

func (c *cast) screen(ts *testscript.TestScript, args []string) {
	name, verb, rest := args[0], args[1], strings.Join(args[2:], " ")
	if verb == "start" {
		c.screens[name] = c.openScreen(ts, args[2:])
		return
	}
	s := c.screens[name]
	if s == nil {
		ts.Fatalf("there is no screen %s", name)
	}
	switch verb {
	case "shows":
		s.await(c.ctx, ts, rest)
	case "lacks":
		if strings.Contains(s.shown.String(), rest) {
			ts.Fatalf("%q is on the screen:\n%s", rest, s.shown.String())
		}
	case "type":
		text := rest + "\n"
		switch rest {
		case "^C":
			text = "\x03"
		case "^D":
			text = "\x04"
		}
		_, err := s.tty.WriteString(text)
		ts.Check(err)
	case "breaks":
		s.await(c.ctx, ts, "\r\n")
		if before := strings.TrimSuffix(s.shown.String()[:s.read], "\r\n"); !strings.HasSuffix(before, ": ") {
			ts.Fatalf("the line of the prompt goes on:\n%s", s.shown.String())
		}
	case "code":
		_, err := s.tty.WriteString(c.code(ts, rest) + "\n")
		ts.Check(err)
	case "scan":
		found := regexp.MustCompile(`[?&]secret=([A-Z2-7]+)`).FindStringSubmatch(s.shown.String())
		if found == nil {
			ts.Fatalf("there is nothing to scan:\n%s", s.shown.String())
		}
		secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(found[1])
		ts.Check(err)
		c.authenticator = authenticator{secret: secret}
	case "ends":
		_ = s.cmd.Wait() // the exit code is checked instead
		if code := strconv.Itoa(s.cmd.ProcessState.ExitCode()); code != rest {
			ts.Fatalf("exit code %s, want %s:\n%s", code, rest, s.shown.String())
		}
	default:
		ts.Fatalf("screen %s %s: see TestApprovals", name, verb)
	}
}

func (c *cast) openScreen(ts *testscript.TestScript, args []string) *screen {
	ours, theirs := openTerminal(ts)
	s := &screen{tty: ours, cmd: exec.CommandContext(c.ctx, "gearbox", args...)}
	s.cmd.Dir = ts.MkAbs(".")
	s.cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"), "GEARBOX_DATA_DIR="+ts.Getenv("GEARBOX_DATA_DIR"), "HOME="+ts.Getenv("HOME"))
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = theirs, theirs, theirs
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(s.cmd.Start())
	ts.Check(theirs.Close())
	s.ended.Go(func() { _, _ = io.Copy(&s.shown, ours) }) // it ends with an error when the last one has closed the other end
	ts.Defer(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
		s.ended.Wait()
		_ = ours.Close()
	})
	return s
}

// openTerminal is a new pseudo terminal (pty(7)), wide enough that nothing is broken.
func openTerminal(ts *testscript.TestScript) (ours, theirs *os.File) {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	raw, err := ours.SyscallConn()
	ts.Check(err)
	number := 0
	ts.Check(errors.Join(raw.Control(func(fd uintptr) {
		number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		err = errors.Join(err, unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}))
	}), err))
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	return ours, theirs
}

// patience bounds what a screen or an answer is waited for, on a machine that has much else to do.
const patience = 2 * time.Minute

func (s *screen) await(ctx context.Context, ts *testscript.TestScript, text string) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		got, more := s.shown.now()
		if i := strings.Index(got[s.read:], text); i >= 0 {
			s.read += i + len(text)
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			ts.Fatalf("%q did not come up:\n%s", text, got)
		}
	}
}

// varying is what differs from run to run.
var varying = map[*regexp.Regexp]string{
	regexp.MustCompile(`op_[a-z2-7]{32}`):                                         "OPERATION",
	regexp.MustCompile(`sha256:[0-9a-f]{64}`):                                     "HASH",
	regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`): "TIME",
	regexp.MustCompile(`terminal:[^" ]+`):                                         "terminal:USER",
	regexp.MustCompile(`, in [0-9hms]+`):                                          ", in SOME TIME",
	regexp.MustCompile(`/\S+/data/rules\.yaml`):                                   "RULES",
}

func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: mask")
	}
	text := ts.ReadFile("stdout")
	for pattern, word := range varying {
		text = pattern.ReplaceAllString(text, word)
	}
	_, _ = ts.Stdout().Write([]byte(text))
}
