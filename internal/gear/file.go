package gear

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// The bounds on limits that a gear may set.
const (
	maxTimeoutSeconds = 300 // what a call may at most ask for, so a longer one could never be used
	leastMemory       = 32 * execution.MiB
	leastOpenFiles    = 16
	most              = 1 << 30
)

// document is a file as written: nil or zero is what it leaves to the gear it extends.
type document struct {
	description  *string
	extends      string
	extendsNode  ast.Node
	execution    *bool
	isolation    Isolation
	isolationAt  ast.Node
	fallback     policy.Effect
	fallbackAt   ast.Node
	rules        policy.RuleSet
	source       SourceLimits
	limits       execution.Limits
	languages    []execution.Language
	env          map[string]string
	firstDenyAsk ast.Node
}

// read parses the text of one gear file.
func (r *reader) read(data []byte) document {
	var d document
	r.fields(r.root(data), map[string]func(ast.Node){
		"description": func(n ast.Node) {
			if s, ok := r.text(n); ok {
				s = strings.Join(strings.Fields(s), " ")
				d.description = &s
			}
		},
		"extends": func(n ast.Node) { d.extends, _ = r.text(n); d.extendsNode = n },
		"execution": func(n ast.Node) {
			if s, ok := r.word(n, "on", "off"); ok {
				on := s == "on"
				d.execution = &on
			}
		},
		"isolation": func(n ast.Node) {
			s, _ := r.word(n, string(Sandbox), string(None))
			d.isolation, d.isolationAt = Isolation(s), n
		},
		"default": func(n ast.Node) {
			s, _ := r.word(n, string(policy.Deny), string(policy.Ask), string(policy.Allow))
			d.fallback, d.fallbackAt = policy.Effect(s), n
		},
		"deny":      func(n ast.Node) { d.rules.Deny = r.rules(n, false); d.denyAsk(n, d.rules.Deny) },
		"ask":       func(n ast.Node) { d.rules.Ask = r.rules(n, false); d.denyAsk(n, d.rules.Ask) },
		"allow":     func(n ast.Node) { d.rules.Allow = r.rules(n, true) },
		"source":    func(n ast.Node) { d.source = r.source(n) },
		"limits":    func(n ast.Node) { d.limits = r.limits(n) },
		"languages": func(n ast.Node) { d.languages = r.languages(n) },
		"env":       func(n ast.Node) { d.env = r.env(n) },
	})
	return d
}

func (d *document) denyAsk(n ast.Node, rules []policy.Rule) {
	if d.firstDenyAsk == nil && len(rules) > 0 {
		d.firstDenyAsk = n
	}
}

func (r *reader) source(n ast.Node) SourceLimits {
	var s SourceLimits
	r.fields(r.mapping(n), map[string]func(ast.Node){
		"characters": func(n ast.Node) { s.Characters = r.number(n, 1, execution.MaxCode) },
		"lines":      func(n ast.Node) { s.Lines = r.number(n, 1, execution.MaxCode) },
	})
	return s
}

func (r *reader) limits(n ast.Node) execution.Limits {
	var l execution.Limits
	seconds := func(d *time.Duration) func(ast.Node) {
		return func(n ast.Node) { *d = time.Duration(r.number(n, 1, maxTimeoutSeconds)) * time.Second }
	}
	size := func(b *execution.Bytes, least execution.Bytes) func(ast.Node) {
		return func(n ast.Node) { *b = r.size(n, least) }
	}
	number := func(i *int, least int) func(ast.Node) {
		return func(n ast.Node) { *i = r.number(n, least, most) }
	}
	r.fields(r.mapping(n), map[string]func(ast.Node){
		"timeout_seconds":     seconds(&l.Timeout),
		"max_timeout_seconds": seconds(&l.MaxTimeout),
		"memory":              size(&l.Memory, leastMemory),
		"processes":           number(&l.Processes, 1),
		"open_files":          number(&l.OpenFiles, leastOpenFiles),
		"scratch":             size(&l.Scratch, execution.MiB),
		"scratch_files":       number(&l.ScratchFiles, 16),
		"output_kept":         size(&l.OutputKept, execution.KiB),
		"output_produced":     size(&l.OutputProduced, execution.KiB),
	})
	if l.Timeout > 0 && l.MaxTimeout > 0 && l.Timeout > l.MaxTimeout {
		r.fail(n, "lower timeout_seconds", "timeout_seconds is more than max_timeout_seconds")
	}
	return l
}

func (r *reader) languages(n ast.Node) []execution.Language {
	out := []execution.Language{}
	for _, item := range r.sequence(n) {
		s, ok := r.word(item, string(execution.Python), string(execution.Bash))
		if l := execution.Language(s); ok && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		r.fail(n, "write [python], or execution: off to run nothing", "no language is left")
	}
	return out
}

func (r *reader) env(n ast.Node) map[string]string {
	out := map[string]string{}
	for _, e := range r.mapping(n) {
		name := key(e)
		value, ok := r.text(e.Value)
		switch {
		case !ok:
		case !isEnvName(name):
			r.fail(e.Key, "use letters, digits and _", "%q is not the name of an environment variable", name)
		case strings.ContainsRune(value, 0):
			r.fail(e.Value, "remove it", "the value of %s holds a NUL", name)
		default:
			out[name] = value
		}
	}
	return out
}

func isEnvName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// over lays the document over the gear that it extends. Rules are added to; every
// other key replaces.
func (d document) over(g Gear) Gear {
	g = g.clone()
	if d.description != nil {
		g.Description = *d.description
	}
	if d.execution != nil {
		g.Execution = *d.execution
	}
	if d.isolation != "" {
		g.Isolation = d.isolation
	}
	if d.fallback != "" {
		g.Default = d.fallback
	}
	g.Rules.Deny = append(g.Rules.Deny, d.rules.Deny...)
	g.Rules.Ask = append(g.Rules.Ask, d.rules.Ask...)
	g.Rules.Allow = append(g.Rules.Allow, d.rules.Allow...)
	replace(&g.Source.Characters, d.source.Characters)
	replace(&g.Source.Lines, d.source.Lines)
	g.Limits = d.limitsOver(g.Limits)
	if d.languages != nil {
		g.Languages = d.languages
	}
	if len(d.env) > 0 && g.Env == nil {
		g.Env = map[string]string{}
	}
	maps.Copy(g.Env, d.env)
	return g
}

func (d document) limitsOver(l execution.Limits) execution.Limits {
	replace(&l.Timeout, d.limits.Timeout)
	replace(&l.MaxTimeout, d.limits.MaxTimeout)
	replace(&l.Memory, d.limits.Memory)
	replace(&l.Processes, d.limits.Processes)
	replace(&l.OpenFiles, d.limits.OpenFiles)
	replace(&l.OutputKept, d.limits.OutputKept)
	replace(&l.OutputProduced, d.limits.OutputProduced)
	replace(&l.Scratch, d.limits.Scratch)
	replace(&l.ScratchFiles, d.limits.ScratchFiles)
	return l
}

func replace[T comparable](dst *T, v T) {
	var zero T
	if v != zero {
		*dst = v
	}
}

// check refuses what cannot be held. Without a wall nothing stops a program that
// was refused something, so such rules would only pretend.
func (r *reader) check(d document, g Gear) {
	if g.Isolation != None {
		return
	}
	at := d.isolationAt
	if at == nil {
		at = d.extendsNode
	}
	const why = "without a sandbox nothing can hold a rule that refuses: remove it, or write isolation: sandbox"
	if len(g.Rules.Deny)+len(g.Rules.Ask) > 0 {
		if d.firstDenyAsk != nil {
			at = d.firstDenyAsk
		}
		r.fail(at, why, "isolation: none together with deny or ask rules")
	}
	if g.Default != policy.Allow {
		if d.fallbackAt != nil {
			at = d.fallbackAt
		}
		r.fail(at, "without a sandbox nothing is refused: write default: allow, or isolation: sandbox",
			"isolation: none together with default: %s", g.Default)
	}
}

// nameOf is the name of the gear that a file holds.
func nameOf(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml")
}

func validName(s string) bool {
	for i, c := range s {
		if (c < 'a' || c > 'z') && (i == 0 || (c != '_' && c != '-' && (c < '0' || c > '9'))) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
