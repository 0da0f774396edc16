package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/token"
)

// paths are all that are answered, and some that are not or are written otherwise.
func paths() []string {
	return []string{
		"/mcp", "/healthz", "/readyz", "/metrics", "/api/v1/operations", "/api/v1/operations/op_1", "/api/v1/operations/op_1/cancel", "/", "/nothing",
		"/mcp/", "//mcp", "/./mcp", "/x/../mcp", "/%6dcp", "/MCP", "/api", "/api/v1/", "/api/v1/operations/", "/api/v1/nothing", "/healthz/..", "/favicon.ico",
	}
}

func methods() []string {
	return []string{
		http.MethodGet, http.MethodPost, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions,
		http.MethodTrace, "PROPFIND", "get",
	}
}

func TestAPageOfAnotherOriginIsRefusedOnEveryPathByEveryMethod(t *testing.T) {
	s := start(t, Config{}, nil)
	host := strings.TrimPrefix(s.url, "http://")
	for _, path := range paths() {
		for _, method := range methods() {
			for _, header := range [][]string{
				{"Origin", "http://evil.example"},
				{"Origin", "null"},
				{"Origin", ""},
				{"Origin", "http://localhost:1"}, // another program of this machine
				{"Origin", "http://" + host + ".evil.example"},
				{"Origin", "ftp://" + host},
				{"Origin", "http://user@evil.example"},
				{"Origin", s.url, "Origin", "http://evil.example"},
				{"Sec-Fetch-Site", "cross-site"}, // an image of a page, without Origin
				{"Sec-Fetch-Site", "same-site"},
				{"Origin", s.url, "Sec-Fetch-Site", "cross-site"},
			} {
				if got := s.ask(method, path, "", header...); got.status != http.StatusForbidden {
					t.Errorf("%s %s with %q: %d %s", method, path, header, got.status, got.body)
				}
			}
		}
	}
}

func TestAPageOfOursIsNotRefused(t *testing.T) {
	s := start(t, Config{Origins: []string{"https://Console.example"}, Hosts: []string{"gearbox.example"}}, nil)
	host := strings.TrimPrefix(s.url, "http://")
	port := host[strings.LastIndex(host, ":"):]
	for _, header := range [][]string{
		nil,
		{"Origin", s.url},
		{"Origin", "https://" + host}, // where TLS ends before us
		{"Origin", "https://console.example"},
		{"Origin", "https://console.example", "Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-origin"},
		{"Sec-Fetch-Site", "none"},
		{"Host", "localhost" + port, "Origin", "http://localhost" + port},
		{"Host", "LOCALHOST." + port},
		{"Host", "[::1]" + port},
		{"Host", "gearbox.example", "Origin", "https://gearbox.example"},
		{"Host", "gearbox.example:8443"},
	} {
		if got := s.ask(http.MethodGet, "/healthz", "", header...); got.status != http.StatusOK {
			t.Errorf("%q: %d %s", header, got.status, got.body)
		}
	}
}

func TestANameThatIsNotOursIsRefusedOnEveryPath(t *testing.T) {
	s := start(t, Config{}, nil)
	for _, path := range paths() {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, host := range []string{"evil.example", "localhost.evil.example", "192.0.2.1", "127.0.0.1.evil.example", "evil.example:80", "[::2]:80", "0.0.0.0"} {
				if got := s.ask(method, path, "", "Host", host); got.status != http.StatusForbidden || !strings.Contains(got.body, "--http-host") {
					t.Errorf("%s %s as %s: %d %s", method, path, host, got.status, got.body)
				}
			}
		}
	}
}

func TestPagesOfNamedOriginsReadTheAnswers(t *testing.T) {
	s := start(t, Config{Origins: []string{"http://localhost:6274"}}, nil)
	got := s.ask(http.MethodOptions, "/mcp", "", "Origin", "http://localhost:6274", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	if got.status != http.StatusNoContent || got.header.Get("Access-Control-Allow-Origin") != "http://localhost:6274" || !strings.Contains(got.header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := s.ask(http.MethodPost, "/mcp", "", "Origin", "http://localhost:6274"); got.status != http.StatusOK || got.header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := s.ask(http.MethodGet, "/healthz", ""); got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%v", got.header)
	}
}

func TestATokenInTheURLIsNotTaken(t *testing.T) {
	s := start(t, Config{}, nil)
	secret := s.create("a", token.Rights{})
	for _, query := range []string{"?access_token=x", "?token=" + secret, "?x=" + secret, "?x=%67%62%78_" + secret[4:], "?" + secret} {
		for _, path := range paths() {
			if got := s.ask(http.MethodGet, path+query, "", "Authorization", "Bearer "+secret); got.status != http.StatusBadRequest || strings.Contains(got.body, secret) {
				t.Errorf("%s%s: %d %s", path, query, got.status, got.body)
			}
		}
	}
}

func TestMistakesInNamesAreNamed(t *testing.T) {
	for _, c := range []Config{
		{Hosts: []string{"https://gearbox.example"}},
		{Hosts: []string{"*"}},
		{Hosts: []string{""}},
		{Origins: []string{"gearbox.example"}},
		{Origins: []string{"https://gearbox.example/"}},
		{Origins: []string{"*"}},
		{Origins: []string{"null"}},
	} {
		if _, err := newGate(c.Hosts, c.Origins); err == nil || !strings.Contains(err.Error(), "example") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func FuzzNoForeignOriginIsOurs(f *testing.F) {
	for _, s := range []string{"http://127.0.0.1:80", "http://evil.example", "null", "http://127.0.0.1:80@evil.example", "HTTP://127.0.0.1:80/", "http://[::1]:80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, origin string) {
		r := &http.Request{Host: "127.0.0.1:80"}
		if sameOrigin(r, origin) && !strings.HasPrefix(strings.ToLower(origin), "http") {
			t.Error(origin)
		}
		// Browsers write an origin without user, path and the like.
		if plain := strings.ToLower(origin); sameOrigin(r, origin) && !strings.ContainsAny(origin, "/?#@\\ ") && plain != "http://127.0.0.1:80" && plain != "https://127.0.0.1:80" {
			t.Error(origin)
		}
	})
}
