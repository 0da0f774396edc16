package token

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Role is what a token is for. No token is for both: whoever has code run must not be the
// one who approves of it.
type Role string

// The roles.
const (
	// Agent has code run, and decides on nothing.
	Agent Role = ""
	// Operator sees what humans are asked and answers it, whoever's operation it is about.
	// It has no operations of its own and cannot run anything.
	Operator Role = "operator"
)

// Rights are what the holder of a token may do at most. The zero Rights leave
// everything to the server's own gear.
type Rights struct {
	Role Role `json:"role,omitzero"`
	// Gear is the ceiling: the stricter of it, the server's gear and the one that a
	// call names holds, permission by permission. Empty means no ceiling.
	Gear string `json:"gear,omitzero"`
	// Tools are those that may be called; empty means all.
	Tools []string `json:"tools,omitempty"`
	// Languages are those that code may be in; empty means all.
	Languages []execution.Language `json:"languages,omitempty"`
	// Rate is how many executions may be started in a minute; 0 leaves it to
	// the server.
	Rate int `json:"rate_per_minute,omitzero"`
	// Concurrency is how many may be under way at once; 0 leaves it to the server.
	Concurrency int `json:"concurrency,omitzero"`
}

// Token is a credential as it is kept. The secret is not in it.
type Token struct {
	Name string `json:"name"`
	Hash Hash   `json:"sha256"`
	Rights
	Created time.Time `json:"created"`
	// Expires is when the token ends by itself; zero for never.
	Expires time.Time `json:"expires,omitzero"`
	// Revoked is when it was taken back; zero if it was not.
	Revoked time.Time `json:"revoked,omitzero"`
	// LastUsed is a time at or shortly before the last use, see [Coarse]; zero for never.
	LastUsed time.Time `json:"last_used,omitzero"`
}

// bounded reports whether anything bounds what the holder may run.
func (r Rights) bounded() bool {
	return r.Gear != "" || len(r.Tools) > 0 || len(r.Languages) > 0 || r.Rate > 0 || r.Concurrency > 0
}

// principalPrefix keeps the names of tokens apart from the operator's own principals.
const principalPrefix = "token:"

// Principal is who the holder is.
func (t Token) Principal() execution.Principal { return execution.Principal(principalPrefix + t.Name) }

// Caller is the holder with what it may use.
func (t Token) Caller() execution.Caller {
	return execution.Caller{Principal: t.Principal(), Tools: slices.Clone(t.Tools), Languages: slices.Clone(t.Languages)}
}

// Valid reports whether the token opens anything at that time.
func (t Token) Valid(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// names are short, and in small letters only, so that no two look alike.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// check finds what is wrong with a token itself.
func (t Token) check() error {
	switch {
	case !names.MatchString(t.Name):
		return fmt.Errorf("%.80q cannot be a token's name: use up to 63 small letters, digits, dots, hyphens and underscores, a letter or digit first", t.Name)
	case t.Rate < 0:
		return fmt.Errorf("a rate of %d per minute: use a number from 1, or none for no limit", t.Rate)
	case t.Concurrency < 0:
		return fmt.Errorf("a concurrency of %d: use a number from 1, or none for no limit", t.Concurrency)
	case t.Role != Agent && t.Role != Operator:
		return fmt.Errorf("the role %.20q of the token %s is not known here: use the Gearbox that made it", t.Role, t.Name)
	case t.Role == Operator && t.bounded():
		return fmt.Errorf("the token %s is an operator's: it runs nothing that a gear, tools, languages, a rate or a concurrency could bound", t.Name)
	}
	for _, l := range t.Languages {
		if known, err := execution.ParseLanguage(string(l)); err != nil || known != l {
			return fmt.Errorf("unknown language %q: use python or bash", l)
		}
	}
	return nil
}
