package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/quota"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// openTokens is the register of a data directory. Nothing is made on the disk.
func openTokens(dataDir string) *token.Register {
	return token.NewRegister(token.OpenFile(dataDir), time.Now)
}

// Tokens is the register of the data directory that the options name.
func Tokens(o Options) (*token.Register, error) {
	dir, err := o.dataDir()
	if err != nil {
		return nil, err
	}
	return openTokens(dir), nil
}

// CreateToken makes a token, and the data directory if it is not there. The secret is
// returned here and never again. A token that cannot be recorded is not made.
func CreateToken(ctx context.Context, o Options, by execution.Client, name string, r token.Rights, expires time.Time) (secret string, t token.Token, err error) {
	dir, err := o.dataDir()
	if err != nil {
		return "", token.Token{}, err
	}
	if err := makeDataDir(dir); err != nil {
		return "", token.Token{}, err
	}
	if err := checkRights(dir, r); err != nil {
		return "", token.Token{}, err
	}
	err = recordTokens(ctx, dir, by, func(b tokenBook) error {
		secret, t, err = b.create(ctx, name, r, expires)
		return err
	})
	return secret, t, err
}

// RevokeToken takes a token back and records that. The error tells when only the latter
// failed; it may be repeated then. It wraps [token.ErrUnknown] when there is none.
func RevokeToken(ctx context.Context, o Options, by execution.Client, name string) (t token.Token, err error) {
	dir, err := o.dataDir()
	if err != nil {
		return token.Token{}, err
	}
	if _, err := os.Stat(filepath.Join(dir, token.FileName)); errors.Is(err, fs.ErrNotExist) {
		return token.Token{}, fmt.Errorf("%w as %.80q", token.ErrUnknown, name) // and nothing is made
	}
	t, err = openTokens(dir).Revoke(name)
	if err != nil {
		return t, err
	}
	// The rights go first: what is taken away must not wait for room on a disk.
	err = recordTokens(ctx, dir, by, func(b tokenBook) error { return b.record(ctx, "revoked", "a token was revoked", t) })
	if err != nil {
		return t, fmt.Errorf("the token %s is revoked since %s and servers refuse it, but that is not in the audit record; revoke it again to record it: %w",
			name, t.Revoked.Format(time.RFC3339), err)
	}
	return t, nil
}

// checkRights refuses rights that no server would understand.
func checkRights(dataDir string, r token.Rights) error {
	if r.Gear != "" {
		if isFile(r.Gear) {
			return fmt.Errorf("the ceiling %q: name a gear, not a file: servers look for it among the built-in ones and in the gears directory of the data directory", r.Gear)
		}
		g, err := gear.OpenRegistry(filepath.Join(dataDir, "gears")).Get(r.Gear)
		if err != nil {
			return err
		}
		if g.Isolation == gear.None {
			return fmt.Errorf("the gear %s runs code with the server's own rights, and holders of tokens never have those: choose another ceiling", g.Name)
		}
	}
	saved, err := snippetTools(dataDir)
	if err != nil {
		return err
	}
	known := append(mcpserver.ToolNames(), saved...)
	for _, name := range r.Tools {
		if slices.Contains(known, name) {
			continue
		}
		hint := "use some of " + strings.Join(known, ", ")
		if near := policy.Nearest(name, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fmt.Errorf("there is no tool %q: %s", name, hint)
	}
	return nil
}

// ceiling is the gear that bounds a principal, nil for none, and the languages that it
// may write, none for all.
func (g *gears) ceiling(p execution.Principal, registry *gear.Registry) (*gear.Gear, []execution.Language, error) {
	if p.Class() == execution.ClassLocal {
		return nil, nil, nil
	}
	t, err := g.tokens.Of(p)
	if errors.Is(err, token.ErrRefused) {
		return nil, nil, &execution.RejectedError{Code: execution.CodeInvalidArgument, Message: "your token is no longer valid"}
	}
	if err != nil || t.Gear == "" {
		return nil, t.Languages, err
	}
	c, err := registry.Get(t.Gear)
	if err != nil {
		return nil, nil, fmt.Errorf("the ceiling of the token %s: %w", t.Name, err)
	}
	return &c, t.Languages, nil
}

// PrincipalOptions bound what each principal may start, where its token says nothing
// else. A nil field or 0 is no bound.
type PrincipalOptions struct {
	// Concurrency is how many executions may be under way at once, Rate how many may be
	// started in a minute.
	Concurrency, Rate *int
}

// MostOfPrincipal is the largest number of [PrincipalOptions]; the least is 0.
const MostOfPrincipal = 1_000_000

func (o PrincipalOptions) check() error {
	for _, n := range []struct {
		flag  string
		value *int
	}{{"principal-concurrency", o.Concurrency}, {"principal-rate", o.Rate}} {
		if n.value != nil && (*n.value < 0 || *n.value > MostOfPrincipal) {
			return about(n.flag, "--%s %d: accepted are 0 to %d", n.flag, *n.value, MostOfPrincipal)
		}
	}
	return nil
}

func (o PrincipalOptions) bounds() *quota.Bounds {
	var b quota.Bounds
	if o.Rate != nil {
		b.Rate = *o.Rate
	}
	if o.Concurrency != nil {
		b.Concurrency = *o.Concurrency
	}
	return &b
}

// bounds are those of each principal: what its token says, and for the rest what holds
// for all.
type bounds struct {
	tokens *token.Register
	forAll atomic.Pointer[quota.Bounds]
}

func newBounds(t *token.Register, o PrincipalOptions) *bounds {
	b := &bounds{tokens: t}
	b.forAll.Store(o.bounds())
	return b
}

// Bounds implements [quota.Book].
func (b *bounds) Bounds(p execution.Principal) (quota.Bounds, error) {
	all := *b.forAll.Load()
	if p.Class() == execution.ClassLocal {
		return all, nil
	}
	t, err := b.tokens.Of(p)
	if errors.Is(err, token.ErrRefused) {
		return all, nil // the gears refuse it
	}
	return quota.Bounds{Rate: cmp.Or(t.Rate, all.Rate), Concurrency: cmp.Or(t.Concurrency, all.Concurrency)}, err
}
