package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/upstream/oauth"
	"github.com/gearbox-mcp/gearbox/internal/upstream/oauth/oauthtest"
)

func TestALoginIsWhatAServerThatAsksForOneIsCalledWith(t *testing.T) {
	t.Parallel()
	a := oauthtest.New(t)
	a.Inner = stateful()
	v := oauth.Open(t.TempDir())
	s := at(a.URL + "/mcp")
	clock := newClock()
	f := fleetOf(t, Options{Vault: v, Clock: clock}, s)
	_, err := f.Server(bounded(t), "web")
	var gone *UnavailableError
	if !errors.As(err, &gone) || !strings.Contains(err.Error(), "gearbox upstream login web") {
		t.Fatal(err)
	}
	if err := Authorize(t.Context(), s, v, oauthtest.Browser(t)); err != nil {
		t.Fatal(err)
	}
	clock.advance(longestPause)
	eventually(t, func() bool { return status(t, f).State == Ready })
	for range 2 { // before the token is revoked, and after
		if r, err := f.Call(bounded(t), "web", "echo", []byte(`{"text":"hello"}`)); err != nil || r.Blocks[0].Text != "hello" {
			t.Errorf("%+v, %v", r, err)
		}
		a.Revoke()
	}
	r, err := f.Call(bounded(t), "web", "echo", []byte(`{"text":"access-token-2"}`))
	if err != nil || strings.Contains(fmt.Sprint(r), "access-token") {
		t.Errorf("a token is in %+v, %v", r, err)
	}
	a.Revoke()
	a.Expire()
	_, err = f.Call(bounded(t), "web", "echo", []byte(`{"text":"hello"}`))
	if err == nil || !strings.Contains(err.Error(), "gearbox upstream login web") {
		t.Error(err)
	}
}

func TestALoginIsUsedAndRenewedOverSSE(t *testing.T) {
	t.Parallel()
	a := oauthtest.New(t)
	honest := tools()
	a.Inner = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return honest }, nil)
	v := oauth.Open(t.TempDir())
	s := at(a.URL + "/mcp")
	s.Transport = SSE
	if err := Authorize(t.Context(), s, v, oauthtest.Browser(t)); err != nil {
		t.Fatal(err)
	}
	f := fleetOf(t, Options{Vault: v}, s)
	for range 2 {
		if r, err := f.Call(bounded(t), "web", "echo", []byte(`{"text":"hello"}`)); err != nil || r.Blocks[0].Text != "hello" {
			t.Errorf("%+v, %v", r, err)
		}
		a.Revoke()
	}
}

func TestAProgramHasNoLogin(t *testing.T) {
	t.Parallel()
	err := Authorize(t.Context(), spec(t, "local", "honest"), oauth.Open(t.TempDir()), func(string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "environment") {
		t.Error(err)
	}
}
