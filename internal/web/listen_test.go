package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/token"
)

func TestWithoutTokensOnlyLoopbackIsListenedOn(t *testing.T) {
	s := prepare(t, Config{})
	defer func() { _ = s.Close() }()
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:8080"} {
		err := s.ListenTCP(t.Context(), address, "", "")
		if err == nil || !strings.Contains(err.Error(), "gearbox token create") || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"8080", "localhost", "127.0.0.1:x", "127.0.0.1:99999"} {
		if err := s.ListenTCP(t.Context(), address, "", ""); err == nil || !strings.Contains(err.Error(), "127.0.0.1:8080") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if len(s.Addresses()) != 0 {
		t.Errorf("%v", s.Addresses())
	}
	s.create("a", token.Rights{})
	if err := s.ListenTCP(t.Context(), "0.0.0.0:0", "", ""); err != nil {
		t.Error(err)
	}
	if !strings.Contains(s.book.String(), "unencrypted") {
		t.Error("nobody is warned")
	}
}

func TestBeyondLoopbackATokenIsNeededWhateverBecomesOfTheFile(t *testing.T) {
	dir := t.TempDir()
	s := prepare(t, Config{})
	s.tokens = token.NewRegister(token.OpenFile(dir), time.Now)
	s.bearer.tokens, s.c.Tokens = s.tokens, s.tokens
	s.create("a", token.Rights{})
	if err := s.ListenTCP(t.Context(), "0.0.0.0:0", "", ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, token.FileName)); err != nil {
		t.Fatal(err)
	}
	s.run()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
	if got := s.askBy(client(t), http.MethodPost, "http://127.0.0.1:"+port+"/mcp", ""); got.status != http.StatusUnauthorized {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// both serves on loopback and on a socket.
func both(t *testing.T, path string) *site {
	t.Helper()
	s := prepare(t, Config{})
	if err := s.ListenTCP(t.Context(), "127.0.0.1:0", "", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.ListenUnix(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	s.run()
	return s
}

// private is a directory that is this user's own, with a short path.
func private(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "web")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestTwoListenersAnswerAtOnce(t *testing.T) {
	path := filepath.Join(private(t), "s.sock")
	s := both(t, path)
	if st, err := os.Lstat(path); err != nil || st.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	unix := overUnix(t, path)
	if got := s.askBy(unix, http.MethodPost, "http://gearbox/mcp", ""); got.body != "local POST" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.ask(http.MethodPost, "/mcp", ""); got.body != "local POST" {
		t.Errorf("%d %s", got.status, got.body)
	}
	// With tokens the kernel's word is as good as one, and a token still counts.
	secret := s.create("a", token.Rights{})
	if got := s.askBy(unix, http.MethodPost, "http://gearbox/mcp", ""); got.body != "local POST" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.askBy(unix, http.MethodPost, "http://gearbox/mcp", "", "Authorization", "Bearer "+secret); got.body != "token:a POST" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.askBy(unix, http.MethodPost, "http://gearbox/mcp", "", "Authorization", "Bearer x"); got.status != http.StatusUnauthorized {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.ask(http.MethodPost, "/mcp", ""); got.status != http.StatusUnauthorized {
		t.Errorf("%d %s", got.status, got.body)
	}
	// No page talks over a socket, so that one that does is brought here by somebody.
	if got := s.askBy(unix, http.MethodGet, "http://gearbox/healthz", "", "Origin", "http://gearbox"); got.status != http.StatusForbidden {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestTheSocketGoesWithTheServer(t *testing.T) {
	path := filepath.Join(private(t), "s.sock")
	s := prepare(t, Config{})
	if err := s.ListenUnix(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) { //nolint:forbidigo // Lstat does not wrap
		t.Errorf("%v", err)
	}
}

func TestAStaleSocketIsReplacedAndALivingOneIsNot(t *testing.T) {
	path := filepath.Join(private(t), "s.sock")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	first := prepare(t, Config{})
	if err := first.ListenUnix(t.Context(), path); err == nil || !strings.Contains(err.Error(), "answers there") {
		t.Fatalf("another program's: %v", err)
	}
	if err := l.Close(); err != nil { // as a dead process leaves it
		t.Fatal(err)
	}
	if err := first.ListenUnix(t.Context(), path); err != nil {
		t.Fatalf("a stale one: %v", err)
	}
	first.run0()
	second := prepare(t, Config{})
	defer func() { _ = second.Close() }()
	if err := second.ListenUnix(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another server has it") {
		t.Errorf("another server's: %v", err)
	}
	if got := first.askBy(overUnix(t, path), http.MethodGet, "http://gearbox/healthz", ""); got.status != http.StatusOK {
		t.Errorf("the first one: %d", got.status)
	}
}

// run0 is run for a server without a URL.
func (s *site) run0() { s.run(); s.url = "" }

func TestWhereOthersCouldPutTheirSocketNoneIsMade(t *testing.T) {
	open := private(t)
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // that is what is tried
		t.Fatal(err)
	}
	file := filepath.Join(private(t), "file")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		filepath.Join(open, "s.sock"): "others may write",
		file:                          "something else",
		filepath.Join(private(t), "not there", "s.sock"): "no such file",
		filepath.Join(file, "s.sock"):                    "not a directory",
	} {
		s := prepare(t, Config{})
		if err := s.ListenUnix(t.Context(), path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
		t.Errorf("%q %v", text, err)
	}
}

// issue writes a certificate for 127.0.0.1 and its key.
func issue(t *testing.T, dir, name string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path+".new", pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

func trusting(t *testing.T, pool *x509.CertPool) *http.Client {
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestTLSByFilesThatAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	cert, key, pool := issue(t, dir, "first.example")
	s := prepare(t, Config{})
	if err := s.ListenTCP(t.Context(), "127.0.0.1:0", cert, key); err != nil {
		t.Fatal(err)
	}
	s.run()
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatal(s.url)
	}
	if got := s.askBy(trusting(t, pool), http.MethodGet, s.url+"/healthz", "", "Origin", s.url); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.askBy(trusting(t, pool), http.MethodGet, s.url+"/healthz", "", "Origin", strings.Replace(s.url, "https", "http", 1)); got.status != http.StatusForbidden {
		t.Errorf("a page that came unencrypted: %d", got.status)
	}
	_, _, renewed := issue(t, dir, "second.example")
	if got := s.askBy(trusting(t, renewed), http.MethodGet, s.url+"/healthz", ""); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	// A renewal that failed half-way takes nothing away.
	if err := os.WriteFile(key, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.askBy(trusting(t, renewed), http.MethodGet, s.url+"/healthz", ""); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestTLSThatCannotWorkIsRefusedAtTheStart(t *testing.T) {
	cert, key, _ := issue(t, t.TempDir(), "x.example")
	other, _, _ := issue(t, t.TempDir(), "y.example")
	for _, files := range [][2]string{{cert, ""}, {"", key}, {cert, "/not/there"}, {other, key}, {key, cert}} {
		s := prepare(t, Config{})
		if err := s.ListenTCP(t.Context(), "127.0.0.1:0", files[0], files[1]); err == nil || !strings.Contains(err.Error(), "--tls-") {
			t.Errorf("%v: %v", files, err)
		}
		_ = s.Close()
	}
}
