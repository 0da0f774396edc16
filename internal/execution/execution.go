// Package execution holds the nouns that every other room shares: the identity
// of an operation, who asked, what was asked, the limits it ran under, what the
// kernel measured, and the answer.
//
// Only data and pure functions over it belong here. No room is imported, no
// clock is read, no file is touched; the one source of outside state is
// crypto/rand in [NewID].
package execution

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// ID names one operation. It is unguessable: whoever holds it may read the
// operation, so it is never derived from anything a caller chose.
type ID string

// idBytes gives 160 bits, a whole number of base32 digits.
const idBytes = 20

// NewID mints an ID from the system's random source.
func NewID() ID {
	var b [idBytes]byte
	// Since Go 1.24 rand.Read never returns an error: it ends the process.
	_, _ = rand.Read(b[:])
	return ID("op_" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:])))
}

// Principal is who asked.
type Principal string

// Local is the principal of stdio, of the command line and of HTTP without tokens.
const Local Principal = "local"

// Class is how a principal was told apart from others. Principals of different
// classes never run code that comes from one warm process.
type Class string

// The classes.
const (
	ClassLocal Class = "local" // the operator's own processes
	ClassToken Class = "token" // holders of a token
)

// Class is the class that p is of.
func (p Principal) Class() Class {
	if p == Local {
		return ClassLocal
	}
	return ClassToken
}

// Digest is a SHA-256. The zero Digest names nothing.
type Digest [sha256.Size]byte

// DigestOf hashes parts, each preceded by its length, so that moving a byte
// from one part to the next changes the result.
func DigestOf(parts ...[]byte) Digest {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	return Digest(h.Sum(nil))
}

// IsZero reports whether d names nothing.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is the lower-case hexadecimal form with its algorithm in front.
func (d Digest) String() string { return digestPrefix + hex.EncodeToString(d[:]) }

const digestPrefix = "sha256:"

// MarshalText implements [encoding.TextMarshaler]: the form of String.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Digest) UnmarshalText(text []byte) error {
	digits, found := strings.CutPrefix(string(text), digestPrefix)
	b, err := hex.DecodeString(digits)
	if err != nil || !found || len(b) != len(d) {
		return fmt.Errorf("%.100q is no digest: it is %s and %d hexadecimal digits", text, digestPrefix, 2*len(d))
	}
	*d = Digest(b)
	return nil
}

// Language is what the code is written in.
type Language string

// The languages.
const (
	Python Language = "python"
	Bash   Language = "bash"
	// Tool is none that code is in: the operation is a [Call], and nobody can ask for it
	// by this name.
	Tool Language = "tool"
)

var languageNames = map[string]Language{
	"": Python, "python": Python, "py": Python, "python3": Python,
	"bash": Bash, "sh": Bash, "shell": Bash,
}

// ParseLanguage reads a language name or alias without regard to case. The
// empty string is Python.
func ParseLanguage(s string) (Language, error) {
	l, ok := languageNames[strings.ToLower(strings.TrimSpace(s))]
	if !ok {
		return "", fmt.Errorf("unknown language %q: use python (py, python3) or bash (sh, shell)", s)
	}
	return l, nil
}
