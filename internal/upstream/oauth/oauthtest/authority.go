// Package oauthtest is an authorization server for tests, on the loopback.
package oauthtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Authority is an authorization server and a server that trusts it, on one address.
type Authority struct {
	*httptest.Server
	// Inner answers requests with a token at the path /mcp; nil answers 200.
	Inner http.Handler

	mu        sync.Mutex // guards what follows
	challenge map[string]string
	access    map[string]bool
	refresh   map[string]bool
	count     int
	deny      bool
	requests  []url.Values // to the token endpoint
	clients   []map[string]any
}

// New starts an authority that ends with the test.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{challenge: map[string]string{}, access: map[string]bool{}, refresh: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", a.resource)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"resource": a.URL + "/mcp", "authorization_servers": []string{a.URL}, "scopes_supported": []string{"read", "write"}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
			"registration_endpoint": a.URL + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"},
		})
	})
	mux.HandleFunc("/register", a.register)
	mux.HandleFunc("/authorize", a.authorize)
	mux.HandleFunc("/token", a.token)
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (a *Authority) resource(w http.ResponseWriter, q *http.Request) {
	a.mu.Lock()
	known := a.access[strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")]
	a.mu.Unlock()
	if known {
		if a.Inner != nil {
			a.Inner.ServeHTTP(w, q)
		}
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+a.URL+`/.well-known/oauth-protected-resource/mcp"`)
	w.WriteHeader(http.StatusUnauthorized)
}

func (a *Authority) register(w http.ResponseWriter, q *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var m map[string]any
	if json.NewDecoder(q.Body).Decode(&m) != nil {
		w.WriteHeader(400)
		return
	}
	a.clients = append(a.clients, m)
	m["client_id"] = "registered"
	reply(w, http.StatusCreated, m)
}

func (a *Authority) authorize(w http.ResponseWriter, q *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := q.URL.Query()
	if v.Get("code_challenge_method") != "S256" || v.Get("resource") != a.URL+"/mcp" {
		w.WriteHeader(400)
		return
	}
	back := url.Values{"state": {v.Get("state")}}
	if a.deny {
		back.Set("error", "access_denied")
	} else {
		a.count++
		code := fmt.Sprintf("code-%d", a.count)
		a.challenge[code] = v.Get("code_challenge")
		back.Set("code", code)
	}
	http.Redirect(w, q, v.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (a *Authority) token(w http.ResponseWriter, q *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = q.ParseForm()
	a.requests = append(a.requests, q.PostForm)
	ok := q.PostForm.Get("resource") == a.URL+"/mcp"
	switch q.PostForm.Get("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(q.PostForm.Get("code_verifier")))
		code := q.PostForm.Get("code")
		ok = ok && a.challenge[code] == base64.RawURLEncoding.EncodeToString(sum[:])
		delete(a.challenge, code)
	case "refresh_token":
		ok = ok && a.refresh[q.PostForm.Get("refresh_token")]
		delete(a.refresh, q.PostForm.Get("refresh_token"))
	default:
		ok = false
	}
	if !ok {
		reply(w, 400, map[string]any{"error": "invalid_grant", "error_description": "no", "leak": q.PostForm.Get("refresh_token")})
		return
	}
	a.count++
	access, refresh := fmt.Sprintf("access-token-%d", a.count), fmt.Sprintf("refresh-token-%d", a.count)
	a.access[access], a.refresh[refresh] = true, true
	reply(w, 200, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh})
}

// Revoke makes every access token invalid.
func (a *Authority) Revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
}

// Browser follows an address as that of an operator would who says yes.
func Browser(t testing.TB) func(string) error {
	t.Helper()
	return func(address string) error {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			return err
		}
		r, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			return err
		}
		_ = r.Body.Close()
		q, err = http.NewRequestWithContext(t.Context(), http.MethodGet, r.Header.Get("Location"), http.NoBody)
		if err != nil {
			return err
		}
		if r, err = http.DefaultTransport.RoundTrip(q); err != nil {
			return err
		}
		return r.Body.Close()
	}
}

// Expire makes every token invalid that renews another one.
func (a *Authority) Expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.refresh)
}

// Deny has the operator say no.
func (a *Authority) Deny() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deny = true
}

// Requests are those to the token endpoint.
func (a *Authority) Requests() []url.Values {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// Clients are the registrations.
func (a *Authority) Clients() []map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.clients)
}
