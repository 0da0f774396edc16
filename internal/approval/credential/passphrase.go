package credential

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The bounds of a passphrase: below it is guessed, above it is no passphrase.
const (
	LeastPassphrase = 8 // in characters
	mostPassphrase  = 1024
)

// What a try costs: the second choice of RFC 9106, a part of a second and 64 MiB.
const (
	argonTime    = 3
	argonMemory  = 64 << 10 // in KiB
	argonThreads = 4
	saltBytes    = 16
	hashBytes    = 32
	// The most that a file may ask for.
	mostTime   = 20
	mostMemory = 1 << 20
)

// CheckPassphrase says what is wrong with a passphrase that somebody wants to set.
func CheckPassphrase(text string) error {
	switch {
	case !utf8.ValidString(text) || len(text) > mostPassphrase:
		return fmt.Errorf("a passphrase is text of at most %d bytes", mostPassphrase)
	case utf8.RuneCountInString(text) < LeastPassphrase:
		return fmt.Errorf("a passphrase has at least %d characters", LeastPassphrase)
	}
	return nil
}

// NewPassphrase makes a credential of what the operator chose. The error is that of
// [CheckPassphrase].
func NewPassphrase(text string) (Key, error) {
	if err := CheckPassphrase(text); err != nil {
		return Key{}, err
	}
	h := hash{time: argonTime, memory: argonMemory, threads: argonThreads, salt: make([]byte, saltBytes)}
	// Since Go 1.24 rand.Read never returns an error: it ends the process.
	_, _ = rand.Read(h.salt)
	h.sum = h.of(text, hashBytes)
	return Key{document{Kind: Passphrase, Passphrase: h.String()}}, nil
}

// matches reports whether text is the passphrase of a hash.
func matches(phc, text string) (bool, error) {
	h, err := parseHash(phc)
	if err != nil || len(text) > mostPassphrase {
		return false, err
	}
	return subtle.ConstantTimeCompare(h.sum, h.of(text, len(h.sum))) == 1, nil
}

// hash is an Argon2id hash with what it was made with.
type hash struct {
	time, memory uint32
	threads      uint8
	salt, sum    []byte
}

func (h hash) of(text string, n int) []byte {
	return argon2.IDKey([]byte(text), h.salt, h.time, h.memory, h.threads, uint32(n))
}

// String is the PHC string format.
func (h hash) String() string {
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads, e.EncodeToString(h.salt), e.EncodeToString(h.sum))
}

func parseHash(phc string) (h hash, err error) {
	bad := errors.New("this is no Argon2id hash in the PHC string format")
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return hash{}, bad
	}
	var version int
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return hash{}, bad
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil {
		return hash{}, bad
	}
	var saltErr, sumErr error
	h.salt, saltErr = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	h.sum, sumErr = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	switch {
	case errors.Join(saltErr, sumErr) != nil || h.String() != phc,
		h.time < 1 || h.time > mostTime || h.memory < argonMemory/8 || h.memory > mostMemory || h.threads < 1,
		len(h.salt) < 8 || len(h.sum) < 16 || len(h.sum) > 64:
		return hash{}, bad
	}
	return h, nil
}
