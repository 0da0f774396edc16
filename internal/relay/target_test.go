package relay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATargetIsAURLOrThePathOfASocket(t *testing.T) {
	for in, want := range map[string]struct {
		endpoint, health string
		exposed          bool
	}{
		"http://127.0.0.1:8080":           {"http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/healthz", false},
		"http://[::1]:8080/":              {"http://[::1]:8080/mcp", "http://[::1]:8080/healthz", false},
		"http://gearbox.example/mcp":      {"http://gearbox.example/mcp", "http://gearbox.example/healthz", true},
		"http://10.0.0.1/mcp":             {"http://10.0.0.1/mcp", "http://10.0.0.1/healthz", true},
		"https://gearbox.example/a/b/mcp": {"https://gearbox.example/a/b/mcp", "https://gearbox.example/a/b/healthz", false},
		"/run/gearbox.sock":               {"http://gearbox/mcp", "http://gearbox/healthz", false},
	} {
		got, err := ParseTarget(in)
		if err != nil || got.endpoint.String() != want.endpoint || got.health() != want.health || got.Exposed() != want.exposed {
			t.Errorf("%s: %s, %s, %v, %v", in, got.endpoint, got.health(), got.Exposed(), err)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"http://h", "https://u:p@h/", "/a/b", "h:80", "", "://", "http://h/%2f?x#y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseTarget(s)
		if err != nil {
			return
		}
		if got.endpoint.Host == "" || got.endpoint.User != nil || got.Name == "" || !strings.HasPrefix(got.endpoint.Scheme, "http") {
			t.Errorf("%q: %+v", s, got)
		}
	})
}

func FuzzAnnouncing(f *testing.F) {
	f.Add([]byte(`{"capabilities":{"tools":{}}}`))
	f.Add([]byte(`{"capabilities":null}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := announcing(in)
		if string(out) != string(in) && !strings.Contains(string(out), `"listChanged":true`) {
			t.Errorf("%q became %q", in, out)
		}
	})
}

func TestAPathOfSomethingElseIsNoTarget(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "a regular file", dir: "a directory"} {
		if _, err := ParseTarget(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := ParseTarget(filepath.Join(dir, "later")); err != nil {
		t.Errorf("a socket that may come: %v", err)
	}
}
