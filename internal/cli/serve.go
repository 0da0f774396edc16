package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const serveHelp = `Answer one MCP client over standard input and output until it goes away, or with
--http and --unix any number of clients until it is stopped.

Clients start this command themselves; gearbox install writes it into their
configuration. Standard output carries JSON-RPC and nothing else, the log goes to
standard error as JSON, one object a line.

Over HTTP clients connect to http://ADDRESS/mcp; /healthz, /readyz, /metrics and
/api/v1 are there too. Without tokens (gearbox token) ADDRESS has to be a loopback
address. The socket of --unix is for your own processes alone. SIGTERM and SIGINT let
calls end first, a second one ends all at once.`

func (a *app) serveCommand() *cobra.Command {
	var o sidecar.Options
	c := &cobra.Command{
		Use: "serve", Short: "Answer MCP clients over standard input and output, or over HTTP", Long: serveHelp, Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), o) },
	}
	addServerFlags(c.Flags(), &o)
	addPoolFlags(c.Flags(), &o.Pool)
	addWebFlags(c.Flags(), &o.Web)
	c.Flags().BoolVar(&o.ConformanceFixtures, "conformance-fixtures", false, "add what the official conformance suite of the protocol looks for")
	_ = c.Flags().MarkHidden("conformance-fixtures") // it fails for an unknown flag only
	return c
}

func (a *app) serve(ctx context.Context, o sidecar.Options) error {
	if o.Web.On() {
		return a.serveWeb(ctx, o)
	}
	if isTerminal(a.In) {
		a.sayf("%s", onTerminal)
	}
	log := slog.New(slog.NewJSONHandler(a.Err, nil))
	o.Transport = sidecar.TransportStdio
	s, err := sidecar.Open(ctx, o, version(), log, a.progress())
	if err != nil {
		return failed(exitUsage, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err = s.Serve(ctx, mcpserver.Stdio(func() { time.AfterFunc(afterTheClient, stop) }))
	return failed(exitInternal, errors.Join(err, s.Close()))
}

// afterTheClient is how long calls may go on whose client has closed its end: as long
// as a program has by default. A client that is gone reads no answer, but one that
// only had nothing more to say does.
const afterTheClient = 10 * time.Second

// onTerminal is for a person who started serve by hand.
const onTerminal = `This is Gearbox, an MCP server: it waits for a client that speaks JSON-RPC here.
You started it on a terminal, which is fine for a look but not how it is used:

  gearbox install --client claude-code   puts it into a client, which then starts it
  gearbox demo                           shows what it does
  gearbox exec -c 'print(6*7)'           runs something at once

Ctrl-D or Ctrl-C ends it.
`
