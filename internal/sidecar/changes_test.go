//go:build linux

package sidecar_test

import (
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

var byHand = execution.Client{Name: "gearbox token", Version: "test"}

// configEvents are those of a data directory, which hold no secret.
func configEvents(t *testing.T, o sidecar.Options, secrets ...string) []audit.Event {
	t.Helper()
	r, err := sidecar.OpenRecords(t.Context(), o, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var all []audit.Event
	for entry, err := range r.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if hash := token.HashOf(s); strings.Contains(string(entry.Text), s) || strings.Contains(string(entry.Text), hex.EncodeToString(hash[:])) {
				t.Errorf("the secret is in %s", entry.Text)
			}
		}
		if e, err := entry.Event(); err != nil {
			t.Error(err)
		} else if e.Type == audit.Config {
			all = append(all, e)
		}
	}
	return all
}

func TestTokensThatAreMadeAndRevokedAreInTheRecord(t *testing.T) {
	o := sidecar.Options{DataDir: t.TempDir()}
	secret, _, err := sidecar.CreateToken(t.Context(), o, byHand, "ci", token.Rights{Gear: "restricted", Rate: 60}, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := sidecar.CreateToken(t.Context(), o, byHand, "ci", token.Rights{}, time.Time{}); !errors.Is(err, token.ErrTaken) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := sidecar.RevokeToken(t.Context(), o, byHand, "ci"); err != nil {
		t.Fatal(err)
	}
	if _, err := sidecar.RevokeToken(t.Context(), o, byHand, "nobody"); !errors.Is(err, token.ErrUnknown) {
		t.Errorf("an unknown one: %v", err)
	}
	events := configEvents(t, o, secret)
	if len(events) != 2 {
		t.Fatalf("%+v", events)
	}
	for i, decision := range []string{"made", "revoked"} {
		e := events[i]
		if e.Decision != decision || e.Principal != execution.Local || e.Client != byHand || e.Details["principal"] != "token:ci" ||
			e.Details["ceiling"] != "restricted" || e.Details["rate"] != "60" || e.Details["expires"] == "" {
			t.Errorf("%+v", e)
		}
	}
}

func TestATokenThatCannotBeRecordedIsNotMadeAndOneIsRevokedAllTheSame(t *testing.T) {
	o := sidecar.Options{DataDir: t.TempDir()}
	if _, _, err := sidecar.CreateToken(t.Context(), o, byHand, "old", token.Rights{}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	records := filepath.Join(o.DataDir, store.File)
	if err := os.WriteFile(records, []byte(strings.Repeat("not a database, ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sidecar.CreateToken(t.Context(), o, byHand, "new", token.Rights{}, time.Time{}); !errors.Is(err, store.ErrForeign) {
		t.Errorf("made: %v", err)
	}
	if _, err := sidecar.RevokeToken(t.Context(), o, byHand, "old"); !errors.Is(err, store.ErrForeign) || !strings.Contains(err.Error(), "is revoked") {
		t.Errorf("revoked: %v", err)
	}
	register, err := sidecar.Tokens(o)
	if err != nil {
		t.Fatal(err)
	}
	all, err := register.List()
	if err != nil || len(all) != 1 || all[0].Revoked.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	if err := os.Remove(records); err != nil {
		t.Fatal(err)
	}
	if _, err := sidecar.RevokeToken(t.Context(), o, byHand, "old"); err != nil {
		t.Error(err)
	}
	if events := configEvents(t, o); len(events) != 1 || events[0].Decision != "revoked" {
		t.Errorf("%+v", events)
	}
}

// unwritable takes a change up and cannot keep it.
type unwritable struct{ err error }

func (unwritable) Load() ([]token.Token, error) { return nil, nil }

func (u unwritable) Update(change func([]token.Token) ([]token.Token, error)) error {
	_, err := change(nil)
	return errors.Join(err, u.err)
}

func TestATokenThatCannotBeWrittenIsRecordedAsNotMade(t *testing.T) {
	o := sidecar.Options{DataDir: t.TempDir()}
	s, err := store.Open(t.Context(), store.Options{Dir: o.DataDir})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := sidecar.CreateTokenIn(t.Context(), s, unwritable{full}, "ci"); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	events := configEvents(t, o)
	if len(events) != 2 || events[0].Decision != "made" || events[1].Decision != "failed" || !strings.Contains(events[1].Reason, "disk is full") {
		t.Errorf("%+v", events)
	}
}

// begin starts what a transport makes of the options, and ends it.
func begin(t *testing.T, o sidecar.Options) {
	t.Helper()
	s, err := tryOpen(t, o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Transport == sidecar.TransportHTTP {
		server, err := s.ListenWeb(t.Context(), sidecar.WebOptions{HTTP: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAServerThatNeverListensHasNotStarted(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	o := sidecar.Options{DataDir: t.TempDir(), Transport: sidecar.TransportHTTP}
	s := open(t, o)
	for name, w := range map[string]sidecar.WebOptions{
		"for everybody without tokens": {HTTP: "0.0.0.0:0"},
		"without a certificate":        {HTTP: "127.0.0.1:0", TLSCert: "/none.pem", TLSKey: "/none.key"},
		"a port in use":                {HTTP: taken.Addr().String()},
		"a socket in nobody's place":   {HTTP: "127.0.0.1:0", Unix: "/none/s.sock"},
		"no origin":                    {HTTP: "127.0.0.1:0", Origins: []string{"*"}},
	} {
		if server, err := s.ListenWeb(t.Context(), w, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: it listens at %v", name, server.Addresses())
		}
	}
	if events := configEvents(t, o); len(events) != 0 {
		t.Errorf("%+v", events)
	}
}

func TestAServerWhoseStartCannotBeRecordedDoesNotListen(t *testing.T) {
	o := sidecar.Options{DataDir: t.TempDir(), Transport: sidecar.TransportHTTP}
	s := open(t, o)
	s.CloseRecords(t)
	socket := filepath.Join(t.TempDir(), "s.sock")
	if _, err := s.ListenWeb(t.Context(), sidecar.WebOptions{Unix: socket}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "record the start") {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
}

func TestAServerRecordsWhatItStartsWithAndCommandsDoNot(t *testing.T) {
	o := sidecar.Options{DataDir: t.TempDir(), Gear: "restricted", Settings: execution.DigestOf([]byte("settings"))}
	for _, transport := range []sidecar.Transport{
		sidecar.TransportExec, sidecar.TransportStdio, sidecar.TransportDoctor, sidecar.TransportHTTP, sidecar.TransportExplain,
	} {
		o.Transport = transport
		begin(t, o)
	}
	o.Transport, o.Deny = sidecar.TransportHTTP, []string{"import(json)"}
	begin(t, o)
	events := configEvents(t, o)
	if len(events) != 3 {
		t.Fatalf("%+v", events)
	}
	for i, transport := range []string{"stdio", "http", "http"} {
		e := events[i]
		if e.Gear != "restricted" || e.Details["transport"] != transport || e.Details["settings"] != o.Settings.String() || e.Client.Version != "test" || e.Instance == "" {
			t.Errorf("%+v", e)
		}
	}
	if one, two, three := events[0].Details, events[1].Details, events[2].Details; one["new"] != two["new"] || two["new"] == three["new"] || two["rules"] == three["rules"] {
		t.Errorf("%v\n%v\n%v", one, two, three)
	}
}
