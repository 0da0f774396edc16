package gear

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Overlays are the operator's own rules, which stand above a gear's ask, allow
// and default, and below its deny.
type Overlays struct{ Deny, Ask, Allow []policy.Rule }

// With is both together.
func (o Overlays) With(more Overlays) Overlays {
	return Overlays{
		Deny:  slices.Concat(o.Deny, more.Deny),
		Ask:   slices.Concat(o.Ask, more.Ask),
		Allow: slices.Concat(o.Allow, more.Allow),
	}
}

func (o Overlays) set() policy.RuleSet {
	return policy.RuleSet{Deny: o.Deny, Ask: o.Ask, Allow: o.Allow}
}

// ParseOverlays reads the rules of the flags --allow, --ask and --deny.
func ParseOverlays(allow, ask, deny []string) (Overlays, error) {
	home, _ := os.UserHomeDir() // without one a pattern that begins with ~ is refused
	var o Overlays
	var errs []error
	for _, f := range []struct {
		name  string
		texts []string
		into  *[]policy.Rule
	}{{"allow", allow, &o.Allow}, {"ask", ask, &o.Ask}, {"deny", deny, &o.Deny}} {
		for _, text := range f.texts {
			rule, err := parseRule(text, home, f.name == "allow")
			if err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", f.name, err))
				continue
			}
			*f.into = append(*f.into, rule.From("option --"+f.name))
		}
	}
	return o, errors.Join(errs...)
}

// ParseRule reads one rule as an operator writes it, ~ included. It may allow only what
// can be granted. The error is a *[policy.RuleError].
func ParseRule(text string, allow bool) (policy.Rule, error) {
	home, _ := os.UserHomeDir() // without one a pattern that begins with ~ is refused
	return parseRule(text, home, allow)
}

// LoadOverlays reads a file with the keys deny, ask and allow. A file that does
// not exist holds no rules.
func LoadOverlays(path string) (Overlays, error) {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Overlays{}, nil
	}
	if err != nil {
		return Overlays{}, err
	}
	home, _ := os.UserHomeDir() // without one a pattern that begins with ~ is refused
	return readOverlays(path, data, home)
}

func readOverlays(path string, data []byte, home string) (Overlays, error) {
	var o Overlays
	r := newReader(path, home)
	read := func(n ast.Node, allow bool) []policy.Rule {
		rules := r.rules(n, allow)
		for i := range rules {
			rules[i] = rules[i].From(filepath.Base(path)) // without the directory: models read this too
		}
		return rules
	}
	r.Fields(r.Root(data), map[string]func(ast.Node){
		"deny":  func(n ast.Node) { o.Deny = read(n, false) },
		"ask":   func(n ast.Node) { o.Ask = read(n, false) },
		"allow": func(n ast.Node) { o.Allow = read(n, true) },
	})
	if err := r.Err(); err != nil {
		return Overlays{}, err
	}
	return o, nil
}
