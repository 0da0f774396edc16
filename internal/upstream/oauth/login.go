package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// loginTime bounds a login: the operator may have to find a password.
const loginTime = 10 * time.Minute

// Login has the operator log in to a server with a browser, and keeps what comes of it in
// the place of an earlier login. show is given the address to be opened; it should open
// it or print it, and return. The client should be one that bounds its exchanges.
//
// Errors: [ErrNotNeeded], what the servers say, that of the context.
func (v *Vault) Login(ctx context.Context, s Server, c *http.Client, show func(url string) error) error {
	ctx, stop := context.WithTimeout(ctx, loginTime)
	defer stop()
	back, err := listen(ctx)
	if err != nil {
		return err
	}
	defer back.close(context.WithoutCancel(ctx))
	q, refusal, err := challenge(ctx, s, c)
	if err != nil {
		return err
	}
	var grant *Grant
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back.address, Client: c, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			g, err := granted(a.URL)
			if err != nil {
				return nil, err
			}
			grant = g
			return back.fetch(ctx, a.URL, show)
		},
		NewTokenSource: func(_ context.Context, cfg *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			grant.ClientID, grant.ClientSecret, grant.Scopes = cfg.ClientID, cfg.ClientSecret, cfg.Scopes
			grant.TokenURL, grant.Style, grant.Token = cfg.Endpoint.TokenURL, cfg.Endpoint.AuthStyle, t
			return oauth2.StaticTokenSource(t), nil
		},
	}
	if len(s.Scopes) > 0 {
		config.ScopeFilter = func([]string) []string { return s.Scopes }
	}
	register(config, s)
	h, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		_ = refusal.Body.Close()
		return err
	}
	if err := h.Authorize(ctx, q, refusal); err != nil {
		return fmt.Errorf("log in to %s: %w", s.Name, told(err))
	}
	if grant == nil || grant.Token == nil {
		return fmt.Errorf("log in to %s: %w", s.Name, ErrLogin)
	}
	return v.locked(ctx, func() error { return v.save(s, grant) })
}

// register says which client we are: the operator's, or one that is registered now.
func register(config *auth.AuthorizationCodeHandlerConfig, s Server) {
	if s.ClientID == "" {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Gearbox", RedirectURIs: []string{config.RedirectURL}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
		return
	}
	config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: s.ClientID}
	if s.ClientSecret != "" {
		config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: s.ClientSecret}
	}
}

// opening is a request that every server answers that lets us in.
const opening = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"gearbox","version":"login"}}}`

// challenge asks a server what it asks for.
func challenge(ctx context.Context, s Server, c *http.Client) (*http.Request, *http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(opening))
	if err != nil {
		return nil, nil, errors.New("the address of the server cannot be read")
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	a, err := c.Do(q)
	if err != nil {
		return nil, nil, fmt.Errorf("reach the server: %w", err)
	}
	if a.StatusCode == http.StatusUnauthorized {
		return q, a, nil
	}
	_ = a.Body.Close()
	if a.StatusCode < http.StatusMultipleChoices {
		return nil, nil, ErrNotNeeded
	}
	return nil, nil, fmt.Errorf("the server answers with HTTP status %d instead of asking for authorization (401): compare its address with its documentation", a.StatusCode)
}
