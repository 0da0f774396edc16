package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/upstream/oauth/oauthtest"
)

func at(a *oauthtest.Authority) Server { return Server{Name: "web", URL: a.URL + "/mcp"} }

// use asks the server as a transport does, and reports the status.
func use(t *testing.T, k *Keeper, address string) (int, error) {
	t.Helper()
	for attempt := 0; ; attempt++ {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		source, err := k.TokenSource(t.Context())
		if err != nil {
			return 0, err
		}
		if source != nil {
			token, err := source.Token()
			if err != nil {
				return 0, err
			}
			q.Header.Set("Authorization", "Bearer "+token.AccessToken)
		}
		r, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusUnauthorized || attempt > 0 {
			return r.StatusCode, nil
		}
		r.Body = io.NopCloser(strings.NewReader(""))
		if err := k.Authorize(t.Context(), q, r); err != nil {
			return r.StatusCode, err
		}
	}
}

func TestALoginIsKeptAndUsed(t *testing.T) {
	a, dir := oauthtest.New(t), t.TempDir()
	v := Open(dir)
	var seen []string
	k := v.Keeper(at(a), NewClient(), func(token string) { seen = append(seen, token) })
	if _, err := use(t, k, a.URL+"/mcp"); !errors.Is(err, ErrLogin) {
		t.Fatal(err)
	}
	if err := v.Login(t.Context(), at(a), NewClient(), oauthtest.Browser(t)); err != nil {
		t.Fatal(err)
	}
	if status, err := use(t, k, a.URL+"/mcp"); err != nil || status != 200 {
		t.Errorf("%d, %v", status, err)
	}
	if !slices.Contains(seen, "access-token-2") {
		t.Errorf("a token was used that nobody was told of: %v", seen)
	}
	if m := a.Clients()[0]; m["application_type"] != "native" || m["token_endpoint_auth_method"] != "none" {
		t.Errorf("%v", m)
	}
	files, err := filepath.Glob(dir + "/oauth/*.json")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, dir+"/oauth.key") {
		text, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(text), "token-2") {
			t.Errorf("%s: %v, or it holds a token", name, err)
		}
		if i, err := os.Stat(name); err != nil || i.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, i.Mode(), err)
		}
	}
}

func TestATokenIsRenewedBeforeItsEndAndWhenItIsRefused(t *testing.T) {
	a, v := oauthtest.New(t), Open(t.TempDir())
	if err := v.Login(t.Context(), at(a), NewClient(), oauthtest.Browser(t)); err != nil {
		t.Fatal(err)
	}
	k := v.Keeper(at(a), NewClient(), func(string) {})
	other := v.Keeper(at(a), NewClient(), func(string) {}) // of another process
	for _, k := range []*Keeper{k, other} {
		if status, err := use(t, k, a.URL+"/mcp"); err != nil || status != 200 {
			t.Fatal(status, err)
		}
	}
	k.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	a.Revoke()
	if status, err := use(t, k, a.URL+"/mcp"); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	// The token that renews could be used once: the other one takes what it gave.
	if status, err := use(t, other, a.URL+"/mcp"); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	if n := len(a.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	a.Revoke()
	if status, err := use(t, other, a.URL+"/mcp"); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	a.Revoke()
	a.Expire()
	_, err := use(t, other, a.URL+"/mcp")
	if !errors.Is(err, ErrLogin) || strings.Contains(err.Error(), "token-") {
		t.Error(err)
	}
}

func TestALoginThatIsDeniedOrGivenUpFails(t *testing.T) {
	a, v := oauthtest.New(t), Open(t.TempDir())
	a.Deny()
	if err := v.Login(t.Context(), at(a), NewClient(), oauthtest.Browser(t)); err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := v.Login(ctx, at(a), NewClient(), func(string) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := v.Load(at(a)); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func TestOnlyTheBrowserThatWasSentAwayIsTakenBack(t *testing.T) {
	a, v := oauthtest.New(t), Open(t.TempDir())
	open := oauthtest.Browser(t)
	err := v.Login(t.Context(), at(a), NewClient(), func(address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		back := u.Query().Get("redirect_uri")
		for _, forged := range []string{back + "?code=evil", back + "?code=evil&state=guess", strings.TrimSuffix(back, backPath) + "/?state=" + u.Query().Get("state")} {
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, forged, http.NoBody)
			if err != nil {
				return err
			}
			r, err := http.DefaultTransport.RoundTrip(q)
			if err != nil {
				return err
			}
			_ = r.Body.Close()
			if r.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d", forged, r.StatusCode)
			}
		}
		return open(address)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAGrantIsForItsServerAndItsKeyAlone(t *testing.T) {
	a, dir := oauthtest.New(t), t.TempDir()
	v := Open(dir)
	if err := v.Login(t.Context(), at(a), NewClient(), oauthtest.Browser(t)); err != nil {
		t.Fatal(err)
	}
	other := Server{Name: "web", URL: "https://evil.example/mcp"}
	if _, err := v.Load(other); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if err := os.Rename(v.path(at(a)), v.path(other)); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Load(other); !errors.Is(err, ErrUnreadable) {
		t.Error(err)
	}
	if err := os.Rename(v.path(other), v.path(at(a))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/oauth.key", make([]byte, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Load(at(a)); !errors.Is(err, ErrUnreadable) {
		t.Error(err)
	}
	if err := v.Forget(t.Context(), at(a)); err != nil {
		t.Error(err)
	}
	if _, err := v.Load(at(a)); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func TestARegisteredClientAndItsScopesAreUsed(t *testing.T) {
	a, v := oauthtest.New(t), Open(t.TempDir())
	s := at(a)
	s.ClientID, s.ClientSecret, s.Scopes = "ours", "client-secret", []string{"read"}
	var asked string
	open := oauthtest.Browser(t)
	if err := v.Login(t.Context(), s, NewClient(), func(address string) error { asked = address; return open(address) }); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(asked)
	if err != nil || u.Query().Get("client_id") != "ours" || u.Query().Get("scope") != "read" {
		t.Errorf("%s, %v", asked, err)
	}
	if len(a.Clients()) != 0 || a.Requests()[0].Get("client_secret") != "client-secret" {
		t.Errorf("%v, %v", a.Clients(), a.Requests())
	}
}

func TestAServerThatAsksForNothingNeedsNoLogin(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	err := Open(t.TempDir()).Login(t.Context(), Server{Name: "x", URL: s.URL}, NewClient(), func(string) error { return errors.New("no browser") })
	if !errors.Is(err, ErrNotNeeded) {
		t.Error(err)
	}
}
