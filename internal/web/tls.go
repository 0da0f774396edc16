package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// certificate is a certificate in files. They are read again when they change, so that
// a renewed one counts without a restart.
type certificate struct {
	cert, key string

	mu     sync.Mutex // guards what follows
	seen   [2]fs.FileInfo
	loaded *tls.Certificate
}

// tlsConfig is nil when there are no files.
func tlsConfig(cert, key string) (*tls.Config, error) {
	if cert == "" && key == "" {
		return nil, nil
	}
	if cert == "" || key == "" {
		return nil, errors.New("--tls-cert and --tls-key go together: name the file of the certificate and that of its key")
	}
	c := &certificate{cert: cert, key: key}
	if _, err := c.current(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current() },
	}, nil
}

// current is the certificate that the files hold. While they do not fit together, as in
// the moment of a renewal, it is the one before.
func (c *certificate) current() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	certSeen, certErr := os.Stat(c.cert)
	keySeen, keyErr := os.Stat(c.key)
	if err := errors.Join(certErr, keyErr); err != nil {
		return c.before(err)
	}
	if c.loaded != nil && unchanged(c.seen[0], certSeen) && unchanged(c.seen[1], keySeen) {
		return c.loaded, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return c.before(err)
	}
	c.loaded, c.seen = &pair, [2]fs.FileInfo{certSeen, keySeen}
	return c.loaded, nil
}

func (c *certificate) before(err error) (*tls.Certificate, error) {
	if c.loaded != nil {
		return c.loaded, nil
	}
	return nil, fmt.Errorf("TLS with --tls-cert %s and --tls-key %s: %w", c.cert, c.key, err)
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
