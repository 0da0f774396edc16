package upstream

import (
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/logging"
)

func TestCredentialsOfAConfigurationAreMaskedAndOtherValuesAreNot(t *testing.T) {
	r, err := logging.NewRedactor(logging.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	m := newMask(Spec{
		Command: []string{"run", "--token", "arg-of-secret", "--api-key=other-secret", "--folder=/home/user/project"},
		Env:     map[string]string{"SERVICE_PASSWORD": `quote"inside`, "FOLDER": "/home/user/project", "GH": "ghp_0123456789abcdefghij"},
		URL:     "https://user:p4ssw0rd-x@host/mcp?api_key=in-the-query&page=seventeen",
		Headers: map[string]string{"Authorization": "Bearer header-secret", "X-Short": "a"},
	}, r)
	for _, secret := range []string{"arg-of-secret", "other-secret", `quote"inside`, "ghp_0123456789abcdefghij", "p4ssw0rd-x", "in-the-query", "header-secret"} {
		if s := m.exact("before " + secret + " after"); strings.Contains(s, secret) || !strings.HasPrefix(s, "before ") {
			t.Errorf("%s: %s", secret, s)
		}
	}
	for _, plain := range []string{"/home/user/project", "seventeen", "a", "run"} {
		if s := m.exact(plain); s != plain {
			t.Errorf("%s: %s", plain, s)
		}
	}
	raw := `{"z":[9007199254740993,"it is quote\"inside here"],"a":"/home/user/project"}`
	if have := string(m.json([]byte(raw))); strings.Contains(have, "quote") || !strings.Contains(have, "9007199254740993") {
		t.Error(have)
	}
	if plain := `{"z":1,  "a":2}`; string(m.json([]byte(plain))) != plain {
		t.Error("what holds no secret is not as it was")
	}
}

func TestCredentialsUnderHarmlessNamesAreMasked(t *testing.T) {
	r, err := logging.NewRedactor(logging.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	m := newMask(Spec{
		Env: map[string]string{
			"PAT": "plainvalue1", "DSN": "postgres://app:hunter22@db/x", "SLACK_BOT": "botvalue", "KEYFILE": "from-a-variable",
			"LANG": "en_US.UTF-8", "PORT": "8080", "FOLDER": "/srv/data", "MODE": "production",
		},
		Secrets: []string{"argument-of-any-name"},
	}, r)
	for _, secret := range []string{"plainvalue1", "postgres://app:hunter22@db/x", "hunter22", "botvalue", "from-a-variable", "argument-of-any-name"} {
		if s := m.exact("<" + secret + ">"); strings.Contains(s, secret) {
			t.Error(s)
		}
		if s := string(m.bytes([]byte("<" + secret + ">"))); strings.Contains(s, secret) {
			t.Error(s)
		}
	}
	for _, plain := range []string{"en_US.UTF-8", "8080", "/srv/data", "production"} {
		if m.exact(plain) != plain {
			t.Error(plain)
		}
	}
}

func TestPatternsOfTools(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"read", "read", true},
		{"read", "read_file", false},
		{"read*", "read_file", true},
		{"*file", "read_file", true},
		{"*a*b*", "xaxbx", true},
		{"*a*b*", "xbxax", false},
		{"*", "", true},
		{"a*a", "a", false},
		{"", "a", false},
		{"s?eep", "sleep", true},
		{"s?eep", "seep", false},
		{"*", "a.b/c\n", true},
		{"délèt?", "délète", true},
	} {
		if matches([]string{c.pattern}, c.name) != c.want {
			t.Errorf("%q, %q: want %v", c.pattern, c.name, c.want)
		}
	}
	s := Spec{Approve: []string{"delete*"}}
	if !s.Asks("delete_all") || s.Asks("read") || !s.Allows("anything") {
		t.Error("wrong lists")
	}
}

func TestABatchFileIsGivenNoArgumentThatCouldBeACommand(t *testing.T) {
	if checkBatch(`C:\npx.CMD`, []string{"-y", "pkg", `"&calc`}) == nil || checkBatch(`C:\npx.cmd`, []string{"-y", "@scope/pkg@1.2"}) != nil || checkBatch("/bin/npx", []string{"&"}) != nil {
		t.Error("wrong arguments are refused")
	}
}
