package logging_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/logging"
)

func redactor(t testing.TB, r logging.Rules) *logging.Redactor {
	t.Helper()
	red, err := logging.NewRedactor(r)
	if err != nil {
		t.Fatal(err)
	}
	return red
}

// twenty is a body of a key.
const twenty = "a1B2c3D4e5F6g7H8i9J0"

func TestSecretsInTextAreMasked(t *testing.T) {
	red := redactor(t, logging.Rules{})
	for text, want := range map[string]string{
		"Authorization: Bearer abc.def-ghi_123=":                                   "Authorization: Bearer [redacted]",
		`{"authorization":"Basic dXNlcjpwYXNz","x":1}`:                             `{"authorization":"Basic [redacted]","x":1}`,
		"bearer BEARER " + twenty:                                                  "bearer BEARER [redacted]",
		"postgres://gear:p@ss:w@rd@db.example:5432/x":                              "postgres://gear:[redacted]@db.example:5432/x",
		"git clone https://ghtoken@github.com/a/b":                                 "git clone https://[redacted]@github.com/a/b",
		"key ghp_" + twenty + " and glpat-" + twenty:                               "key [redacted] and [redacted]",
		"gbx_" + twenty + "," + "AKIAABCDEFGHIJKLMNOP":                             "[redacted],[redacted]",
		"sk-ant-api03-" + twenty + "!":                                             "[redacted]!",
		"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln done":                       "jwt [redacted] done",
		"password=hunter2&user=me":                                                 "password=[redacted]&user=me",
		`db_password: "two words", port: 5432`:                                     `db_password: [redacted], port: 5432`,
		`{\"client_secret\":\"a b\",\"id\":7}`:                                     `{\"client_secret\":[redacted],\"id\":7}`,
		"API-KEY := xyz; next":                                                     "API-KEY := [redacted]; next",
		"secret: password: hunter2":                                                "secret: [redacted] [redacted]",
		`secret={"password": "hunter2"}`:                                           `secret=[redacted] [redacted]}`,
		"curl --password --token hunter2 https://example.com/":                     "curl --password [redacted] [redacted] https://example.com/",
		"password='it\\'s long' x":                                                 "password=[redacted] x",
		"token=\"no end of it":                                                     "token=[redacted]",
		"a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b": "a [redacted] b",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb":                               "[redacted]",
	} {
		if got := red.Text(text); got != want {
			t.Errorf("%q\n became %q\n   not %q", text, got, want)
		}
	}
}

func TestPlainTextIsLeftAsItIs(t *testing.T) {
	red := redactor(t, logging.Rules{})
	for _, text := range []string{
		"", "net(api.github.com:443)", "the rule import(json) of the gear restricted allows it", "https://example.com/@user?x=a@b.c",
		"POLICY_VIOLATION", "the token was revoked", "sha256:" + strings.Repeat("ab", 32), "op_abcdefghijklmnopqrstuvwxyz234567",
		"task-force-of-the-sixteenth", "Bearer of news", "read(/workspace/keys.csv)",
		"send it in the header Authorization: Bearer, and revoke this one", "the header Authorization: Bearer. The operator", "mail me@example.com", "monkey=5", "the key: none",
	} {
		if got := red.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestValuesOfSecretKeysAreMaskedWhole(t *testing.T) {
	red := redactor(t, logging.Rules{Keys: []string{"X-Internal-*", "ssn"}})
	for _, key := range []string{"password", "DB_PASSWORD", "Api-Key", "refresh_token", "Set-Cookie", "proxy-authorization", "x_internal_id", "SSN"} {
		if got := red.Field(key, "anything"); got != logging.Mask {
			t.Errorf("%s: %q", key, got)
		}
	}
	for _, key := range []string{"", "tokens_used", "passage", "operation_id", "internal", "ssn2", "key"} {
		if got := red.Field(key, "anything"); got != "anything" {
			t.Errorf("%s: %q", key, got)
		}
	}
}

func TestAPrincipalKeepsItsNameWhereOneIsExpected(t *testing.T) {
	red := redactor(t, logging.Rules{})
	for _, c := range [][3]string{
		{"principal", "token:ci", "token:ci"},
		{"principal", "token:hunter2.of-some_body", "token:hunter2.of-some_body"},
		{"principal", "local", "local"},
		{"principal", "token:ghp_" + strings.ToLower(twenty), "token:[redacted]"},
		{"principal", "token: hunter2", "token: [redacted]"},
		{"principal", "token:hunter2 and more", "token:[redacted] and more"},
		{"reason", "token:hunter2", "token:[redacted]"},
	} {
		if got := red.Field(c[0], c[1]); got != c[2] {
			t.Errorf("%s: %q became %q, not %q", c[0], c[1], got, c[2])
		}
	}
	var out strings.Builder
	log := slog.New(red.Handler(slog.NewJSONHandler(&out, nil)))
	log.Info("x", "principal", "token:ci", "who", struct {
		P string `json:"principal"`
		T string `json:"reason"`
	}{"token:web", "token:hunter2"})
	for _, want := range []string{`"principal":"token:ci"`, `"principal":"token:web"`, `"reason":"token:[redacted]"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, out.String())
		}
	}
}

func TestAnOperatorsPatternsAreMaskedWhereTheyMatch(t *testing.T) {
	red := redactor(t, logging.Rules{Patterns: []string{`\bEMP-\d{4}\b`, `customer (\w+)`, `a|redacted`}})
	for text, want := range map[string]string{
		"EMP-1234 asked": "[redacted] [redacted]sked",
		"customer Smith": "customer [redacted]",
		"[redacted]":     "[redacted]",
	} {
		if got := red.Text(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

func TestATextThatDoesNotComeToRestIsMaskedAsAWhole(t *testing.T) {
	red := redactor(t, logging.Rules{Patterns: []string{`x(y)|\](z)`, `.(\[redacted\])`}})
	text := "x" + strings.Repeat("y", 1) + strings.Repeat("z", 9)
	if got := red.Text(text); got != red.Text(got) {
		t.Errorf("%q, then %q", got, red.Text(got))
	}
}

func TestRulesThatCannotBeMeantAreRefusedWithTheReason(t *testing.T) {
	for want, rules := range map[string]logging.Rules{
		"it would mask nearly every":    {Keys: []string{"*k*"}},
		"it matches the empty text":     {Patterns: []string{"a*"}},
		"syntax is that of RE2":         {Patterns: []string{"(?=x)"}},
		"at most 1000 are accepted":     {Patterns: []string{strings.Repeat("x", 2000)}},
		"at most 100 are accepted, bec": {Keys: strings.Split(strings.Repeat("k,", 200), ",")},
	} {
		if _, err := logging.NewRedactor(rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", rules, err, want)
		}
	}
}

// plant writes a secret of one of the shapes that are known. The body is made of its
// bytes, in an alphabet that all of them share.
func plant(kind uint8, body string) (secret, text string) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var b strings.Builder
	for i := range 24 {
		at := i * 7
		if i < len(body) {
			at = int(body[i])
		}
		b.WriteByte(alphabet[at%len(alphabet)])
	}
	secret = b.String()
	forms := []string{
		"Bearer %", "Authorization: Custom %", "https://user:%@example.com/x", "https://%@example.com", "ghp_%", "sk-%", "gbx_%", "xoxb-%",
		"eyJ%.%.%", "password=%", "Api_Key: '% %'", `{"client_secret": "%"}`, "--token %",
		"-----BEGIN EC PRIVATE KEY-----\n%\n-----END EC PRIVATE KEY-----",
	}
	return secret, strings.ReplaceAll(forms[int(kind)%len(forms)], "%", secret)
}

func FuzzNoSecretSurvives(f *testing.F) {
	for kind := range uint8(14) {
		f.Add(kind, "some body of a secret", "before", "after")
		f.Add(kind, "", "token=\"", "\"'@")
		f.Add(kind, "\x00\xff", "secret: --password bearer authorization:", "://[redacted]")
		f.Add(kind, "x", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----")
		f.Add(kind, "y", `password=\"`, "=")
	}
	red := redactor(f, logging.Rules{})
	f.Fuzz(func(t *testing.T, kind uint8, body, before, after string) {
		secret, planted := plant(kind, body)
		if strings.Contains(before+" "+after, secret) {
			return // it stands there a second time, where nothing says what it is
		}
		got := red.Text(before + " " + planted + " " + after)
		if strings.Contains(got, secret) {
			t.Errorf("%q between %q and %q became %q", planted, before, after, got)
		}
		if again := red.Text(got); again != got {
			t.Errorf("masked once %q, twice %q", got, again)
		}
	})
}

func FuzzMaskingTwiceIsMaskingOnce(f *testing.F) {
	f.Add("password=[redacted]hunter2", `\w+`)
	f.Add("x://a -----BEGIN PRIVATE KEY-----@b", `(a)|b`)
	f.Add("[redacted][redacted]", `\[|\]`)
	f.Fuzz(func(t *testing.T, text, pattern string) {
		red, err := logging.NewRedactor(logging.Rules{Patterns: []string{pattern}})
		if err != nil {
			return
		}
		once := red.Text(text)
		if twice := red.Text(once); twice != once {
			t.Errorf("%q with %q: once %q, twice %q", text, pattern, once, twice)
		}
	})
}

func BenchmarkPlainText(b *testing.B) {
	red := redactor(b, logging.Rules{})
	const text = "the rule import(json) of the gear restricted allows it"
	b.ReportAllocs()
	for b.Loop() {
		red.Text(text)
	}
}

func BenchmarkHostileText(b *testing.B) {
	red := redactor(b, logging.Rules{})
	for name, text := range map[string]string{
		"nested":  strings.Repeat(`token="secret='password=bearer `, 2000),
		"opening": strings.Repeat("-----BEGIN PRIVATE KEY-----://", 2000),
		"at":      "x://" + strings.Repeat("a:@", 20_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				red.Text(text)
			}
		})
	}
}
