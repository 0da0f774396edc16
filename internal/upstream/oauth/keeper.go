package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

const (
	// early is how long before its end a token is renewed.
	early = time.Minute
	// renewTime bounds a renewal.
	renewTime = 30 * time.Second
)

// Keeper hands the tokens of one server to a transport and renews them. It never opens a
// browser: where only the operator can help, it says so.
type Keeper struct {
	vault  *Vault
	server Server
	client *http.Client
	seen   func(token string)
	now    func() time.Time

	mu    sync.Mutex // guards grant, and is held while it is renewed
	grant *Grant
}

var _ auth.OAuthHandler = (*Keeper)(nil)

// Keeper is the keeper of the tokens of a server. seen is told each token before it is
// used, so that it can be masked wherever it turns up.
func (v *Vault) Keeper(s Server, c *http.Client, seen func(token string)) *Keeper {
	return &Keeper{vault: v, server: s, client: c, seen: seen, now: time.Now}
}

// TokenSource implements [auth.OAuthHandler]. It is nil as long as there is no login.
func (k *Keeper) TokenSource(context.Context) (oauth2.TokenSource, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.grant == nil {
		g, err := k.vault.Load(k.server)
		if errors.Is(err, ErrNone) {
			return nil, nil //nolint:nilnil // by contract: no header is sent
		}
		if err != nil {
			return nil, err
		}
		k.grant = g
	}
	return source{k}, nil
}

// source is a keeper as the SDK wants to see it.
type source struct{ k *Keeper }

// Token implements [oauth2.TokenSource].
func (s source) Token() (*oauth2.Token, error) {
	ctx, stop := context.WithTimeout(context.Background(), renewTime)
	defer stop()
	return s.k.token(ctx)
}

func (k *Keeper) token(ctx context.Context) (*oauth2.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.grant.Token
	if !t.Expiry.IsZero() && t.Expiry.Before(k.now().Add(early)) && t.RefreshToken != "" {
		// One that cannot be renewed any more is sent as it is: the server refuses it, and
		// its refusal says what to do.
		if err := k.renew(ctx, t.AccessToken); err != nil && !refused(err) {
			return nil, err
		}
	}
	k.tell(k.grant.Token)
	return k.grant.Token, nil
}

func (k *Keeper) tell(t *oauth2.Token) {
	k.seen(t.AccessToken)
	k.seen(t.RefreshToken)
}

func refused(err error) bool {
	var r *oauth2.RetrieveError
	return errors.As(err, &r) || errors.Is(err, ErrLogin)
}

// renew gets another token in the place of one, unless another process has. The caller
// holds mu.
func (k *Keeper) renew(ctx context.Context, old string) error {
	return k.vault.locked(ctx, func() error {
		g, err := k.vault.Load(k.server)
		if err != nil {
			return err
		}
		k.grant = g
		if g.Token.AccessToken != old {
			return nil
		}
		if g.Token.RefreshToken == "" {
			return ErrLogin
		}
		t, err := g.exchange(ctx, k.client)
		if err != nil {
			return &renewError{err}
		}
		if t.RefreshToken == "" {
			t.RefreshToken = g.Token.RefreshToken
		}
		g.Token = t
		return k.vault.save(k.server, g)
	})
}

// renewError keeps what a token endpoint said out of its text.
type renewError struct{ err error }

func (e *renewError) Error() string { return "renew the login: " + told(e.err).Error() }

func (e *renewError) Unwrap() error { return e.err }

// exchange is RFC 6749 §6 with the resource (RFC 8707 §2.2), for which the library has no
// call of its own: it is one for a code, with another type of grant.
func (g *Grant) exchange(ctx context.Context, c *http.Client) (*oauth2.Token, error) {
	cfg := &oauth2.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.Style},
	}
	return cfg.Exchange(context.WithValue(ctx, oauth2.HTTPClient, c), "",
		oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", g.Token.RefreshToken),
		oauth2.SetAuthURLParam("resource", g.Resource))
}

// Authorize implements [auth.OAuthHandler]: it renews a token that is refused before its
// time, or takes the one of a login that was made meanwhile. The SDK then tries again.
func (k *Keeper) Authorize(ctx context.Context, q *http.Request, a *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, maxGrant))
	_ = a.Body.Close()
	if a.StatusCode == http.StatusForbidden {
		return fmt.Errorf("%w: it may lack a right (HTTP 403)", ErrLogin)
	}
	used := strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := k.vault.Load(k.server); err != nil {
		k.grant = nil
		return fmt.Errorf("%w: %w", ErrLogin, err)
	}
	if err := k.renew(ctx, used); err != nil {
		return fmt.Errorf("%w: %w", ErrLogin, err)
	}
	k.tell(k.grant.Token)
	return nil
}
