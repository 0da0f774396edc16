package token

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func create(t *testing.T, r *Register, name string, rights Rights, expires time.Time) string {
	t.Helper()
	secret, _, err := r.Create(name, rights, expires)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestATokenIsRecognisedWithAllItsRights(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	r := NewRegister(OpenFile(dir), c.now)
	rights := Rights{
		Gear: "restricted", Tools: []string{"execute", "get_operation"}, Languages: []execution.Language{execution.Python},
		Rate: 60, Concurrency: 4,
	}
	secret := create(t, r, "ci", rights, c.now().Add(time.Hour))
	if !WellFormed(secret) || !strings.HasPrefix(secret, Prefix) {
		t.Fatalf("%q", secret)
	}
	got, err := NewRegister(OpenFile(dir), c.now).Verify(secret) // as another process reads it
	if err != nil {
		t.Fatal(err)
	}
	if got.Principal() != "token:ci" || got.Gear != rights.Gear || got.Rate != 60 || got.Concurrency != 4 ||
		!slices.Equal(got.Tools, rights.Tools) || !slices.Equal(got.Languages, rights.Languages) {
		t.Errorf("%+v", got)
	}
	if of, err := r.Of("token:ci"); err != nil || of.Hash != got.Hash {
		t.Errorf("%+v %v", of, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil || strings.Contains(string(text), secret) || strings.Contains(string(text), secret[len(Prefix):]) {
		t.Errorf("the secret is in the file (%v)", err)
	}
}

func TestWhatIsNotAValidTokenIsRefusedAlike(t *testing.T) {
	c := newClock()
	r := NewRegister(OpenFile(t.TempDir()), c.now)
	short := create(t, r, "short", Rights{}, c.now().Add(time.Minute))
	gone := create(t, r, "gone", Rights{}, time.Time{})
	good := create(t, r, "good", Rights{}, time.Time{})
	c.pass(time.Minute)
	if _, err := r.Revoke("gone"); err != nil {
		t.Fatal(err)
	}
	last := good[len(good)-1]
	for name, secret := range map[string]string{
		"empty": "", "unknown": newSecret(), "expired": short, "revoked": gone, "cut": good[:len(good)-1], "longer": good + "a",
		"damaged": good[:len(good)-1] + string(last^1), "capitals": strings.ToUpper(good), "its hash": HashOf(good).String(),
	} {
		if _, err := r.Verify(secret); !errors.Is(err, ErrRefused) || err.Error() != ErrRefused.Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Verify(good); err != nil {
		t.Error(err)
	}
	for _, p := range []execution.Principal{"token:gone", "token:short", "token:nobody", "good", execution.Local} {
		if _, err := r.Of(p); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func (h Hash) String() string { b, _ := h.MarshalText(); return string(b) }

func TestARevocationByAnotherProcessCountsAtOnce(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	server, commands := NewRegister(OpenFile(dir), c.now), NewRegister(OpenFile(dir), c.now)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} { // changes within one tick of the file system's clock
		secret := create(t, commands, name, Rights{}, time.Time{})
		if _, err := server.Verify(secret); err != nil {
			t.Fatalf("%s right after it was made: %v", name, err)
		}
		if _, err := commands.Revoke(name); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Verify(secret); !errors.Is(err, ErrRefused) {
			t.Fatalf("%s right after it was revoked: %v", name, err)
		}
	}
}

func TestANameIsUsedOnceAlsoAfterItsTokenWasRevoked(t *testing.T) {
	r := NewRegister(OpenFile(t.TempDir()), newClock().now)
	create(t, r, "ci", Rights{}, time.Time{})
	for range 2 {
		if _, _, err := r.Create("ci", Rights{}, time.Time{}); !errors.Is(err, ErrTaken) {
			t.Errorf("%v", err)
		}
		if _, err := r.Revoke("ci"); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Revoke("other"); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
}

func TestRevokingAgainKeepsTheFirstTime(t *testing.T) {
	c := newClock()
	r := NewRegister(OpenFile(t.TempDir()), c.now)
	create(t, r, "ci", Rights{}, time.Time{})
	first, err := r.Revoke("ci")
	if err != nil {
		t.Fatal(err)
	}
	c.pass(time.Hour)
	if again, err := r.Revoke("ci"); err != nil || !again.Revoked.Equal(first.Revoked) {
		t.Errorf("%v %v", again.Revoked, err)
	}
}

func TestImpossibleTokensAreNotMade(t *testing.T) {
	c := newClock()
	r := NewRegister(OpenFile(t.TempDir()), c.now)
	for _, row := range []struct {
		name    string
		rights  Rights
		expires time.Time
		says    string
	}{
		{name: "", says: "name"},
		{name: "CI", says: "small letters"},
		{name: "a b", says: "small letters"},
		{name: "../x", says: "small letters"},
		{name: "-x", says: "first"},
		{name: strings.Repeat("x", 64), says: "63"},
		{name: "x", rights: Rights{Rate: -1}, says: "rate"},
		{name: "x", rights: Rights{Concurrency: -1}, says: "concurrency"},
		{name: "x", rights: Rights{Languages: []execution.Language{"perl"}}, says: "perl"},
		{name: "x", expires: c.now(), says: "expires"},
	} {
		if _, _, err := r.Create(row.name, row.rights, row.expires); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%+v: %v", row, err)
		}
	}
	if all, err := r.List(); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
}

func TestLastUseIsKeptCoarsely(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	r := NewRegister(OpenFile(dir), c.now)
	secret := create(t, r, "ci", Rights{}, time.Time{})
	use := func() time.Time {
		t.Helper()
		got, err := r.Verify(secret)
		if err == nil {
			err = r.Used(got)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, _ = r.Of("token:ci")
		return got.LastUsed
	}
	first := use()
	if !first.Equal(c.now()) {
		t.Fatalf("%v", first)
	}
	c.pass(Coarse - time.Second)
	if !use().Equal(first) {
		t.Error("every use is written")
	}
	c.pass(time.Second)
	if !use().Equal(c.now()) {
		t.Error("a later use is not seen")
	}
}

func TestTokensMadeAtOnceByManyAreAllKept(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r := NewRegister(OpenFile(dir), c.now) // as a process of its own would
			for j := range 4 {
				if _, _, err := r.Create(string(rune('a'+i))+string(rune('0'+j)), Rights{}, time.Time{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if tokens, err := OpenFile(dir).Load(); err != nil || len(tokens) != 32 {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
}

func TestAFileThatCannotBeTrustedLetsNobodyIn(t *testing.T) {
	c := newClock()
	for name, spoil := range map[string]func(path string) error{
		"open to others": func(path string) error { return os.Chmod(path, 0o644) },
		"a directory":    func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"not JSON":       func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"of the future":  func(path string) error { return os.WriteFile(path, []byte(`{"version":2,"tokens":[]}`), 0o600) },
		"unknown right": func(path string) error {
			return os.WriteFile(path, []byte(`{"version":1,"tokens":[{"name":"x","sha256":"`+HashOf("x").String()+`","created":"2026-01-01T00:00:00Z","only_on_monday":true}]}`), 0o600)
		},
	} {
		dir := t.TempDir()
		r := NewRegister(OpenFile(dir), c.now)
		secret := create(t, r, "ci", Rights{}, time.Time{})
		path := filepath.Join(dir, FileName)
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Verify(secret); err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := r.Create("more", Rights{}, time.Time{}); err == nil {
			t.Errorf("%s: a token was added", name)
		}
	}
}

func FuzzWhatIsReadIsWrittenTheSame(f *testing.F) {
	f.Add([]byte(`{"version":1,"tokens":[]}`))
	f.Add([]byte(`{"version":1,"tokens":[{"name":"ci","sha256":"` + HashOf("x").String() + `","gear":"restricted","tools":["execute"],"languages":["python"],"rate_per_minute":6,"concurrency":2,"created":"2026-01-01T00:00:00Z","expires":"2027-01-01T00:00:00Z"}]}`))
	f.Add([]byte(`{"version":1,"tokens":[{"name":"a","Name":"b"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tokens, err := parse(text)
		if err != nil {
			return
		}
		dir := t.TempDir()
		file := OpenFile(dir)
		if err := file.Update(func([]Token) ([]Token, error) { return tokens, nil }); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := OpenFile(dir).Load()
		if err != nil || len(again) != len(tokens) {
			t.Fatalf("%d tokens became %d: %v", len(tokens), len(again), err)
		}
		for i := range tokens {
			if again[i].Name != tokens[i].Name || again[i].Hash != tokens[i].Hash || again[i].Valid(time.Unix(1e9, 0)) != tokens[i].Valid(time.Unix(1e9, 0)) {
				t.Fatalf("%+v became %+v", tokens[i], again[i])
			}
		}
	})
}

func FuzzNothingButItsOwnSecretOpensAToken(f *testing.F) {
	c := newClock()
	r := NewRegister(OpenFile(f.TempDir()), c.now)
	secret, _, err := r.Create("ci", Rights{}, time.Time{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(secret)
	f.Add(secret[:20])
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := r.Verify(s); (err == nil) != (s == secret) {
			t.Errorf("%q: %v", s, err)
		}
	})
}

func TestAnOperatorsTokenIsNoAgents(t *testing.T) {
	dir := t.TempDir()
	r := NewRegister(OpenFile(dir), time.Now)
	secret, made, err := r.Create("boss", Rights{Role: Operator}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := NewRegister(OpenFile(dir), time.Now).Verify(secret); err != nil || got.Role != Operator {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := r.Of(made.Principal()); !errors.Is(err, ErrRefused) {
		t.Errorf("it may have code run: %v", err)
	}
	for _, rights := range []Rights{
		{Role: "root"},
		{Role: Operator, Gear: "restricted"},
		{Role: Operator, Tools: []string{"execute"}},
		{Role: Operator, Languages: []execution.Language{execution.Python}},
		{Role: Operator, Rate: 1},
		{Role: Operator, Concurrency: 1},
	} {
		if _, _, err := r.Create("x", rights, time.Time{}); err == nil {
			t.Errorf("%+v was made", rights)
		}
	}
}
