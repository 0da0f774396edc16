package gear

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// The bounds on limits that a gear may set. The upper ones are beyond what one run
// can use for good: a number above them is a slip of the pen.
const (
	maxTimeoutSeconds = 300 // what a call may at most ask for, so a longer one could never be used
	leastMemory       = 32 * execution.MiB
	mostMemory        = 1024 * execution.GiB
	leastOpenFiles    = 16
	mostOpenFiles     = 1 << 20 // fs.nr_open of Linux, which no process exceeds
	mostProcesses     = 1 << 22 // PID_MAX_LIMIT of Linux on 64 bits
	leastScratchFiles = 16
	mostScratchFiles  = 1 << 24
	mostToolCalls     = 1_000_000
	mostKept          = execution.GiB // the server holds it in memory
	mostProduced      = 1024 * execution.GiB
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
	timeoutAt    ast.Node
	languages    []execution.Language
	env          map[string]string
	firstDenyAsk ast.Node
}

// read parses the text of one gear file.
func (r *reader) read(data []byte) document {
	var d document
	r.Fields(r.Root(data), map[string]func(ast.Node){
		"description": func(n ast.Node) {
			if s, ok := r.Text(n); ok {
				s = strings.Join(strings.Fields(s), " ")
				d.description = &s
			}
		},
		"extends": func(n ast.Node) { d.extends, _ = r.Text(n); d.extendsNode = n },
		"execution": func(n ast.Node) {
			if s, ok := r.Word(n, "on", "off"); ok {
				on := s == "on"
				d.execution = &on
			}
		},
		"isolation": func(n ast.Node) {
			s, _ := r.Word(n, string(Sandbox), string(None))
			d.isolation, d.isolationAt = Isolation(s), n
		},
		"default": func(n ast.Node) {
			s, _ := r.Word(n, string(policy.Deny), string(policy.Ask), string(policy.Allow))
			d.fallback, d.fallbackAt = policy.Effect(s), n
		},
		"deny":      func(n ast.Node) { d.rules.Deny = r.rules(n, false); d.denyAsk(n, d.rules.Deny) },
		"ask":       func(n ast.Node) { d.rules.Ask = r.rules(n, false); d.denyAsk(n, d.rules.Ask) },
		"allow":     func(n ast.Node) { d.rules.Allow = r.rules(n, true) },
		"source":    func(n ast.Node) { d.source = r.source(n) },
		"limits":    func(n ast.Node) { d.limits, d.timeoutAt = r.limits(n) },
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
	r.Fields(r.Mapping(n), map[string]func(ast.Node){
		"characters": func(n ast.Node) { s.Characters = r.Number(n, 1, execution.MaxCode) },
		"lines":      func(n ast.Node) { s.Lines = r.Number(n, 1, execution.MaxCode) },
	})
	return s
}

// limits also returns where the timeout stands.
func (r *reader) limits(n ast.Node) (l execution.Limits, timeoutAt ast.Node) {
	seconds := func(d *time.Duration) func(ast.Node) {
		return func(n ast.Node) { *d = time.Duration(r.Number(n, 1, maxTimeoutSeconds)) * time.Second }
	}
	size := func(b *execution.Bytes, least, most execution.Bytes) func(ast.Node) {
		return func(n ast.Node) { *b = r.Size(n, least, most) }
	}
	number := func(i *int, least, most int) func(ast.Node) {
		return func(n ast.Node) { *i = r.Number(n, least, most) }
	}
	r.Fields(r.Mapping(n), map[string]func(ast.Node){
		"timeout_seconds":     func(n ast.Node) { timeoutAt = n },
		"max_timeout_seconds": seconds(&l.MaxTimeout),
		"memory":              size(&l.Memory, leastMemory, mostMemory),
		"processes":           number(&l.Processes, 1, mostProcesses),
		"open_files":          number(&l.OpenFiles, leastOpenFiles, mostOpenFiles),
		"scratch":             size(&l.Scratch, execution.MiB, mostMemory),
		"scratch_files":       number(&l.ScratchFiles, leastScratchFiles, mostScratchFiles),
		"tool_calls":          number(&l.ToolCalls, 1, mostToolCalls),
		"output_kept":         size(&l.OutputKept, execution.KiB, mostKept),
		"output_produced":     size(&l.OutputProduced, execution.KiB, mostProduced),
	})
	if timeoutAt != nil {
		l.Timeout = r.timeout(timeoutAt, l.MaxTimeout)
	}
	return l, timeoutAt
}

// timeout reads timeout_seconds, which the file's own max_timeout_seconds bounds
// where there is one.
func (r *reader) timeout(n ast.Node, longest time.Duration) time.Duration {
	if i, ok := n.(*ast.IntegerNode); ok && longest > 0 {
		if v, err := strconv.Atoi(i.GetToken().Value); err == nil && v > int(longest/time.Second) {
			r.tooLong(n, v, longest)
			return 0
		}
	}
	return time.Duration(r.Number(n, 1, maxTimeoutSeconds)) * time.Second
}

func (r *reader) tooLong(n ast.Node, seconds int, longest time.Duration) {
	r.Fail(n, "lower the one or raise the other", "timeout_seconds is %d, more than the max_timeout_seconds of %d", seconds, longest/time.Second)
}

func (r *reader) languages(n ast.Node) []execution.Language {
	out := []execution.Language{}
	for _, item := range r.Sequence(n) {
		s, ok := r.Word(item, string(execution.Python), string(execution.Bash))
		if l := execution.Language(s); ok && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		r.Fail(n, "write [python], or execution: off to run nothing", "no language is left")
	}
	return out
}

func (r *reader) env(n ast.Node) map[string]string {
	out := map[string]string{}
	for _, e := range r.Mapping(n) {
		name := strictyaml.Key(e)
		value, ok := r.Text(e.Value)
		switch {
		case !ok:
		case !isEnvName(name):
			r.Fail(e.Key, "use letters, digits and _", "%q is not the name of an environment variable", name)
		case strings.ContainsRune(value, 0):
			r.Fail(e.Value, "remove it", "the value of %s holds a NUL", name)
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
	replace(&l.ToolCalls, d.limits.ToolCalls)
	return l
}

func replace[T comparable](dst *T, v T) {
	var zero T
	if v != zero {
		*dst = v
	}
}

// check refuses what cannot be held: a timeout that is longer than the inherited
// bound, and rules without a wall, where nothing stops a program that was refused
// something.
func (r *reader) check(d document, g Gear) {
	if longest := g.Limits.MaxTimeout; longest > 0 && d.limits.Timeout > longest {
		r.tooLong(d.timeoutAt, int(d.limits.Timeout/time.Second), longest)
	}
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
		r.Fail(at, why, "isolation: none together with deny or ask rules")
	}
	if g.Default != policy.Allow {
		if d.fallbackAt != nil {
			at = d.fallbackAt
		}
		r.Fail(at, "without a sandbox nothing is refused: write default: allow, or isolation: sandbox",
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
