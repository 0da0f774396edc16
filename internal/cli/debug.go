package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

const debugHelp = `Be the client of an MCP server and print each message in both directions as it goes:
of the server that COMMAND starts, of the one at --url, or, without either, of gearbox
serve with the flags that are given here.

It begins as the newest version of the protocol says and falls back to the older ones,
lists the server's tools, resources and prompts, makes the call of --call, gives the task
of --task to the server's run_agent, and ends the server. With --json it prints one
object a line and nothing else: direction (sent or received) and message.

Header fields are not printed, since credentials stand there; messages are printed as
they are. The exit code is 0 if all went well, and 1 if the server could not be spoken to,
lacks the tool, or the call failed.`

type debugFlags struct {
	given     *config.Given
	url       string
	tokenFile string
	call      string
	args      string
	task      string
	start     time.Duration
	json      bool
}

func (a *app) debugCommand() *cobra.Command {
	f := &debugFlags{}
	c := &cobra.Command{
		Use: "debug [--task TEXT] [-- COMMAND…]", Short: "Speak with an MCP server and print each message", Long: debugHelp,
		Example: "  gearbox debug --call execute --args '{\"code\": \"6 * 7\"}'\n  gearbox debug -- npx -y @modelcontextprotocol/server-everything\n  gearbox debug --url http://127.0.0.1:8080/mcp --token-file ~/.gearbox-token",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && c.ArgsLenAtDash() != 0 {
				return usage("the command of a server follows after --", "debug takes no argument %q", args[0])
			}
			return a.debug(c.Context(), f, args)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.url, "url", "", "the server is at `URL`")
	fs.StringVar(&f.tokenFile, "token-file", "", "the token for the server at --url is in `FILE`")
	fs.StringVar(&f.call, "call", "", "call the tool of this `NAME`")
	fs.StringVar(&f.args, "args", "{}", "the arguments of the call, a `JSON` object")
	fs.StringVar(&f.task, "task", "", "give the task in `TEXT` to the tool run_agent")
	fs.DurationVar(&f.start, "start-timeout", 30*time.Second, "wait for the server's first answer for `TIME`")
	fs.BoolVar(&f.json, "json", false, "print the messages alone, as one JSON object a line")
	f.given = (&settings{}).table().Declare(fs, nil)
	return c
}

// check reads the arguments of the call, and finds flags that do not belong together.
func (f *debugFlags) check(command []string) (map[string]any, error) {
	switch {
	case f.url != "" && len(command) > 0:
		return nil, usage("leave one of them out", "both --url and a command were given")
	case f.tokenFile != "" && f.url == "":
		return nil, usage("add --url", "--token-file is for a server at a URL")
	case f.start <= 0:
		return nil, usage("for example 5s", "--start-timeout %v: must be more than 0", f.start)
	}
	if flags, err := f.given.Args(); len(flags) > 0 && (f.url != "" || len(command) > 0) {
		return nil, usage("leave it out", "%s is a flag of gearbox serve, and that is not the server here", flags[0])
	} else if err != nil {
		return nil, failed(exitUsage, err)
	}
	arguments := map[string]any{}
	if err := json.Unmarshal([]byte(f.args), &arguments); err != nil || arguments == nil {
		return nil, usage(`for example '{"code": "1 + 1"}'`, "--args: this is no JSON object")
	}
	if f.call == "" && f.args != "{}" {
		return nil, usage("add --call", "--args are the arguments of a call, and none is named")
	}
	return arguments, nil
}

func (a *app) debug(ctx context.Context, f *debugFlags, command []string) error {
	arguments, err := f.check(command)
	if err != nil {
		return err
	}
	t := &trace{json: f.json, out: a.Out}
	open, err := a.debugged(f, command, t)
	if err != nil {
		return err
	}
	session, err := begin(ctx, t, open, f.start)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return failed(exitFailed, err)
	}
	err = look(ctx, t, session, f, arguments)
	if closing := session.Close(); closing != nil && err == nil && ctx.Err() == nil {
		err = fmt.Errorf("end the session: %w", closing)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failed(exitFailed, err)
}

// debugged is how the server is reached, anew each time.
func (a *app) debugged(f *debugFlags, command []string, t *trace) (func(context.Context) mcp.Transport, error) {
	if f.url != "" {
		return overHTTP(f, t)
	}
	if len(command) == 0 {
		var err error
		if command, err = a.ownServer(f.given); err != nil {
			return nil, err
		}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, failed(exitFailed, &hinted{fmt.Errorf("start the server: %w", err), "is it installed, and in the PATH of this shell?"})
	}
	return func(ctx context.Context) mcp.Transport {
		t.say("   starts %s", visible.Line(filepath.Base(command[0])))
		server := exec.CommandContext(ctx, command[0], command[1:]...)
		server.Cancel = func() error { return server.Process.Signal(os.Interrupt) }
		server.WaitDelay = cancelTime
		server.Stderr = a.Err
		return traced{&mcp.CommandTransport{Command: server}, t}
	}, nil
}

// ownServer is the command line of gearbox serve with the flags of this command.
func (a *app) ownServer(given *config.Given) ([]string, error) {
	l, err := a.settings(given)
	if err != nil {
		return nil, err
	}
	if l.server.Web.On() {
		return nil, usage("start it, and give its address: gearbox debug --url URL", "with this configuration gearbox serve answers over HTTP, and not on its standard streams")
	}
	flags, err := given.Args()
	if err != nil {
		return nil, failed(exitUsage, err)
	}
	entry, err := entryFor(append([]string{"serve"}, flags...))
	if err != nil {
		return nil, failed(exitFailed, err)
	}
	return append([]string{entry.Command}, entry.Args...), nil
}

func overHTTP(f *debugFlags, t *trace) (func(context.Context) mcp.Transport, error) {
	u, err := url.Parse(f.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usage("for example http://127.0.0.1:8080/mcp", "--url %q: this is no address of a server", f.url)
	}
	if u.User != nil {
		return nil, usage("give a token in a file: --token-file", "--url: credentials in a URL are seen by everybody on this machine")
	}
	token := ""
	if f.tokenFile != "" {
		if token, err = (connectOptions{tokenFile: f.tokenFile}).token(); err != nil {
			return nil, usage("", "%w", err)
		}
		if u.Scheme == "http" && !loopback(u.Hostname()) {
			return nil, usage("use https, or a loopback address", "over plain HTTP the token could be read by everybody on the way")
		}
	}
	client := &http.Client{
		Transport:     tracedHTTP{http.DefaultTransport, t, token},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a token is for one server
	}
	return func(context.Context) mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: f.url, HTTPClient: client, DisableStandaloneSSE: true, MaxRetries: -1}
	}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// before is the last version of the protocol with an initialize.
const before = "2025-11-25"

// begin begins a session in the newest version of the protocol. The SDK falls back when the
// server refuses that; a server that is silent about what it does not know is started anew.
func begin(ctx context.Context, t *trace, open func(context.Context) mcp.Transport, limit time.Duration) (*mcp.ClientSession, error) {
	session, err := attempt(ctx, open(ctx), "", limit/2)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		t.say("   no answer in %v: once more, as version %s has it", limit/2, before)
		session, err = attempt(ctx, open(ctx), before, limit/2)
	}
	if err != nil {
		return nil, fmt.Errorf("speak MCP with the server: %w", err)
	}
	r := session.InitializeResult()
	name := "a server that does not say its name"
	if r.ServerInfo != nil {
		name = r.ServerInfo.Name + " " + r.ServerInfo.Version
	}
	t.say("   MCP %s with %s", visible.Line(r.ProtocolVersion), visible.Line(name))
	return session, nil
}

func attempt(ctx context.Context, transport mcp.Transport, era string, limit time.Duration) (*mcp.ClientSession, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	client := mcp.NewClient(&mcp.Implementation{Name: "gearbox debug", Version: version()}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return session, err
}

// look asks for everything that the flags ask for.
func look(ctx context.Context, t *trace, s *mcp.ClientSession, f *debugFlags, arguments map[string]any) error {
	tools, err := list(ctx, t, s)
	if err != nil {
		return err
	}
	if f.call != "" {
		if err := call(ctx, t, s, tools, f.call, arguments); err != nil {
			return err
		}
	}
	if f.task == "" {
		return nil
	}
	return call(ctx, t, s, tools, "run_agent", map[string]any{"task": f.task})
}

// list lists what the server says that it has, and returns the names of the tools.
func list(ctx context.Context, t *trace, s *mcp.ClientSession) (map[string]bool, error) {
	has := s.InitializeResult().Capabilities
	tools := map[string]bool{}
	if has == nil {
		return tools, nil
	}
	if has.Tools != nil {
		for tool, err := range s.Tools(ctx, nil) {
			if err != nil {
				return nil, fmt.Errorf("list the tools: %w", err)
			}
			tools[tool.Name] = true
			t.say("   tool %s", visible.Line(tool.Name))
		}
	}
	if has.Resources != nil {
		for r, err := range s.Resources(ctx, nil) {
			if err != nil {
				return nil, fmt.Errorf("list the resources: %w", err)
			}
			t.say("   resource %s", visible.Line(r.URI))
		}
	}
	if has.Prompts != nil {
		for p, err := range s.Prompts(ctx, nil) {
			if err != nil {
				return nil, fmt.Errorf("list the prompts: %w", err)
			}
			t.say("   prompt %s", visible.Line(p.Name))
		}
	}
	return tools, nil
}

func call(ctx context.Context, t *trace, s *mcp.ClientSession, tools map[string]bool, name string, arguments map[string]any) error {
	if !tools[name] {
		hint := "its tools are listed above"
		if name == "run_agent" {
			hint = "a Gearbox has it when a model is configured: --agent-model"
		}
		return &hinted{fmt.Errorf("the server has no tool %s", visible.Line(name)), hint}
	}
	answer, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	t.say("   %s answered:\n%s", name, strings.TrimRight(indent("   | ", visible.Text(textOf(answer))), "\n"))
	if answer.IsError {
		return fmt.Errorf("the call of %s failed", name)
	}
	return nil
}
