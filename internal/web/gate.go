package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/token"
)

// gate turns away requests that a web page sends from a browser, or that carry a
// credential where it does not belong.
type gate struct {
	hosts   []string // names, in small letters
	origins []string // serialised origins, in small letters
}

// newGate checks what an operator wrote.
func newGate(hosts, origins []string) (gate, error) {
	g := gate{hosts: []string{"localhost"}}
	for _, h := range hosts {
		name := hostName(h)
		if name == "" || strings.ContainsAny(name, "/*?#@ ") || strings.Contains(h, "/") {
			return gate{}, fmt.Errorf("%q cannot be the name of a host: write it as clients do, for example gearbox.example", h)
		}
		g.hosts = append(g.hosts, name)
	}
	for _, o := range origins {
		u, err := url.Parse(strings.ToLower(o))
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || o != "" && u.Scheme+"://"+u.Host != strings.ToLower(o) {
			return gate{}, fmt.Errorf("%q is no origin: write scheme, host and port alone, for example https://console.example or http://localhost:6274", o)
		}
		g.origins = append(g.origins, strings.ToLower(o))
	}
	return g, nil
}

// check says why a request is turned away; nil for one that may go on.
func (g gate) check(r *http.Request) error {
	overUnix := arrivalOf(r).unix
	if !overUnix && !g.knows(r) { // no name leads to a Unix socket
		return fmt.Errorf("this server is not called %.100q: use its address, or start it with --http-host for this name", r.Host)
	}
	if err := g.checkOrigin(r, overUnix); err != nil {
		return err
	}
	return checkQuery(r)
}

// knows reports whether the Host is one of ours. A page that was loaded under a name
// of its owner, which then is made to lead here (DNS rebinding), is told by the name;
// an address cannot be made to lead elsewhere.
func (g gate) knows(r *http.Request) bool {
	name := hostName(r.Host)
	if slices.Contains(g.hosts, name) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if tcp, ok := local.(*net.TCPAddr); ok && tcp.AddrPort().Addr().Unmap().WithZone("") == ip.Unmap().WithZone("") {
		return true
	}
	return ip.Unmap().IsLoopback()
}

// hostName is a host without port, brackets and final dot.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// checkOrigin refuses what a page of another origin sends, with any method. Browsers
// tell by Sec-Fetch-Site what Origin, which is not sent with every GET, does not.
func (g gate) checkOrigin(r *http.Request, overUnix bool) error {
	sent := r.Header.Values("Origin")
	switch {
	case len(sent) > 1:
		return fmt.Errorf("the request has %d Origins", len(sent))
	case len(sent) == 1 && g.allows(sent[0]):
		return nil
	case len(sent) == 1 && (overUnix || !sameOrigin(r, sent[0])):
		return fmt.Errorf("pages of the origin %.100q may not use this server: start it with --http-origin if they should", sent[0])
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin": // no browser, or the person at it, or a page of ours
		return nil
	default:
		return fmt.Errorf("a page of another origin sent this (Sec-Fetch-Site %.20q)", site)
	}
}

// allows reports whether the operator named the origin.
func (g gate) allows(origin string) bool { return slices.Contains(g.origins, strings.ToLower(origin)) }

// sameOrigin reports whether the origin is this server, whose Host is known to be
// right. Where TLS ends elsewhere the scheme is not to be seen from here.
func sameOrigin(r *http.Request, origin string) bool {
	u, err := url.Parse(strings.ToLower(origin))
	if err != nil || u.Host == "" || u.Host != strings.ToLower(r.Host) {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && r.TLS == nil
}

// checkQuery refuses a credential in the URL: logs, histories and Referer headers hold
// those.
func checkQuery(r *http.Request) error {
	query := r.URL.RawQuery
	if query == "" {
		return nil
	}
	if unescaped, err := url.QueryUnescape(query); err == nil {
		query += "&" + unescaped
	}
	if strings.Contains(query, token.Prefix) || r.URL.Query().Has("access_token") {
		return errInQuery
	}
	return nil
}

// cors lets pages of origins that the operator named read the answers. It reports
// whether the request was a browser's question about that alone.
func (g gate) cors(w http.ResponseWriter, r *http.Request) (answered bool) {
	origin := r.Header.Get("Origin")
	if origin == "" || !g.allows(origin) {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name")
	w.WriteHeader(http.StatusNoContent)
	return true
}
