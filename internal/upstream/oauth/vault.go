package oauth

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/oauth2"
)

// Server is what a grant is for.
type Server struct {
	Name, URL string
	// ClientID and ClientSecret are those of a client that was registered beforehand;
	// empty to register one.
	ClientID, ClientSecret string
	Scopes                 []string // empty is what the server asks for
}

// Grant is what a login gave: a token, and what renews it.
type Grant struct {
	Resource     string           `json:"resource"` // RFC 8707
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	TokenURL     string           `json:"token_url"`
	Style        oauth2.AuthStyle `json:"auth_style"`
	Scopes       []string         `json:"scopes,omitempty"`
	Token        *oauth2.Token    `json:"token"`
}

// Vault keeps grants in a data directory. Several processes may use one.
type Vault struct {
	folder string
	key    string // the file
}

const (
	lockTime  = 10 * time.Second
	lockPause = 20 * time.Millisecond
	// maxGrant bounds a file that is read.
	maxGrant = 1 << 20
)

// Open is the vault of a data directory, which must exist. Nothing is written before the
// first login.
func Open(dataDir string) *Vault {
	return &Vault{folder: filepath.Join(dataDir, "oauth"), key: filepath.Join(dataDir, "oauth.key")}
}

// path is the file of a grant. One for another address is another one: a token is for one
// server, whatever it is called.
func (v *Vault) path(s Server) string {
	sum := sha256.Sum256(bound(s))
	return filepath.Join(v.folder, hex.EncodeToString(sum[:16])+".json")
}

// bound is what a sealed grant is bound to.
func bound(s Server) []byte {
	return fmt.Appendf(nil, "gearbox oauth 1\x00%d\x00%s\x00%s", len(s.Name), s.Name, s.URL)
}

// sealed is the content of a file.
type sealed struct {
	Version int    `json:"version"`
	Server  string `json:"server"` // for whoever looks into the folder; what counts is sealed
	Nonce   []byte `json:"nonce"`
	Box     []byte `json:"box"`
}

// Load is the grant for a server. The error is [ErrNone], [ErrUnreadable] or of the files.
func (v *Vault) Load(s Server) (*Grant, error) {
	text, err := readPrivate(v.path(s))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	var box sealed
	if err := json.Unmarshal(text, &box); err != nil || box.Version != 1 || len(box.Nonce) != chacha20poly1305.NonceSizeX {
		return nil, ErrUnreadable
	}
	aead, err := v.open()
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, box.Nonce, box.Box, bound(s))
	if err != nil {
		return nil, ErrUnreadable
	}
	g := &Grant{}
	if err := json.Unmarshal(plain, g); err != nil || g.Token == nil {
		return nil, ErrUnreadable
	}
	return g, nil
}

// save keeps a grant in the place of the one before. The caller holds the lock.
func (v *Vault) save(s Server, g *Grant) error {
	aead, err := v.open()
	if errors.Is(err, fs.ErrNotExist) {
		aead, err = v.create()
	}
	if err != nil {
		return err
	}
	plain, err := json.Marshal(g)
	if err != nil {
		return err
	}
	box := sealed{Version: 1, Server: s.Name, Nonce: make([]byte, chacha20poly1305.NonceSizeX)}
	if _, err := rand.Read(box.Nonce); err != nil {
		return err
	}
	box.Box = aead.Seal(nil, box.Nonce, plain, bound(s))
	text, err := json.Marshal(box)
	if err != nil {
		return err
	}
	return writePrivate(v.path(s), text)
}

// Forget removes the grant for a server, if there is one.
func (v *Vault) Forget(ctx context.Context, s Server) error {
	return v.locked(ctx, func() error {
		if err := os.Remove(v.path(s)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the login for %s: %w", s.Name, err)
		}
		return nil
	})
}

func (v *Vault) open() (cipher.AEAD, error) {
	key, err := readPrivate(v.key)
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it and log in again", v.key, err)
	}
	return aead, nil
}

// create makes the key. The caller holds the lock.
func (v *Vault) create() (cipher.AEAD, error) {
	key := make([]byte, chacha20poly1305.KeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	if err := writePrivate(v.key, key); err != nil {
		return nil, err
	}
	return chacha20poly1305.NewX(key)
}

// locked does something that no other process does meanwhile: a token that renews another
// one can often be used once.
func (v *Vault) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(v.folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of logins: %w", err)
	}
	l := flock.New(filepath.Join(v.folder, ".lock"), flock.SetPermissions(0o600))
	ctx, stop := context.WithTimeout(ctx, lockTime)
	defer stop()
	if ok, err := l.TryLockContext(ctx, lockPause); err != nil || !ok {
		return fmt.Errorf("wait for another process that logs in or renews a login: %w", err)
	}
	defer func() { _ = l.Close() }()
	return do()
}

// readPrivate reads a file that only its owner can read.
func readPrivate(name string) ([]byte, error) {
	i, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case !i.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file; remove it and log in again", name)
	case runtime.GOOS != "windows" && i.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others (mode %o): run chmod 600 on it, and log in again if they may have", name, i.Mode().Perm())
	case i.Size() > maxGrant:
		return nil, fmt.Errorf("%s has %d bytes, which no login has; remove it and log in again", name, i.Size())
	}
	return os.ReadFile(name)
}

// writePrivate writes a file by rename, so that there is the old or the new.
func writePrivate(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
