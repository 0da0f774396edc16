package connect

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate makes one for the loopback address, signed by itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestACertificateIsTrustedByItsFileAlone(t *testing.T) {
	cert, key := certificate(t)
	s := serve(t, home(t), "--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	each(t, func(t *testing.T, era string) {
		connect(t, era, nil, "--ca", cert, s.address(t)).reaches()
		text := connect(t, era, nil, "--start-timeout", "1s", s.address(t)).unavailable(s.address(t))
		if !strings.Contains(text, "certificate") {
			t.Errorf("%q", text)
		}
	})
}

func TestAServerBehindAProxyOnAnotherPathIsReachedAndItsAbsenceTold(t *testing.T) {
	s := serve(t, home(t), "--http", "127.0.0.1:0")
	to, err := url.Parse(s.address(t))
	if err != nil {
		t.Fatal(err)
	}
	rewrite := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	proxy := httptest.NewServer(http.StripPrefix("/tools/gearbox", rewrite))
	defer proxy.Close()
	defer proxy.CloseClientConnections()
	each(t, func(t *testing.T, era string) { connect(t, era, nil, proxy.URL+"/tools/gearbox/mcp").reaches() })
	c := connect(t, eras[1], nil, proxy.URL+"/tools/gearbox/mcp")
	c.reaches()
	s.kill(t)
	if res, _ := c.call("execute", map[string]any{"code": "1"}); !res.IsError || !strings.Contains(textOf(res), "went away") {
		t.Errorf("%q", textOf(res)) // the proxy does not tell whether it passed the call on
	}
	if text := c.unavailable(proxy.URL); !strings.Contains(text, "502") {
		t.Errorf("%q", text)
	}
	elsewhere := connect(t, eras[0], nil, "--start-timeout", "1s", proxy.URL+"/nowhere/mcp")
	if text := elsewhere.unavailable(proxy.URL); !strings.Contains(text, "404") {
		t.Errorf("%q", text)
	}
}

// TestWhateverHappensEachCallIsAnsweredAndTheNextServerServes kills servers in an order
// that a seed fixes, between calls and during them.
func TestWhateverHappensEachCallIsAnsweredAndTheNextServerServes(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		const seed = 20261130
		dice := mathrand.New(mathrand.NewPCG(seed, 0))
		path := socketIn(t)
		s := serve(t, home(t), "--unix", path)
		c := connect(t, era, nil, path)
		c.works()
		for range 6 {
			switch dice.IntN(3) {
			case 0: // between calls, and back before the next one
				s.kill(t)
			case 1: // between calls, and missed
				s.kill(t)
				c.unavailable(path)
			case 2: // during some calls
				var open []<-chan *result
				for range 1 + dice.IntN(4) {
					open = append(open, c.begin("execute", map[string]any{"code": "import time\ntime.sleep(600)", "timeout_seconds": 300, "wait_seconds": 600}))
				}
				s.running(t, 1)
				s.kill(t)
				for _, answer := range open {
					if res := <-answer; !res.IsError || !strings.Contains(textOf(res), "unavailable for now") {
						t.Fatalf("%q", textOf(res))
					}
				}
			}
			s = serve(t, home(t), "--unix", path)
			c.works()
		}
	})
}
