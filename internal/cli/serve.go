package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const serveHelp = `Answer one MCP client over standard input and output until it goes away.

Clients start this command themselves; gearbox install writes it into their
configuration. Standard output carries JSON-RPC and nothing else, the log goes to
standard error as JSON, one object a line.

Every flag can be written into gearbox.yaml or a variable instead, see
gearbox config --help. SIGHUP makes a running server read its configuration anew.`

func (a *app) serveCommand() *cobra.Command {
	var given *config.Given
	c := &cobra.Command{
		Use: "serve", Short: "Answer an MCP client over standard input and output", Long: serveHelp, Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), given) },
	}
	given = (&settings{}).table().Declare(c.Flags(), nil)
	return c
}

func (a *app) serve(ctx context.Context, given *config.Given) error {
	if a.onTerminal {
		a.sayf("%s", onTerminal)
	}
	l, err := load(given)
	if err != nil {
		return failed(exitUsage, err)
	}
	log := newLeveledLog(a.Err, l.log)
	for _, w := range l.resolved.Warnings {
		log.Warn(w)
	}
	start := func(o *sidecar.Options) { o.Transport = sidecar.TransportStdio }
	start(&l.server)
	s, err := sidecar.Open(ctx, l.server, version(), log.Logger, a.progress())
	if err != nil {
		return failed(exitUsage, l.resolved.Explain(err))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &reloader{given: given, sidecar: s, log: log, now: l, start: start}
	a.hangups.use(func() { r.reload(ctx) })
	defer a.hangups.use(nil)
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
