package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/clientconfig"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const demoHelp = `Start a server as an MCP client would, and walk through what an agent gets: a
value, a refusal, a timeout, an endless print, a network attempt.

With --code-mode the walk is another one: three MCP servers of the protocol's own
reference, which a program in the sandbox calls as Python functions. Tools are searched,
a stub is read, one script uses all three, a call that changes something asks on this
terminal, and the audit record of it all is shown. The servers are Node programs: those
that are installed are used, and else npx fetches them. With --yes this command plays the
operator: the question is shown, and answered as gearbox approvals approve --yes would.

The exit code is 0 if every step went as it should. Of the first walk nothing leaves this
machine: the network attempt is aimed at a listener of this command, which has to hear
nothing. The second has npx fetch what is not there.`

func (a *app) demoCommand() *cobra.Command {
	var o sidecar.Options
	var codeMode, yes bool
	c := &cobra.Command{
		Use: "demo", Short: "See it work, as an MCP client would", Long: demoHelp, Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case codeMode:
				return a.demoCode(c.Context(), o, yes)
			case yes:
				return usage("add --code-mode, or leave --yes out", "--yes answers the question of --code-mode, and nothing else asks")
			}
			return a.demo(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&codeMode, "code-mode", false, "walk through programs that call the tools of other MCP servers")
	c.Flags().BoolVar(&yes, "yes", false, "with --code-mode, play the operator, who says yes")
	c.Flags().StringVar(&o.Python, "python", "", "an interpreter or virtual environment at `PATH` in place of the embedded one")
	addDataDir(c, &o)
	return c
}

// step is one call of the demo.
type step struct {
	title     string
	arguments map[string]any
	// expect says what is wrong with an answer, nil if it is as it should be.
	expect func(execution.Result) error
}

func (a *app) demo(ctx context.Context, o sidecar.Options) error {
	// The steps show what the default gear does, whatever the configuration says.
	args := []string{"--gear", sidecar.DefaultGear}
	for name, path := range map[string]string{"--python": o.Python, "--data-dir": o.DataDir} {
		if path != "" {
			args = append(args, name, path)
		}
	}
	flags, err := parseServeFlags(args)
	if err != nil {
		return err
	}
	bell, err := newListener(ctx)
	if err != nil {
		return failed(exitFailed, fmt.Errorf("listen on the loopback address: %w", err))
	}
	defer bell.close()
	entry, err := entryFor(append([]string{"serve"}, flags...))
	if err != nil {
		return failed(exitFailed, err)
	}
	session, err := a.connect(ctx, entry)
	if err != nil {
		return failed(exitFailed, err)
	}
	wrong := a.walk(ctx, session, demoSteps(bell))
	if err := session.Close(); err != nil {
		a.notef("end the server: %v", err)
		wrong++
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if wrong > 0 {
		a.printf("\n%d of the steps went wrong. What this machine lacks: gearbox doctor\n", wrong)
		return exit(exitFailed)
	}
	a.farewell(entry)
	return nil
}

// connect starts the server and speaks MCP with it. The server's log would drown
// the walk, so it is shown only when the server does not come up.
func (a *app) connect(ctx context.Context, e clientconfig.Entry) (*mcp.ClientSession, error) {
	server := exec.CommandContext(ctx, e.Command, e.Args...)
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) } // it has a sandbox to take down
	log := &serverLog{}
	server.Stderr = log
	a.printf("$ %s %s\n", e.Command, strings.Join(e.Args, " "))
	client := mcp.NewClient(&mcp.Implementation{Name: "gearbox demo", Version: version()}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return nil, fmt.Errorf("speak MCP with %s: %w\n%s", e.Command, err, log)
	}
	a.printf("The server answered; it speaks MCP %s.\n", session.InitializeResult().ProtocolVersion)
	a.printf("On the first start of all it unpacks its Python meanwhile, which takes some seconds.\n")
	return session, nil
}

// serverLog is what a server wrote to its standard error. The process writes
// while the demo reads.
type serverLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// walk makes the calls, shows request and answer, and counts those that went wrong.
func (a *app) walk(ctx context.Context, session *mcp.ClientSession, steps []step) (wrong int) {
	for i, s := range steps {
		a.printf("\n--- %d. %s\n", i+1, s.title)
		a.printf("%s", indent("> ", request(s.arguments)))
		answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "execute", Arguments: s.arguments})
		if err != nil {
			a.printf("WRONG: %v\n", err)
			return wrong + 1 // the session is of no more use
		}
		a.printf("%s", indent("< ", shorten(textOf(answer))))
		result, err := structured(answer)
		if err == nil {
			err = s.expect(result)
		}
		if err != nil {
			a.printf("WRONG: %v\n", err)
			wrong++
			continue
		}
		a.printf("ok\n")
	}
	return wrong
}

func request(arguments map[string]any) string {
	code, _ := arguments["code"].(string)
	var more []string
	for _, name := range []string{"timeout_seconds", "gear"} {
		if v, ok := arguments[name]; ok {
			more = append(more, fmt.Sprintf("%s=%v", name, v))
		}
	}
	if len(more) > 0 {
		code = "# " + strings.Join(more, ", ") + "\n" + code
	}
	return code
}

func indent(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+prefix) + "\n"
}

// shownLines is how much of an answer the demo shows: the endless print fills pages.
const shownLines = 14

func shorten(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= shownLines {
		return text
	}
	half := shownLines / 2
	cut := append(lines[:half:half], fmt.Sprintf("(%d lines more)", len(lines)-2*half))
	return strings.Join(append(cut, lines[len(lines)-half:]...), "\n")
}

func textOf(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func structured(r *mcp.CallToolResult) (execution.Result, error) {
	var out execution.Result
	text, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(text, &out)
}

// farewell shows how to put Gearbox into a client that is found here.
func (a *app) farewell(e clientconfig.Entry) {
	clients := clientconfig.Present(system())
	if len(clients) == 0 {
		clients = []clientconfig.Client{clientconfig.ClaudeCode}
	}
	a.printf("\nAll went as it should. To put it into %s:\n\n", clients[0].Title())
	path := e.Command
	if temporary(path) {
		path = installed()
		a.printf("  go install ./cmd/gearbox\n")
	}
	a.printf("  gearbox install --client %s\n\nwhich writes:\n\n", clients[0])
	text, err := clientconfig.Snippet(string(clients[0]), clientconfig.Entry{Command: path, Args: []string{"serve"}})
	if err != nil {
		a.notef("%v", err)
		return
	}
	a.printf("%s", indent("  ", text))
}

// listener counts connections to a port of the loopback address.
type listener struct {
	net.Listener
	heard atomic.Int64
	done  chan struct{}
}

func newListener(ctx context.Context) (*listener, error) {
	var config net.ListenConfig
	inner, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &listener{Listener: inner, done: make(chan struct{})}
	go l.count()
	return l, nil
}

func (l *listener) count() {
	defer close(l.done)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		l.heard.Add(1)
		if err == nil {
			_ = c.Close() // that it came at all is what counts
		}
	}
}

func (l *listener) close() {
	_ = l.Close() // a listener that cannot be closed ends with the process
	<-l.done
}

func (l *listener) port() int { return l.Addr().(*net.TCPAddr).Port }
