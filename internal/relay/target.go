package relay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/socket"
)

// Target is where a server answers. ParseTarget makes it.
type Target struct {
	// Name is how people write it.
	Name string
	// endpoint is the URL of the protocol, and socket the path of a socket by which it is
	// reached; empty for a network.
	endpoint *url.URL
	socket   string
}

// defaultPath is where servers answer agents when a URL does not say.
const defaultPath = "/mcp"

// ParseTarget reads a URL, such as https://gearbox.example/mcp, or the path of a socket.
func ParseTarget(text string) (Target, error) {
	if !strings.Contains(text, "://") {
		return socketTarget(text)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Target{}, fmt.Errorf("not a URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return Target{}, fmt.Errorf("%q is no URL of http or https", text)
	case u.Host == "":
		return Target{}, fmt.Errorf("the URL %q names no host", text)
	case u.User != nil:
		return Target{}, errors.New("credentials in a URL are seen by everybody on this machine: give the token in a file")
	case u.RawQuery != "" || u.Fragment != "":
		return Target{}, fmt.Errorf("the URL of a server has no query and no fragment, and %q has", text)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = defaultPath
	}
	return Target{Name: u.String(), endpoint: u}, nil
}

func socketTarget(path string) (Target, error) {
	if path == "" {
		return Target{}, errors.New("an empty text is no URL and no path")
	}
	if _, _, err := net.SplitHostPort(path); err == nil && !strings.Contains(path, "/") {
		return Target{}, fmt.Errorf("%q looks like host and port: write it as http://%s", path, path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return Target{}, err
	}
	// It may come later, but what is something else does not become a socket.
	if st, err := os.Stat(abs); err == nil && st.Mode().Type() != fs.ModeSocket {
		return Target{}, fmt.Errorf("%s is no socket, but %s", abs, kindOf(st.Mode()))
	}
	return Target{Name: abs, socket: abs, endpoint: &url.URL{Scheme: "http", Host: "gearbox", Path: defaultPath}}, nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m.IsRegular():
		return "a regular file"
	}
	return "something else"
}

// Exposed reports whether what is sent can be read on the way.
func (t Target) Exposed() bool {
	if t.socket != "" || t.endpoint.Scheme == "https" || t.endpoint.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(t.endpoint.Hostname())
	return err != nil || !ip.IsLoopback()
}

// health is where the server tells that it is alive, beside the endpoint.
func (t Target) health() string {
	u := *t.endpoint
	u.Path = path.Join(path.Dir(u.Path), "healthz")
	u.RawPath = ""
	return u.String()
}

// The bounds of making a connection.
const (
	dialTime = 3 * time.Second
	tlsTime  = 5 * time.Second
	// idleTime is less than servers and proxies commonly let a connection rest.
	idleTime = 50 * time.Second
	// maxIdle are the connections that are kept for the next calls.
	maxIdle = 16
)

// client speaks HTTP/1.1 with the target. roots are those that it trusts, nil for the
// system's.
func (t Target) client(roots *x509.CertPool) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	// The intervals find out within some 20 seconds that a machine is gone without a word.
	dialer := &net.Dialer{Timeout: dialTime, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: tlsTime,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Protocols: &protocols,
		MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTime,
	}
	if t.socket != "" {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, stop := context.WithTimeout(ctx, dialTime)
			defer stop()
			return socket.Dial(ctx, filepath.Dir(t.socket), filepath.Base(t.socket))
		}
	}
	// A token is for the server that it was made for.
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
