package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/relay"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

const connectHelp = `Be the MCP server of a client over standard input and output, and pass everything on
to a Gearbox that runs already: at a URL, such as https://gearbox.example/mcp, or at
the path of its socket (serve --unix). Without either it is looked for among the
servers of the data directory, those with a socket first.

The server may come later, go away and be restarted: connect stays, tries again after
0.2 to 5 seconds, and while the server is away answers every call at once with an error
that says so. After a restart it makes the client's session anew and tells the client
if the list of tools differs. What was submitted goes on at the server when the client
ends; get_operation finds it again.

The token comes from --token-file or the variable GEARBOX_TOKEN, and is read again at
each attempt; a socket needs none. Standard output carries JSON-RPC and nothing else,
the log goes to standard error as JSON, one object a line.`

type connectOptions struct {
	server    sidecar.Options // for its data directory
	tokenFile string
	ca        string
	start     time.Duration
}

func (a *app) connectCommand() *cobra.Command {
	var o connectOptions
	c := &cobra.Command{
		Use: "connect [URL|PATH]", Short: "Pass one client on to a Gearbox that runs already", Long: connectHelp,
		Example: "  gearbox connect /run/user/1000/gearbox.sock\n  gearbox connect --token-file ~/.gearbox-token https://gearbox.example/mcp",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.relay(c.Context(), o, args) },
	}
	o.declare(c)
	return c
}

func (o *connectOptions) declare(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.tokenFile, "token-file", "", "the token is in `FILE` (default: $GEARBOX_TOKEN)")
	f.StringVar(&o.ca, "ca", "", "trust the certificate authorities in `FILE` (PEM) too, beside the system's")
	f.DurationVar(&o.start, "start-timeout", relay.DefaultStart, "wait for the server for `TIME` before the first answer")
	f.SortFlags = false
	addDataDir(c, &o.server)
}

// check finds what keeps every attempt from succeeding.
func (o connectOptions) check() error {
	if o.start <= 0 {
		return usage("for example 5s", "--start-timeout %v: must be more than 0", o.start)
	}
	if _, err := o.token(); err != nil {
		return usage("", "%w", err)
	}
	if _, err := o.roots(); err != nil {
		return usage("", "--ca: %w", err)
	}
	return nil
}

const whereHint = "give the URL of a server, such as http://127.0.0.1:8080/mcp, or the path of its socket"

func (a *app) relay(ctx context.Context, o connectOptions, args []string) error {
	find, err := o.finder(ctx, args)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	roots, err := o.roots()
	if err != nil {
		return usage("", "--ca: %w", err)
	}
	log := slog.New(slog.NewJSONHandler(a.Err, nil))
	r, err := relay.New(relay.Config{
		Find: find, Token: o.token, Roots: roots, Tools: mcpserver.Tools(), Start: o.start, Logger: log, Version: version(),
	})
	if err != nil {
		return failed(exitInternal, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return failed(exitFailed, r.Run(ctx, mcpserver.Stdio(func() { time.AfterFunc(afterTheClient, stop) })))
}

// finder tells where the server is: always the same place, or wherever a server of the
// data directory is at that moment.
func (o connectOptions) finder(ctx context.Context, args []string) (func(context.Context) (relay.Target, error), error) {
	if len(args) > 0 {
		t, err := relay.ParseTarget(args[0])
		if err != nil {
			return nil, usage(whereHint, "%w", err)
		}
		return func(context.Context) (relay.Target, error) { return t, nil }, nil
	}
	if _, err := o.find(ctx); err != nil { // a client would wait for nothing
		return nil, err
	}
	return o.find, nil
}

// find is the first server of the data directory that answers clients over HTTP.
func (o connectOptions) find(ctx context.Context) (relay.Target, error) {
	dir, addresses, reports, err := sidecar.Reachable(ctx, o.server)
	if err != nil {
		return relay.Target{}, failed(exitFailed, err)
	}
	if len(addresses) > 0 {
		return relay.ParseTarget(addresses[0])
	}
	others := ""
	if len(reports) > 0 {
		others = fmt.Sprintf(" (those that run there, see gearbox status, answer over standard input and output or not at all: %d)", len(reports))
	}
	return relay.Target{}, failed(exitFailed, &hinted{
		fmt.Errorf("no Gearbox answers over HTTP or a socket with the data directory %s%s", dir, others),
		"start one with gearbox serve --unix PATH or gearbox serve --http 127.0.0.1:8080, or name one: gearbox connect URL or gearbox connect PATH; another --data-dir, if it runs with another; or let the client start its own with gearbox serve",
	})
}

// maxTokenFile bounds what is read of the file.
const maxTokenFile = 4 << 10

// token reads the credential, empty for none.
func (o connectOptions) token() (string, error) {
	if o.tokenFile == "" {
		return strings.TrimSpace(os.Getenv("GEARBOX_TOKEN")), nil
	}
	f, err := os.Open(o.tokenFile)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("token: %s has to hold one token and nothing else, as gearbox token create prints it", o.tokenFile)
	}
	return secret, nil
}

// roots are the system's certificate authorities and those of the operator; nil for the
// system's alone.
func (o connectOptions) roots() (*x509.CertPool, error) {
	if o.ca == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("the system's certificate authorities: %w", err)
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New(o.ca + " holds no certificate in PEM")
	}
	return pool, nil
}
