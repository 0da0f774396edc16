//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// noopRole is the argument that makes this program the server with a tool that
// does nothing.
const noopRole = "serve-noop"

const (
	// busyBlock is how many calls come without rest: several times what a pool holds.
	busyBlock = 40
	settle    = 200 * time.Millisecond
)

// eras are the two kinds of MCP: with initialize, and without.
var eras = []string{"2025-11-25", "2026-07-28"}

type noopInput struct {
	Code string `json:"code"`
}

type noopOutput struct {
	Stdout string `json:"stdout"`
}

// serveNoop answers over standard input and output.
func serveNoop(ctx context.Context) error {
	return noopServer().Run(ctx, &mcp.StdioTransport{})
}

func noopServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "noop", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "execute", Description: "does nothing"},
		func(context.Context, *mcp.CallToolRequest, noopInput) (*mcp.CallToolResult, noopOutput, error) {
			return nil, noopOutput{}, nil
		})
	return s
}

// connect starts a server and opens a session of the era with it.
func connect(ctx context.Context, era, name string, args ...string) (*mcp.ClientSession, int, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		return nil, 0, err
	}
	if got := session.InitializeResult().ProtocolVersion; got != era {
		_ = session.Close()
		return nil, 0, fmt.Errorf("the server speaks %s, not %s", got, era)
	}
	return session, cmd.Process.Pid, nil
}

// gearboxSession is a session with the binary.
func (b *bench) gearboxSession(ctx context.Context, era string, more ...string) (*mcp.ClientSession, int, error) {
	return connect(ctx, era, b.gearbox, append([]string{"serve", "--data-dir", b.data}, more...)...)
}

// execute calls the tool and reads the answer; what that costs the client is not
// part of the time.
func execute(ctx context.Context, s *mcp.ClientSession, code, want string) (time.Duration, error) {
	start := time.Now()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": code}})
	d := time.Since(start)
	if err != nil {
		return d, err
	}
	text, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return d, err
	}
	var answer execution.Result
	if err := json.Unmarshal(text, &answer); err != nil {
		return d, err
	}
	if answer.Status != execution.StatusOK && want != "" {
		return d, fmt.Errorf("status %q: %s", answer.Status, text)
	}
	return d, expect(answer.Stdout, want, nil)
}

// executes is an entrant's open function for calls of execute.
func executes(open func(context.Context) (*mcp.ClientSession, int, error), code, want string) func(context.Context) (lap, func(), error) {
	return func(ctx context.Context) (lap, func(), error) {
		s, _, err := open(ctx)
		if err != nil {
			return nil, nil, err
		}
		return executeLap(s, code, want), func() { _ = s.Close() }, nil
	}
}

func executeLap(s *mcp.ClientSession, code, want string) lap {
	return func(ctx context.Context) (time.Duration, error) { return execute(ctx, s, code, want) }
}

func (b *bench) noop(era string) func(context.Context) (*mcp.ClientSession, int, error) {
	return func(ctx context.Context) (*mcp.ClientSession, int, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, 0, err
		}
		return connect(ctx, era, self, noopRole)
	}
}

func (b *bench) ours(era string) func(context.Context) (*mcp.ClientSession, int, error) {
	return func(ctx context.Context) (*mcp.ClientSession, int, error) { return b.gearboxSession(ctx, era) }
}

// overMCP compares calls of the real server with those of one that does nothing.
func overMCP(ctx context.Context, b *bench) error {
	script, err := b.program("script.py")
	if err != nil {
		return err
	}
	paced := race{
		title: "Over MCP, stdio",
		about: "`gearbox serve` over stdio, and over HTTP on loopback, with the default gear as a client has it: full isolation, the door, the record. Client and server are separate processes on the same cores; " +
			"the tool that does nothing is served by the same SDK. A rest of 25 ms before each call.",
		turns: b.n, pace: pace,
	}
	busy := race{
		title: "The same without rest", turns: b.laps(busyBlock), block: busyBlock, pace: settle,
		about: "Calls one right after the other, in blocks: the pool is not full again before the next one comes.",
	}
	for _, era := range eras {
		paced.entrants = append(paced.entrants,
			entrant{key: "mcp.noop." + era, name: era + ", a tool that does nothing", open: executes(b.noop(era), printCode, "")},
			entrant{key: "mcp.print." + era, name: era + ", `execute` of `print(1)`", open: executes(b.ours(era), printCode, printAnswer)},
			entrant{key: "mcp.script." + era, name: era + ", `execute` of a script of 20 lines", open: executes(b.ours(era), script, scriptAnswer)},
		)
	}
	if b.beside != "" {
		paced.entrants = append(paced.entrants, b.earlier(ctx)...)
	}
	paced.entrants = append(paced.entrants,
		entrant{key: "http.noop", name: "over stateless HTTP, a tool that does nothing", open: executesHTTP(b.noopOverHTTP, printCode, "")},
		entrant{key: "http.print", name: "over stateless HTTP, `execute` of `print(1)`", open: executesHTTP(b.oursOverHTTP, printCode, printAnswer)},
		entrant{key: "mcp.bare", name: "bare interpreter, `-c 'print(1)'`", open: b.command(printAnswer, b.python.Executable, "-c", printCode)},
		entrant{key: "mcp.bare-IS", name: "bare interpreter, `-I -S -c pass`", open: b.command("", b.python.Executable, "-I", "-S", "-c", "pass")},
	)
	if err := b.run(ctx, paced); err != nil {
		return err
	}
	b.report.compare("http.print", "http.noop")
	for _, era := range eras {
		b.report.differ("more."+era, "mcp.print."+era, "mcp.beside."+era)
		b.report.compare("mcp.print."+era, "mcp.noop."+era)
		b.report.compare("mcp.bare", "mcp.print."+era)
		b.report.compare("mcp.bare-IS", "mcp.print."+era)
		busy.entrants = append(busy.entrants,
			entrant{key: "busy.noop." + era, name: era + ", a tool that does nothing", open: executes(b.noop(era), printCode, "")},
			entrant{key: "busy.print." + era, name: era + ", `execute` of `print(1)`", open: executes(b.ours(era), printCode, printAnswer)},
			entrant{key: "busy.script." + era, name: era + ", `execute` of a script of 20 lines", open: executes(b.ours(era), script, scriptAnswer)},
		)
	}
	return b.run(ctx, busy)
}
