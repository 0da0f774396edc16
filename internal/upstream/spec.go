package upstream

import (
	"cmp"
	"fmt"
	"net/url"
	"time"
)

// Transport is how a server is reached.
type Transport string

// The transports. Auto is streamable HTTP, and SSE where the server answers that it does
// not know that (2025-03-26, "Backwards Compatibility").
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
	Auto  Transport = "auto"
)

// The defaults.
const (
	DefaultStartupTimeout = 10 * time.Second
	DefaultTimeout        = 60 * time.Second
	DefaultConcurrency    = 8
)

// Spec is one configured server, with every expansion done.
type Spec struct {
	// Name is the operator's; Alias, unless empty, is the name that programs import.
	Name        string
	Alias       string
	Description string
	Transport   Transport

	Command []string          // stdio: the program and its arguments, no shell
	Env     map[string]string // added to the minimal environment
	Dir     string
	Sandbox *Sandbox // what the program runs in; nil for none

	URL     string
	Headers map[string]string
	// Secrets are values that were taken from variables, wherever they stand.
	Secrets []string
	OAuth   *OAuth // nil where the operator asks for none

	Timeout        time.Duration // of one call; 0 is [DefaultTimeout]
	StartupTimeout time.Duration // 0 is [DefaultStartupTimeout]
	Concurrency    int           // calls at once; 0 is [DefaultConcurrency]
	Lazy           bool          // started when it is first needed
	Disabled       bool

	// Allow and Deny are patterns of raw tool names: what is not allowed is not listed and
	// cannot be called. An empty Allow is every tool.
	Allow, Deny []string
	// Approve are patterns of tools of which each call asks a human, whatever the rules say.
	Approve []string
	// TrustHints has the server's own hints (read-only, destructive) count in decisions.
	TrustHints bool
	// Origin says where the server is configured, for messages: file and key.
	Origin string
	// Fault, unless empty, says why the server cannot be used as it is configured. It is
	// listed as failed with this reason, and the others work.
	Fault string
}

// OAuth is how tokens are got for a server (authorization code with PKCE, RFC 7636).
type OAuth struct {
	// ClientID and ClientSecret are those of a client that was registered beforehand; empty
	// to register one when needed (RFC 7591).
	ClientID     string
	ClientSecret string
	Scopes       []string
}

func (s Spec) startupTimeout() time.Duration { return cmp.Or(s.StartupTimeout, DefaultStartupTimeout) }

func (s Spec) timeout() time.Duration { return cmp.Or(s.Timeout, DefaultTimeout) }

func (s Spec) concurrency() int { return cmp.Or(s.Concurrency, DefaultConcurrency) }

// fault says why a server cannot be reached as it is configured; empty if it can.
func (s Spec) fault() string {
	switch {
	case s.Fault != "":
		return s.Fault
	case s.Timeout < 0, s.StartupTimeout < 0, s.Concurrency < 0:
		return "a negative timeout or concurrency"
	case s.Transport == Stdio && (len(s.Command) == 0 || s.Command[0] == ""):
		return "no command is configured"
	case s.Transport == Stdio:
		return ""
	case s.Transport != HTTP && s.Transport != SSE && s.Transport != Auto:
		return fmt.Sprintf("the transport %q is not known: stdio, http, sse and auto are", s.Transport)
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "the URL is none of http or https with a host"
	}
	return ""
}
