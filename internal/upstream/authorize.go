package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/gearbox-mcp/gearbox/internal/upstream/oauth"
)

// Authorize has the operator log in to a server by its address, with a browser that open
// opens, and keeps the login in a vault, from where the sessions of every process of the
// data directory take it. Nothing else opens a browser.
func Authorize(ctx context.Context, s Spec, v *oauth.Vault, open func(url string) error) error {
	if fault := s.fault(); fault != "" {
		return fmt.Errorf("server %s: %s", s.Name, fault)
	}
	if s.Transport == Stdio {
		return fmt.Errorf("server %s is a program of this machine: it gets its credentials from its environment, see %s", s.Name, origin(s))
	}
	c := oauth.NewClient()
	defer c.CloseIdleConnections()
	return v.Login(ctx, login(s), c, open)
}

// login is what a server is in a vault.
func login(s Spec) oauth.Server {
	o := oauth.Server{Name: s.Name, URL: s.URL}
	if s.OAuth != nil {
		o.ClientID, o.ClientSecret, o.Scopes = s.OAuth.ClientID, s.OAuth.ClientSecret, s.OAuth.Scopes
	}
	return o
}

// keeper hands out the tokens of a server; nil where there is no vault, or the operator
// configured a credential.
func keeper(s Spec, o *Options, c *http.Client, m *mask) auth.OAuthHandler {
	if o.Vault == nil || s.Transport == Stdio {
		return nil
	}
	for k := range s.Headers {
		if strings.EqualFold(k, "Authorization") {
			return nil
		}
	}
	return o.Vault.Keeper(login(s), c, m.add)
}

// Forget removes the login for a server from a vault. The error is [oauth.ErrNone] when
// there is none. What a process has read of it already it keeps until it ends.
func Forget(ctx context.Context, s Spec, v *oauth.Vault) error {
	if _, err := v.Load(login(s)); errors.Is(err, oauth.ErrNone) {
		return fmt.Errorf("server %s: %w", s.Name, err)
	}
	return v.Forget(ctx, login(s))
}
