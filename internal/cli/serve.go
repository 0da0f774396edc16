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

const serveHelp = `Answer one MCP client over standard input and output until it goes away, or with
--http and --unix any number of clients until it is stopped.

Clients start this command themselves; gearbox install writes it into their
configuration. Standard output carries JSON-RPC and nothing else, the log goes to
standard error as JSON, one object a line.

Over HTTP clients connect to http://ADDRESS/mcp; /healthz, /readyz, /metrics and
/api/v1 are there too. Without tokens (gearbox token) ADDRESS has to be a loopback
address. The socket of --unix is for your own processes alone. SIGTERM and SIGINT let
calls end first, a second one ends all at once.

Every flag can be written into gearbox.yaml or a variable instead, see
gearbox config --help. SIGHUP makes a running server read its configuration anew.`

func (a *app) serveCommand() *cobra.Command {
	var given *config.Given
	var fixtures bool
	c := &cobra.Command{
		Use: "serve", Short: "Answer MCP clients over standard input and output, or over HTTP", Long: serveHelp, Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), given, fixtures) },
	}
	given = (&settings{}).table().Declare(c.Flags(), nil)
	c.Flags().BoolVar(&fixtures, "conformance-fixtures", false, "add what the official conformance suite of the protocol looks for")
	_ = c.Flags().MarkHidden("conformance-fixtures") // it fails for an unknown flag only
	return c
}

func (a *app) serve(ctx context.Context, given *config.Given, fixtures bool) error {
	l, err := load(given)
	if err != nil {
		return failed(exitUsage, err)
	}
	transport, answer := sidecar.TransportStdio, answerStdio
	switch {
	case l.server.Web.On():
		transport, answer = sidecar.TransportHTTP, answerHTTP
	case a.onTerminal:
		a.sayf("%s", onTerminal)
	}
	log := newLeveledLog(a.Err, l.log)
	for _, w := range l.resolved.Warnings {
		log.Warn(w)
	}
	if note := strayServers(l.server); note != "" {
		log.Warn(note)
	}
	start := func(o *sidecar.Options) { o.Transport, o.ConformanceFixtures = transport, fixtures }
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
	code, err := answer(ctx, stop, s, l.server, log)
	return failed(code, errors.Join(err, s.Close()))
}

// answerStdio answers until the client goes away.
func answerStdio(ctx context.Context, stop func(), s *sidecar.Sidecar, _ sidecar.Options, _ *leveledLog) (int, error) {
	return exitInternal, s.Serve(ctx, mcpserver.Stdio(func() { time.AfterFunc(afterTheClient, stop) }))
}

// answerHTTP answers until ctx ends.
func answerHTTP(ctx context.Context, _ func(), s *sidecar.Sidecar, o sidecar.Options, log *leveledLog) (int, error) {
	server, err := s.ListenWeb(ctx, o.Web, log.Logger)
	if err != nil {
		return exitUsage, err
	}
	for _, address := range server.Addresses() {
		log.Info("answering over HTTP", "address", address)
	}
	return exitInternal, s.ServeWeb(ctx, server)
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
