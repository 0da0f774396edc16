package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// addWebFlags declares the flags of serve over HTTP.
func addWebFlags(fs *pflag.FlagSet, o *sidecar.WebOptions) {
	fs.StringVar(&o.HTTP, "http", "", "answer over HTTP on `ADDRESS`, such as 127.0.0.1:8080, and not on standard input and output")
	fs.StringVar(&o.Unix, "unix", "", "answer over HTTP on a socket at `PATH`, which your own processes alone can use")
	fs.StringArrayVar(&o.Hosts, "http-host", nil, "a `NAME` by which clients call this server, beside its addresses; may be repeated")
	fs.StringArrayVar(&o.Origins, "http-origin", nil, "let pages of `ORIGIN`, such as https://console.example, use this server; may be repeated")
	fs.StringVar(&o.TLSCert, "tls-cert", "", "speak TLS, with the certificate in `FILE` (PEM); it is read again when it changes")
	fs.StringVar(&o.TLSKey, "tls-key", "", "the key of the certificate, in `FILE` (PEM)")
	fs.DurationVar(&o.StopTimeout, "stop-timeout", 0, "let calls go on for `TIME` when the server is stopped (default 20s)")
}

// serveWeb answers over HTTP until ctx ends.
func (a *app) serveWeb(ctx context.Context, o sidecar.Options) error {
	log := slog.New(slog.NewJSONHandler(a.Err, nil))
	o.Transport = sidecar.TransportHTTP
	s, err := sidecar.Open(ctx, o, version(), log, a.progress())
	if err != nil {
		return failed(exitUsage, err)
	}
	server, err := s.ListenWeb(ctx, o.Web, log)
	if err != nil {
		return failed(exitUsage, errors.Join(err, s.Close()))
	}
	for _, address := range server.Addresses() {
		log.Info("answering over HTTP", "address", address)
	}
	err = s.ServeWeb(ctx, server)
	return failed(exitInternal, errors.Join(err, s.Close()))
}
