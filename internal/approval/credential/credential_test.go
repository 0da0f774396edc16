package credential

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
)

// clock is a time that is set by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newClock() *clock { return &clock{at: time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)} }

const right = "correct horse battery"

// cheap is a passphrase that costs as little as is taken, for tests of something else.
func cheap(text string) Key {
	h := hash{time: 1, memory: argonMemory / 8, threads: 1, salt: []byte("salt of tests")}
	h.sum = h.of(text, hashBytes)
	return Key{document{Kind: Passphrase, Passphrase: h.String()}}
}

func withPassphrase(t *testing.T, dir string, c *clock) *File {
	t.Helper()
	f := Open(dir, None, c.now)
	if err := f.Set(t.Context(), cheap(right), ""); err != nil {
		t.Fatal(err)
	}
	return f
}

// causeOf is why a credential is refused; empty for one that is right, and a failure for
// what is no refusal.
func causeOf(t *testing.T, f *File, credential string) approval.Cause {
	t.Helper()
	err := f.Check(t.Context(), credential)
	if err == nil {
		return ""
	}
	var refused *approval.RefusedError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	return refused.Cause
}

func TestWithoutACredentialNoneIsAskedFor(t *testing.T) {
	dir := t.TempDir()
	f := Open(dir, "", newClock().now)
	if kind, err := f.Kind(); kind != None || err != nil {
		t.Errorf("%v %v", kind, err)
	}
	if got := causeOf(t, f, ""); got != "" {
		t.Error(got)
	}
	if all, _ := os.ReadDir(dir); len(all) != 0 {
		t.Errorf("something was made: %v", all)
	}
}

func TestAPassphraseIsAskedForInEveryProcessWhateverItsSettings(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	withPassphrase(t, dir, c)
	for _, want := range []Kind{"", None, Passphrase} {
		f := Open(dir, want, c.now)
		if kind, err := f.Kind(); kind != Passphrase || err != nil {
			t.Errorf("%v %v", kind, err)
		}
		for credential, cause := range map[string]approval.Cause{"": approval.Unproven, "wrong horse": approval.Unproven, right + " ": approval.Unproven, right: ""} {
			if got := causeOf(t, f, credential); got != cause {
				t.Errorf("%q: %q", credential, got)
			}
		}
	}
	st, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
}

func TestOfAPassphraseASlowHashIsKept(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	k, err := NewPassphrase(right)
	if err != nil {
		t.Fatal(err)
	}
	f := Open(dir, Passphrase, c.now)
	if err := f.Set(t.Context(), k, ""); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, FileName)); strings.Contains(string(text), "horse") || !strings.Contains(string(text), "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("%s", text)
	}
	if got := causeOf(t, f, right); got != "" {
		t.Error(got)
	}
}

func TestWhatTheSettingsAskForAndIsNotThereLetsNobodyDecide(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	if got := causeOf(t, Open(dir, TOTP, c.now), "123456"); got != approval.Unproven {
		t.Error(got)
	}
	withPassphrase(t, dir, c)
	if got := causeOf(t, Open(dir, TOTP, c.now), right); got != approval.Unproven {
		t.Error(got)
	}
}

func TestGuessingIsSlowedDownForAllProcessesOfADirectory(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	withPassphrase(t, dir, c)
	wait := func() time.Duration {
		t.Helper()
		var refused *approval.RefusedError
		if err := Open(dir, None, c.now).Check(t.Context(), right); !errors.As(err, &refused) || refused.Cause != approval.Throttled {
			t.Fatalf("%v", err)
		}
		return refused.RetryAfter
	}
	for range freeFailures {
		if got := causeOf(t, Open(dir, None, c.now), "guess number"); got != approval.Unproven {
			t.Fatal(got)
		}
	}
	for want := firstWait; want < 2*longestWait; want *= 2 {
		want := min(want, longestWait)
		if got := wait(); got != want {
			t.Errorf("%v, not %v", got, want)
		}
		c.add(want - time.Second)
		if got := wait(); got != time.Second {
			t.Errorf("%v before the end", got)
		}
		c.add(time.Second)
		if got := causeOf(t, Open(dir, None, c.now), "guess number"); got != approval.Unproven {
			t.Fatal(got)
		}
	}
	c.add(-time.Hour) // a clock that is set back makes nobody wait for ever
	if got := wait(); got != longestWait {
		t.Errorf("%v", got)
	}
	c.add(2 * time.Hour)
	if got := causeOf(t, Open(dir, None, c.now), right); got != "" {
		t.Errorf("%v", got)
	}
	if got := causeOf(t, Open(dir, None, c.now), "guess number"); got != approval.Unproven {
		t.Errorf("the count did not begin anew: %v", got)
	}
}

func TestATryIsCountedBeforeItIsJudged(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	f := withPassphrase(t, dir, c)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := f.Check(ctx, right); err == nil {
		t.Fatal("a check that could not take the lock let somebody in")
	}
	// A hash that cannot be read is a failure in the midst of judging.
	path := filepath.Join(dir, FileName)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(dir, 0o700) }()
	if os.Geteuid() != 0 {
		if err := f.Check(t.Context(), right); err == nil {
			t.Error("a try that could not be counted was judged")
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// The vectors of RFC 6238, appendix B, for SHA-1.
func TestCodesAreThoseOfTheStandard(t *testing.T) {
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "94287082", 1111111109: "07081804", 1111111111: "14050471", 1234567890: "89005924", 2000000000: "69279037", 20000000000: "65353130",
	} {
		if got := codeAt(secret, at/30, 8); got != want {
			t.Errorf("at %d: %s, not %s", at, got, want)
		}
	}
}

func TestACodeCountsOnceAndAboutNow(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	k, uri := NewTOTP()
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Query().Get("issuer") != "Gearbox" || len(u.Query().Get("secret")) != 32 {
		t.Fatalf("%s %v", uri, err)
	}
	now := func(steps int64) string { return codeAt(k.d.Secret, c.now().Unix()/30+steps, digits) }
	if k.Confirm("000000x", c.now()) || !k.Confirm(now(0), c.now()) {
		t.Fatal("an authenticator cannot be confirmed")
	}
	f := Open(dir, TOTP, c.now)
	if err := f.Set(t.Context(), k, ""); err != nil {
		t.Fatal(err)
	}
	check := func(code string, want approval.Cause) {
		t.Helper()
		if got := causeOf(t, f, code); got != want {
			t.Errorf("%s: %q", code, got)
		}
	}
	check(now(0), approval.Unproven) // it counted when it was confirmed
	c.add(period)
	code := now(0)
	check(code[:3]+" "+code[3:], "")
	check(code, approval.Unproven)
	check(now(-1), approval.Unproven)
	check(now(2), approval.Unproven)
	check(now(1), "")
	check(now(0), approval.Unproven) // it is older than one that counted
	c.add(3 * period)
	check(now(-2), approval.Unproven)
	check(now(-1), "")
	check(now(0), "")
}

func TestOneCodeLetsOneOfManyDecide(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	k, _ := NewTOTP()
	if err := Open(dir, TOTP, c.now).Set(t.Context(), k, ""); err != nil {
		t.Fatal(err)
	}
	code := codeAt(k.d.Secret, c.now().Unix()/30, digits)
	results := make(chan error, 4)
	for range cap(results) {
		go func() { results <- Open(dir, TOTP, c.now).Check(t.Context(), code) }()
	}
	in := 0
	for range cap(results) {
		if <-results == nil {
			in++
		}
	}
	if in != 1 {
		t.Errorf("%d came in", in)
	}
}

func TestANewCredentialTakesTheOldOne(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	f := withPassphrase(t, dir, c)
	k := cheap("another passphrase")
	for _, current := range []string{"", "another passphrase"} {
		if err := f.Set(t.Context(), k, current); err == nil {
			t.Errorf("%q was enough", current)
		}
	}
	if err := f.Set(t.Context(), k, right); err != nil {
		t.Fatal(err)
	}
	if got := causeOf(t, f, "another passphrase"); got != "" {
		t.Error(got)
	}
}

func TestAPassphraseIsNeitherShortNorEndless(t *testing.T) {
	for _, text := range []string{"", "1234567", strings.Repeat("x", mostPassphrase+1), "\xff\xfe\xfd\xfc\xff\xfe\xfd\xfc"} {
		if _, err := NewPassphrase(text); err == nil {
			t.Errorf("%.20q was taken", text)
		}
	}
}

func TestAFileThatIsNotAsItShouldBeLetsNobodyDecide(t *testing.T) {
	c := newClock()
	k := cheap(right)
	good, err := json.Marshal(map[string]any{"version": 1, "kind": "passphrase", "passphrase": k.d.Passphrase})
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string, mode os.FileMode) *File {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, FileName)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return Open(dir, None, c.now)
	}
	if err := write(string(good), 0o600).Check(t.Context(), right); err != nil {
		t.Fatal(err)
	}
	if err := write(string(good), 0o640).Check(t.Context(), right); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("%v", err)
	}
	for _, text := range []string{
		"", "{", "[]", `{"version":"1"}`, "{}", `{"version":1,"kind":"none"}`, `{"version":1,"kind":"passphrase"}`, `{"version":1,"kind":"totp"}`, `{"version":1,"kind":"totp","totp_secret":"YWJj"}`,
		strings.Replace(string(good), `"version":1`, `"version":2`, 1), strings.Replace(string(good), `{`, `{"more":1,`, 1),
		strings.Replace(string(good), "m=8192", "m=1", 1), strings.Replace(string(good), "m=8192", "m=4294967295", 1), strings.Replace(string(good), "t=1", "t=0", 1),
		strings.Replace(string(good), "v=19", "v=18", 1), strings.Repeat(" ", maxFile+1),
	} {
		err := write(text, 0o600).Check(t.Context(), right)
		if err == nil {
			t.Errorf("%.60q let somebody decide", text)
			continue
		}
		if words := err.Error(); strings.Contains(words, "json:") || strings.Contains(words, "jsontext") || !strings.Contains(words, FileName) {
			t.Errorf("%.60q: %s", text, words)
		}
	}
}

func FuzzNoFileIsMisread(f *testing.F) {
	k, err := NewPassphrase(right)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"version":1,"kind":"passphrase","passphrase":"` + k.d.Passphrase + `"}`)
	f.Add(`{"version":1,"kind":"totp","totp_secret":"MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=","totp_used":7,"failures":3,"last_failure":"2031-01-02T03:04:05Z"}`)
	f.Add(`{"version":1,"kind":"passphrase","passphrase":"$argon2id$v=19$m=65536,t=3,p=4$$"}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse([]byte(text))
		if err != nil {
			return
		}
		switch d.Kind {
		case Passphrase:
			h, err := parseHash(d.Passphrase)
			if err != nil || h.memory > mostMemory || h.time > mostTime || h.String() != d.Passphrase {
				t.Errorf("%+v %v", h, err)
			}
		case TOTP:
			if len(d.Secret) < leastSecret {
				t.Errorf("%d bytes of a secret", len(d.Secret))
			}
		case None:
			t.Error("a file that asks for nothing")
		}
	})
}
