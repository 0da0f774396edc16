package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
	"github.com/gearbox-mcp/gearbox/internal/token"
	"github.com/gearbox-mcp/gearbox/internal/web"
)

// WebOptions are how requests come in over HTTP.
type WebOptions struct {
	// HTTP is host:port to listen on, Unix the path of a socket; both may be set.
	HTTP, Unix string
	// Hosts are names by which clients call the server, beside its addresses.
	Hosts []string
	// Origins are those of pages that may use it.
	Origins []string
	// TLSCert and TLSKey are files in PEM.
	TLSCert, TLSKey string
	// StopTimeout is how long calls may go on when the server stops; nil means
	// [web.DefaultGrace].
	StopTimeout *time.Duration
}

// CheckAddress says what is wrong with an address to listen on.
func CheckAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
	}
	if err != nil {
		return errors.New("write it as host:port, for example 127.0.0.1:8080")
	}
	return nil
}

func (w WebOptions) grace() time.Duration {
	if w.StopTimeout == nil {
		return web.DefaultGrace
	}
	return *w.StopTimeout
}

// On reports whether requests come in over HTTP at all.
func (w WebOptions) On() bool { return w.HTTP != "" || w.Unix != "" }

// check finds what keeps a server from listening, as far as that can be said before.
func (w WebOptions) check(tokens *token.Register) error {
	var errs []error
	wrong := func(flag, value string, err error) {
		if err != nil {
			errs = append(errs, &OptionError{error: err, option: flag, value: value})
		}
	}
	for _, name := range w.Hosts {
		wrong("http-host", name, said("--http-host", web.CheckHost(name)))
	}
	for _, origin := range w.Origins {
		wrong("http-origin", origin, said("--http-origin", web.CheckOrigin(origin)))
	}
	certificate := "tls-cert"
	if w.TLSCert == "" {
		certificate = "tls-key"
	}
	if w.HTTP == "" && w.TLSCert+w.TLSKey != "" {
		wrong(certificate, "", errors.New("--tls-cert and --tls-key are for --http, which is not there"))
	} else {
		wrong(certificate, "", web.CheckTLS(w.TLSCert, w.TLSKey))
	}
	if !w.On() {
		return errors.Join(errs...)
	}
	if _, err := tokens.List(); err != nil {
		errs = append(errs, err)
	} else if w.HTTP != "" {
		wrong("http", "", web.CheckTCP(w.HTTP, tokens))
	}
	if w.Unix != "" {
		wrong("unix", "", web.CheckUnix(w.Unix))
	}
	return errors.Join(errs...)
}

// said names the flag that an error is about.
func said(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %w", flag, err)
}

// ListenWeb begins to listen where the options say, and records the start. Requests are answered by
// [Sidecar.ServeWeb]; until then they wait.
func (s *Sidecar) ListenWeb(ctx context.Context, o WebOptions, l *slog.Logger) (*web.Server, error) {
	if err := o.check(s.gears.tokens); err != nil {
		return nil, err
	}
	server, err := web.New(web.Config{
		MCP: s.server, MaxMessage: mcpserver.MaxMessage, Operations: s.engine, Lister: lister{s.records}, Ready: ready{s}, Approvals: overHTTP{s.Decisions(), s.records, l},
		Metrics: s.metrics.Handler(), Logins: s.logins,
		Observe: func(h http.Handler) http.Handler { return s.metrics.HTTP(h, telemetry.Route) },
		Tokens:  s.gears.tokens, Logger: l, Hosts: o.Hosts, Origins: o.Origins, Grace: o.grace(), Cut: s.engine.Close,
	})
	if err != nil {
		return nil, err
	}
	if o.HTTP != "" {
		err = server.ListenTCP(ctx, o.HTTP, o.TLSCert, o.TLSKey)
	}
	if o.Unix != "" && err == nil {
		err = server.ListenUnix(ctx, o.Unix)
	}
	if err == nil {
		err = s.recordStart(ctx, s.optionsInForce(), TransportHTTP)
	}
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	addresses := server.Addresses()
	s.addresses.Store(&addresses)
	return server, nil
}

// ServeWeb answers over HTTP until ctx ends, and then until the calls in flight have
// ended, see [web.Server.Serve].
func (s *Sidecar) ServeWeb(ctx context.Context, w *web.Server) error {
	err := w.Serve(ctx)
	s.engine.Close() // what runs has nobody left to be told of it
	s.server.CloseSessions()
	return err
}

// checkSharing refuses to give programs the server's own rights where others than the
// operator are served: they could read and change what belongs to each other.
func checkSharing(o Options, g gear.Frozen, dataDir string) error {
	if g.Isolation() != gear.None {
		return nil
	}
	if o.Web.On() {
		return about("gear", "the gear %s runs code with the server's own rights, and that is not offered over HTTP: choose another gear, or serve over standard input and output", g.Name())
	}
	if err := checkAlone(openTokens(dataDir), g); err != nil {
		return about("gear", "%w", err)
	}
	return nil
}

// checkAlone refuses the same as soon as there is a token that is valid.
func checkAlone(register *token.Register, g gear.Frozen) error {
	if g.Isolation() != gear.None {
		return nil
	}
	tokens, err := register.List()
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.Valid(time.Now()) {
			return fmt.Errorf("the gear %s runs code with the server's own rights, which could read and change what belongs to the holders of tokens, such as %s: choose another gear, another --data-dir, or revoke the tokens",
				g.Name(), t.Name)
		}
	}
	return nil
}

// ready runs a program to find out whether one can be run. The run is recorded as any
// other is.
type ready struct{ s *Sidecar }

// probes are the shortest programs.
var probes = map[execution.Language]string{execution.Python: "1", execution.Bash: ":"}

// Ready implements [web.Ready].
func (r ready) Ready(ctx context.Context) error {
	g := r.s.gears.base()
	languages := r.s.places.languages(g)
	if !g.Enabled() || len(languages) == 0 {
		return nil // there is nothing to be ready for
	}
	l := languages[0]
	if slices.Contains(languages, execution.Python) {
		l = execution.Python
	}
	e := r.s.engine
	id, err := e.Submit(ctx, execution.Request{
		Principal: execution.Local, Client: execution.Client{Name: "gearbox readyz", Version: r.s.self.Version}, Code: probes[l], Language: l,
	})
	if err != nil {
		return err
	}
	res, err := e.Wait(ctx, execution.Local, id, execution.MaxWait)
	switch {
	case err != nil:
		return err
	case res.Status == execution.StatusRunning:
		_, err := e.Cancel(context.WithoutCancel(ctx), execution.Local, id)
		return errors.Join(fmt.Errorf("a program that does nothing did not end in time: operation %s", id), err)
	case res.Status == execution.StatusDenied:
		return nil // all that a program needs is there, and the operator lets none run
	case res.Status != execution.StatusOK:
		return fmt.Errorf("a program that does nothing ended with %s: %s", res.Status, strings.TrimSpace(res.Stderr))
	}
	return nil
}
