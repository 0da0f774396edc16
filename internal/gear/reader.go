package gear

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// reader reads a file that holds rules.
type reader struct {
	*strictyaml.Reader

	home string
}

func newReader(file, home string) *reader { return &reader{strictyaml.New(file), home} }

// rules reads a list of rules. With allow set it refuses what cannot be granted.
func (r *reader) rules(n ast.Node, allow bool) []policy.Rule {
	var out []policy.Rule
	for _, item := range r.Sequence(n) {
		text, ok := r.Text(item)
		if !ok {
			continue
		}
		rule, err := parseRule(text, r.home, allow)
		if err == nil {
			out = append(out, rule)
			continue
		}
		var bad *policy.RuleError
		if errors.As(err, &bad) {
			r.Fail(item, bad.Hint, "rule %q: %s", bad.Rule, bad.Message)
		}
	}
	return out
}

// parseRule reads one rule as a file or a flag holds it. A program is present in
// a sandbox or absent, one by one, so run(…) cannot be allowed by half a name.
func parseRule(text, home string, allow bool) (policy.Rule, error) {
	rule, err := policy.ParseRule(policy.ExpandHome(text, home))
	if err != nil {
		return policy.Rule{}, err
	}
	if _, _, open := rule.Names(); allow && rule.Kind() == policy.Run && len(open) > 0 {
		return policy.Rule{}, &policy.RuleError{
			Rule: text, Message: fmt.Sprintf("%q names no single program", open[0]),
			Hint: "allow programs one by one, or all of them with run(*)",
		}
	}
	return rule, nil
}
