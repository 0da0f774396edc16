package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
)

// Prefix begins every secret.
const Prefix = "gbx_"

// secretBytes are the random bytes of a secret.
const secretBytes = 32

func encode(b []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// newSecret makes a secret.
func newSecret() string {
	var b [secretBytes]byte
	// Since Go 1.24 rand.Read never returns an error: it ends the process.
	_, _ = rand.Read(b[:])
	body := Prefix + encode(b[:])
	return body + checksum(body)
}

func checksum(body string) string {
	return encode(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body))))
}

// lengths of a secret's parts in base32.
const (
	bodyDigits     = (secretBytes*8 + 4) / 5
	checksumDigits = 7
)

// WellFormed reports whether s can be a secret: whether it is whole. It says nothing
// about whether there is such a token.
func WellFormed(s string) bool {
	if len(s) != len(Prefix)+bodyDigits+checksumDigits || !strings.HasPrefix(s, Prefix) {
		return false
	}
	body := s[:len(Prefix)+bodyDigits]
	return checksum(body) == s[len(body):]
}

// Hash is the SHA-256 of a secret, which is what is kept of it.
type Hash [sha256.Size]byte

// HashOf is the hash of a secret.
func HashOf(secret string) Hash { return sha256.Sum256([]byte(secret)) }

// MarshalText implements [encoding.TextMarshaler].
func (h Hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(h) {
		return fmt.Errorf("%.80q is no SHA-256 in hexadecimal", text)
	}
	copy(h[:], b)
	return nil
}
