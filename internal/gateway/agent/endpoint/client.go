package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/gearbox-mcp/gearbox/internal/gateway/agent"
)

// The providers.
const (
	OpenAI    = "openai" // and whoever speaks its chat completions
	Anthropic = "anthropic"
)

// Providers are all of them.
func Providers() []string { return []string{OpenAI, Anthropic} }

const (
	// tries is how often one request is sent at most.
	tries = 4
	// The time between two tries doubles, from the first to the longest.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// connectTime bounds making a connection. A model may think as long as its task lasts.
	connectTime = 10 * time.Second
)

// Config is what a client needs.
type Config struct {
	Provider string // one of [Providers]
	Model    string
	// BaseURL is where the endpoint is; empty means the provider's own.
	BaseURL string
	// KeyVariable names the environment variable that holds the key, or is [NoKey]; empty
	// means the provider's usual one, which need not be set where BaseURL says another place.
	KeyVariable string
	// Getenv reads the environment.
	Getenv func(name string) (value string, set bool)
	// Version of this Gearbox, for the endpoint's log.
	Version string
	// Wait waits; nil for a timer.
	Wait func(context.Context, time.Duration) error
}

// NoKey in place of a variable is an endpoint that needs no key.
const NoKey = "none"

// KeyOf is the variable that holds the key.
func (c Config) KeyOf() string {
	if c.KeyVariable != "" {
		return c.KeyVariable
	}
	if c.Provider == Anthropic {
		return "ANTHROPIC_API_KEY"
	}
	return "OPENAI_API_KEY"
}

// Client asks one model of one endpoint. It is safe for concurrent use.
type Client struct {
	c    Config
	wire wire
	url  string
	http *http.Client
	// plain tells that what is sent can be read on the way.
	plain bool
}

var _ agent.Model = (*Client)(nil)

// wire is one wire format.
type wire struct {
	base, path string
	encode     func(model string, talk agent.Conversation) ([]byte, error)
	decode     func(body []byte) (agent.Reply, error)
	authorise  func(h http.Header, key string)
}

// New makes a client. The error names the setting at fault. The key is looked for when a
// model is asked, see [Client.Ready].
func New(c Config) (*Client, error) {
	if !slices.Contains(Providers(), c.Provider) {
		return nil, fmt.Errorf("agent.provider: %q is none of %s", c.Provider, strings.Join(Providers(), ", "))
	}
	if c.Model == "" {
		return nil, errors.New("agent.model: name the model")
	}
	if c.Getenv == nil {
		return nil, errors.New("endpoint: getenv is required")
	}
	if c.Wait == nil {
		c.Wait = wait
	}
	w := chatCompletions
	if c.Provider == Anthropic {
		w = messages
	}
	base := c.BaseURL
	if base == "" {
		base = w.base
	}
	if err := CheckURL(base); err != nil {
		return nil, fmt.Errorf("agent.base_url: %w", err)
	}
	u := strings.TrimRight(base, "/") + w.path
	return &Client{c: c, wire: w, url: u, http: newHTTP(), plain: exposed(u)}, nil
}

// CheckURL says what is wrong with the address of an endpoint.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("write it as https://host/path, up to what stands before /chat/completions or /v1/messages")
	case u.User != nil:
		return errors.New("a user or password does not belong into it: name the variable of the key with agent.api_key_env")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("a query or fragment does not belong into it")
	}
	return nil
}

// exposed reports whether what is sent there can be read on the way.
func exposed(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "https" {
		return err != nil
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

func newHTTP() *http.Client {
	dialer := &net.Dialer{Timeout: connectTime}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTime,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxReason,
	}
	// A key is for the address that it was configured for.
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Ready is nil if there is a key, or none is needed. It asks nobody.
func (c *Client) Ready() error {
	_, err := c.key()
	return err
}

// key reads the credential, empty for none.
func (c *Client) key() (string, error) {
	name := c.c.KeyOf()
	if name == NoKey {
		return "", nil
	}
	value, _ := c.c.Getenv(name)
	value = strings.TrimSpace(value)
	switch {
	case value == "" && c.c.BaseURL != "" && c.c.KeyVariable == "":
		return "", nil // a local endpoint needs none
	case value == "":
		return "", fmt.Errorf("%w: the environment variable %s is not set where Gearbox runs: set it there, or name another with agent.api_key_env", ErrCredential, name)
	case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%w: the environment variable %s holds more than a key: spaces, line ends or other characters that no key has", ErrCredential, name)
	case c.plain:
		return "", fmt.Errorf("%w: over plain HTTP the key in %s could be read by everybody on the way to %s: use https, or say agent.api_key_env: none for an endpoint that needs no key", ErrCredential, name, c.host())
	}
	return value, nil
}

func (c *Client) host() string {
	u, err := url.Parse(c.url)
	if err != nil {
		return c.url
	}
	return u.Host
}

// Complete asks the model. It tries again what may pass: 429 after the time that the
// endpoint names, 5xx and broken connections after a growing one. Errors are of the kinds of
// this package; that ctx ended is told by ctx.
func (c *Client) Complete(ctx context.Context, talk agent.Conversation) (agent.Reply, error) {
	body, err := c.wire.encode(c.c.Model, talk)
	if err != nil {
		return agent.Reply{}, fmt.Errorf("write the request: %w", err)
	}
	pauses := &backoff.ExponentialBackOff{InitialInterval: firstPause, MaxInterval: longestPause, Multiplier: 2, RandomizationFactor: 0.25}
	for try := 1; ; try++ {
		reply, err := c.once(ctx, body)
		again := new(passingError)
		if err == nil || !errors.As(err, &again) || ctx.Err() != nil {
			return reply, err
		}
		pause := max(pauses.NextBackOff(), again.after)
		if try == tries {
			return agent.Reply{}, fmt.Errorf("%w; it was tried %d times", err, tries)
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < pause {
			return agent.Reply{}, fmt.Errorf("%w; it could be tried again in %v, and the task has less time left", err, pause.Round(time.Second))
		}
		if err := c.c.Wait(ctx, pause); err != nil {
			return agent.Reply{}, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
