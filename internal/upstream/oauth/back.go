package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// back is the browser's way back: a page on the loopback, at a port of this login alone
// (RFC 8252 §7.3).
type back struct {
	address string
	host    string
	server  *http.Server
	serving sync.WaitGroup
	came    chan url.Values

	mu    sync.Mutex // guards state
	state string     // that the browser has to bring; empty before it is sent away
}

const backPath = "/callback"

func listen(ctx context.Context) (*back, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	b := &back{host: l.Addr().String(), came: make(chan url.Values, 1)}
	b.address = "http://" + b.host + backPath
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	b.serving.Go(func() { _ = b.server.Serve(l) })
	return b, nil
}

func (b *back) close(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, time.Second) // for the page that is being answered
	defer stop()
	if b.server.Shutdown(ctx) != nil {
		_ = b.server.Close()
	}
	b.serving.Wait()
}

// ServeHTTP takes the browser that brings the state with which it was sent away, once.
// Any page can send a browser here; without the state it learns nothing and ends nothing.
func (b *back) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	b.mu.Lock()
	state := b.state
	b.mu.Unlock()
	values := q.URL.Query()
	if q.Method != http.MethodGet || q.URL.Path != backPath || q.Host != b.host || state == "" ||
		subtle.ConstantTimeCompare([]byte(values.Get("state")), []byte(state)) != 1 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	select {
	case b.came <- values:
		_, _ = io.WriteString(w, "Gearbox has taken over. You can close this window and go back to the terminal.\n")
	default:
		w.WriteHeader(http.StatusGone)
	}
}

// fetch sends the operator's browser away and waits until it is back.
func (b *back) fetch(ctx context.Context, address string, show func(string) error) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the authorization server names an address that cannot be read")
	}
	b.mu.Lock()
	b.state = u.Query().Get("state")
	b.mu.Unlock()
	if err := show(address); err != nil {
		return nil, fmt.Errorf("open the browser: %w", err)
	}
	select {
	case v := <-b.came:
		if e := v.Get("error"); e != "" {
			return nil, fmt.Errorf("the authorization server refuses: %.100q (%.300q)", e, v.Get("error_description"))
		}
		return &auth.AuthorizationResult{Code: v.Get("code"), State: v.Get("state"), Iss: v.Get("iss")}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the browser: %w", context.Cause(ctx))
	}
}

// granted begins a grant with what the address asks for.
func granted(address string) (*Grant, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the authorization server names an address that is none of http or https")
	}
	return &Grant{Resource: u.Query().Get("resource")}, nil
}
