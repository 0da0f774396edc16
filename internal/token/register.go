package token

import (
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Coarse is how exactly the last use of a token is known. Knowing it better would
// cost a write for every request.
const Coarse = 10 * time.Minute

// Store keeps the list of tokens. It is safe for concurrent use.
type Store interface {
	// Load is the list as it is now, whichever process wrote it. The caller does not
	// change it.
	Load() ([]Token, error)
	// Update replaces the list by what change makes of it, in one step: no other
	// process writes in between, and what is lost is nothing or the whole step. When
	// change fails, its error is returned and nothing is written.
	Update(change func([]Token) ([]Token, error)) error
}

// Register makes, recognises and revokes tokens. It is safe for concurrent use.
type Register struct {
	store Store
	now   func() time.Time
}

// NewRegister makes a Register over a store.
func NewRegister(s Store, now func() time.Time) *Register { return &Register{s, now} }

// Create makes a token. The secret is returned here and never again. The error wraps
// [ErrTaken] when the name was ever used.
func (r *Register) Create(name string, rights Rights, expires time.Time) (secret string, t Token, err error) {
	secret = newSecret()
	now := r.now().UTC().Truncate(time.Second)
	t = Token{Name: name, Hash: HashOf(secret), Rights: rights, Created: now, Expires: expires.UTC().Truncate(time.Second)}
	if expires.IsZero() {
		t.Expires = time.Time{}
	}
	if err := t.check(); err != nil {
		return "", Token{}, err
	}
	if !t.Valid(now) {
		return "", Token{}, fmt.Errorf("a token that expires at %s is of no use: name a time to come", t.Expires.Format(time.RFC3339))
	}
	err = r.store.Update(func(all []Token) ([]Token, error) {
		if i := slices.IndexFunc(all, called(name)); i >= 0 {
			return nil, fmt.Errorf("%w: a token called %s was made on %s, and operations belong to it: choose another name",
				ErrTaken, name, all[i].Created.Format(time.DateOnly))
		}
		return append(slices.Clone(all), t), nil
	})
	if err != nil {
		return "", Token{}, err
	}
	return secret, t, nil
}

// Revoke takes a token back for good. Revoking it again changes nothing. The error
// wraps [ErrUnknown] when no token has the name.
func (r *Register) Revoke(name string) (Token, error) {
	var t Token
	err := r.store.Update(func(all []Token) ([]Token, error) {
		all = slices.Clone(all)
		i := slices.IndexFunc(all, called(name))
		if i < 0 {
			return nil, fmt.Errorf("%w as %.80q", ErrUnknown, name)
		}
		if all[i].Revoked.IsZero() {
			all[i].Revoked = r.now().UTC().Truncate(time.Second)
		}
		t = all[i]
		return all, nil
	})
	return t, err
}

// List is every token, also those that are revoked or expired.
func (r *Register) List() ([]Token, error) { return r.store.Load() }

// Verify finds the token of a secret. The error is a *[RefusedError], or says that the
// register cannot be read.
func (r *Register) Verify(secret string) (Token, error) {
	all, err := r.store.Load()
	if err != nil {
		return Token{}, err
	}
	// All are compared, and each in constant time, so that nothing is learnt from how
	// long it takes.
	found, hash := -1, HashOf(secret)
	for i := range all {
		if subtle.ConstantTimeCompare(all[i].Hash[:], hash[:]) == 1 {
			found = i
		}
	}
	switch whole := WellFormed(secret); {
	case !whole:
		return Token{}, &RefusedError{Reason: "malformed"}
	case found < 0:
		return Token{}, &RefusedError{Reason: "unknown"}
	case !all[found].Revoked.IsZero():
		return Token{}, &RefusedError{all[found].Name, "revoked"}
	case !all[found].Valid(r.now()):
		return Token{}, &RefusedError{all[found].Name, "expired"}
	}
	return all[found], nil
}

// Of is the valid token that a principal has code run by. The error is [ErrRefused] when
// there is none, as for an operator's, or says that the register cannot be read.
func (r *Register) Of(p execution.Principal) (Token, error) {
	name, ok := strings.CutPrefix(string(p), principalPrefix)
	if !ok {
		return Token{}, ErrRefused
	}
	all, err := r.store.Load()
	if err != nil {
		return Token{}, err
	}
	i := slices.IndexFunc(all, called(name))
	if i < 0 || !all[i].Valid(r.now()) || all[i].Role != Agent {
		return Token{}, ErrRefused
	}
	return all[i], nil
}

// Used notes that a token was used.
func (r *Register) Used(t Token) error {
	now := r.now().UTC().Truncate(time.Second)
	if now.Sub(t.LastUsed) < Coarse {
		return nil
	}
	return r.store.Update(func(all []Token) ([]Token, error) {
		all = slices.Clone(all)
		if i := slices.IndexFunc(all, called(t.Name)); i >= 0 && now.After(all[i].LastUsed) {
			all[i].LastUsed = now
		}
		return all, nil
	})
}

func called(name string) func(Token) bool { return func(t Token) bool { return t.Name == name } }
