package telemetry_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// selector is what an expression of PromQL asks for: a metric with its matchers.
type selector struct {
	metric   string
	matchers []matcher
}

type matcher struct{ label, op, value string }

// query is what an expression uses: its selectors, and the labels that it groups by.
type query struct {
	selectors []selector
	labels    []string
}

var (
	// token is one lexical element of PromQL, as far as it is used here. What matches
	// none is an error, so that nothing is overlooked.
	token = regexp.MustCompile(`^(?:\s+|[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9]+(?:\.[0-9]+)?(?:ms|[smhdwy])?|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|=~|!~|!=|==|<=|>=|[-+*/%^<>=(){}\[\],:@])`)
	word  = regexp.MustCompile(`^[a-zA-Z_:]`)
)

// grouping are the words that a list of labels follows.
var grouping = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}

// operators are words that are no metrics.
var operators = []string{"and", "or", "unless", "bool", "offset", "start", "end", "atan2"}

// parse reads an expression. It is no judge of PromQL, which promtool is, but it finds
// every name in it.
func parse(expr string) (query, error) {
	tokens, err := lex(expr)
	if err != nil {
		return query{}, err
	}
	var q query
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		next := func(s string) bool { return i+1 < len(tokens) && tokens[i+1] == s }
		switch {
		case t == "{":
			return q, errors.New("a selector without the name of a metric")
		case t == "[":
			i += slices.Index(tokens[i:], "]")
		case !word.MatchString(t), slices.Contains(operators, t):
		case slices.Contains(grouping, t):
			if next("(") {
				end := i + slices.Index(tokens[i:], ")")
				q.labels = append(q.labels, labelsIn(tokens[i+2:end])...)
				i = end
			}
		case next("("), next("by"), next("without"): // a function or an aggregation
		case next("{"):
			end := i + slices.Index(tokens[i:], "}")
			s, err := selectorOf(t, tokens[i+2:end])
			if err != nil {
				return q, err
			}
			q.selectors = append(q.selectors, s)
			i = end
		default:
			q.selectors = append(q.selectors, selector{metric: t})
		}
	}
	if len(q.selectors) == 0 {
		return q, errors.New("no metric")
	}
	return q, nil
}

// lex takes an expression apart. Brackets have to be closed in it.
func lex(expr string) ([]string, error) {
	var tokens []string
	var open []string
	closes := map[string]string{")": "(", "}": "{", "]": "["}
	for rest := expr; rest != ""; {
		t := token.FindString(rest)
		if t == "" {
			return nil, fmt.Errorf("not understood: %q", rest)
		}
		rest = rest[len(t):]
		switch t {
		case "(", "{", "[":
			open = append(open, t)
		case ")", "}", "]":
			if len(open) == 0 || open[len(open)-1] != closes[t] {
				return nil, fmt.Errorf("%s closes nothing", t)
			}
			open = open[:len(open)-1]
		}
		if strings.TrimSpace(t) != "" {
			tokens = append(tokens, t)
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("%s is not closed", open[len(open)-1])
	}
	return tokens, nil
}

func labelsIn(tokens []string) []string {
	return slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return t == "," })
}

func selectorOf(metric string, tokens []string) (selector, error) {
	s := selector{metric: metric}
	for len(tokens) > 0 {
		if len(tokens) < 3 || !word.MatchString(tokens[0]) || !slices.Contains([]string{"=", "!=", "=~", "!~"}, tokens[1]) {
			return s, fmt.Errorf("%s: not a matcher: %v", metric, tokens)
		}
		s.matchers = append(s.matchers, matcher{tokens[0], tokens[1], strings.Trim(tokens[2], `"'`)})
		tokens = tokens[3:]
		if len(tokens) > 0 && tokens[0] == "," {
			tokens = tokens[1:]
		}
	}
	return s, nil
}

func TestTheReaderOfPromQLFindsEveryName(t *testing.T) {
	for expr, want := range map[string]string{
		`up`:                                `[{up []}] []`,
		`rate(a_total{b="c",d=~'e|f'}[5m])`: `[{a_total [{b = c} {d =~ e|f}]}] []`,
		`sum by (x, y) (a) / on (z) group_left (w) b offset 1h > bool 0.5`: `[{a []} {b []}] [x y z w]`,
		`a and b unless sum without(c)(d{e!="(}"})`:                        `[{a []} {b []} {d [{e != (}}]}] [c]`,
	} {
		q, err := parse(expr)
		if got := fmt.Sprint(q.selectors, q.labels); err != nil || got != want {
			t.Errorf("%s: %s, want %s (%v)", expr, got, want, err)
		}
	}
	for _, expr := range []string{`sum(a`, `a)`, `{b="c"}`, `a{b}`, `a{b=c`, `1 + 2`, `a # b`, `a[5m`} {
		if q, err := parse(expr); err == nil {
			t.Errorf("%s is read as %v", expr, q)
		}
	}
}
