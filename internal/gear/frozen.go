package gear

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// digestVersion changes whenever equal files would be decided differently.
const digestVersion = "gearbox gear 1"

// interpreter is the program that stands for the interpreter itself, and so for
// a fork of it too.
const interpreter = "python"

// Frozen is the whole basis on which one run is decided. It does not change. The
// zero Frozen denies everything.
type Frozen struct{ f *frozen }

type frozen struct {
	server    Gear
	call      *Gear
	ceiling   *Gear
	operator  Overlays
	isolation Isolation
	limits    execution.Limits
	source    SourceLimits
	languages []execution.Language
	env       map[string]string
	own       []string
	programs  []string
	// approved are what a human said yes to, where the rules ask; nil for nothing.
	approved []policy.Permission
	grants   map[policy.Kind][]string // of the kinds that every run asks for
	digest   execution.Digest
}

// sandboxEnv are the variables that every sandbox sets itself.
func sandboxEnv() []string {
	return []string{
		"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "MPLBACKEND", "MPLCONFIGDIR", "OLDPWD", "PATH", "PWD", "SHELL", "SHLVL",
		"TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER", "COLUMNS", "LINES", "NO_COLOR",
		"MALLOC_ARENA_MAX", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
		"PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONUTF8",
	}
}

// Freeze puts together what decides one run: the server's gear, the gear that
// the call named (nil when it named none), the principal's ceiling (nil when
// there is none) and the operator's overlays. Of the gears the stricter decision
// holds, permission by permission, and the smaller of each limit; so naming one
// only ever narrows. The error wraps [ErrIsolation] when the call names a gear
// without isolation and the server's own has one.
func Freeze(server Gear, call, ceiling *Gear, o Overlays) (Frozen, error) {
	if call != nil && call.Isolation == None && server.Isolation != None {
		return Frozen{}, fmt.Errorf("%w: %s runs with the server's own rights, and this server is in the gear %s: name another gear, or none",
			ErrIsolation, call.Name, server.Name)
	}
	f := &frozen{server: server.clone(), operator: o.With(Overlays{}), isolation: server.Isolation}
	parts := []Gear{f.server}
	if call != nil {
		c := call.clone()
		f.call, parts = &c, append(parts, c)
	}
	if ceiling != nil {
		c := ceiling.clone()
		f.ceiling, parts = &c, append(parts, c)
	}
	if slices.ContainsFunc(parts, func(g Gear) bool { return g.Isolation != None }) {
		f.isolation = Sandbox
	}
	if f.isolation == None && len(o.Deny)+len(o.Ask) > 0 {
		return Frozen{}, fmt.Errorf("%s runs without a sandbox, where nothing can hold a rule that denies or asks: remove --deny, --ask and such rules of the operator's file, or choose another gear", server.Name)
	}
	f.narrow(parts)
	f.env = sharedEnv(f.server, f.call, f.ceiling)
	f.own = slices.Sorted(maps.Keys(f.env))
	f.own = append(sandboxEnv(), f.own...)
	f.programs = f.grantedPrograms()
	f.grants = f.allGrants()
	f.digest = f.content()
	return Frozen{f}, nil
}

// narrow takes the smaller of every limit and the languages common to all.
func (f *frozen) narrow(parts []Gear) {
	f.limits = execution.DefaultLimits()
	for i, g := range parts {
		own := (document{limits: g.Limits}).limitsOver(execution.DefaultLimits())
		if i == 0 {
			f.limits, f.languages, f.source = own, g.Languages, g.Source
			continue
		}
		f.limits = stricterLimits(f.limits, own)
		f.languages = slices.DeleteFunc(slices.Clone(f.languages), func(l execution.Language) bool {
			return !slices.Contains(g.Languages, l)
		})
		f.source.Characters = smaller(f.source.Characters, g.Source.Characters)
		f.source.Lines = smaller(f.source.Lines, g.Source.Lines)
	}
	f.limits.Timeout = min(f.limits.Timeout, f.limits.MaxTimeout)
}

func stricterLimits(a, b execution.Limits) execution.Limits {
	return execution.Limits{
		Timeout: min(a.Timeout, b.Timeout), MaxTimeout: min(a.MaxTimeout, b.MaxTimeout), Memory: min(a.Memory, b.Memory),
		Processes: min(a.Processes, b.Processes), OpenFiles: min(a.OpenFiles, b.OpenFiles),
		OutputKept: min(a.OutputKept, b.OutputKept), OutputProduced: min(a.OutputProduced, b.OutputProduced),
		Scratch: min(a.Scratch, b.Scratch), ScratchFiles: min(a.ScratchFiles, b.ScratchFiles),
		ToolCalls: min(a.ToolCalls, b.ToolCalls),
	}
}

// smaller of two bounds, where 0 is no bound.
func smaller(a, b int) int {
	if a == 0 || (b > 0 && b < a) {
		return b
	}
	return a
}

// sharedEnv is what the server's gear sets and none of the others takes away.
func sharedEnv(server Gear, others ...*Gear) map[string]string {
	env := maps.Clone(server.Env)
	for _, g := range others {
		if g == nil {
			continue
		}
		maps.DeleteFunc(env, func(k, v string) bool {
			w, ok := g.Env[k]
			return !ok || v != w
		})
	}
	return env
}

// grantedPrograms lists the programs that have to be present: all of them as
// "*" when any program may run, otherwise those that a rule names.
func (f *frozen) grantedPrograms() []string {
	if f.evaluate(policy.Permission{Kind: policy.Run, Target: "*"}).Effect == policy.Allow {
		return []string{"*"}
	}
	return f.granted(policy.Run)
}

// evaluate asks the rules, and where they ask a human, whether one has said yes.
func (f *frozen) evaluate(p policy.Permission) policy.Decision {
	d := f.byRules(p)
	if d.Effect == policy.Ask && f.hasApproved(p) {
		d.Effect, d.Named, d.Layer, d.Rule = policy.Allow, true, policy.ApprovalLayer, string(policy.ApprovalLayer)
		d.Reason, d.Hint = "A human approved exactly this for this operation.", ""
	}
	return d
}

func (f *frozen) byRules(p policy.Permission) policy.Decision {
	if f.isolation == None {
		return policy.Decision{
			Permission: p, Effect: policy.Allow, Rule: "default", Layer: policy.DefaultLayer,
			Reason: fmt.Sprintf("The gear %s runs without a sandbox, with the server's own rights.", f.server.Name),
		}
	}
	layers := policy.Layers{
		Gear: f.server.bundle(), Own: f.own,
		Operator: f.operator.set(),
	}
	if f.ceiling != nil {
		b := f.ceiling.bundle()
		layers.Ceiling = &b
	}
	d := policy.Evaluate(layers, p)
	if f.call == nil {
		return d
	}
	layers.Gear = f.call.bundle()
	return policy.Stricter(d, policy.Evaluate(layers, p))
}

// decide adds to the rules what the sandbox cannot do: take one program out of
// the host's directories and leave the others. When a rule takes any out, those
// that are left have to be named.
func (f *frozen) decide(p policy.Permission) policy.Decision {
	d := f.evaluate(p)
	if p.Kind != policy.Run || d.Effect != policy.Allow || d.Named || f.isolation == None || slices.Equal(f.programs, []string{"*"}) {
		return d
	}
	d.Effect = policy.Deny
	d.Reason = fmt.Sprintf("Some programs are refused, so only those that a rule allows by name are present in the sandbox, and %s is not among them.", p.Target)
	d.Hint = "Do it in Python, without starting a program."
	return d
}

// content hashes all that decides.
func (f *frozen) content() execution.Digest {
	parts := [][]byte{[]byte(digestVersion), canonical(f.server)}
	for _, g := range []*Gear{f.call, f.ceiling} {
		var text []byte
		if g != nil {
			text = canonical(*g)
		}
		parts = append(parts, text)
	}
	for _, rules := range [][]policy.Rule{f.operator.Deny, f.operator.Ask, f.operator.Allow} {
		parts = append(parts, canonicalRules(rules))
	}
	return execution.DigestOf(parts...)
}

func written(rules []policy.Rule) []string {
	out := make([]string, 0, len(rules))
	for _, r := range rules {
		out = append(out, r.String())
	}
	return out
}

// Only is the basis of a run for somebody who may write these languages alone.
func (f Frozen) Only(languages []execution.Language) Frozen {
	if f.f == nil {
		return f
	}
	less := *f.f
	less.languages = slices.DeleteFunc(slices.Clone(f.f.languages), func(l execution.Language) bool { return !slices.Contains(languages, l) })
	less.digest = execution.DigestOf([]byte("languages"), f.f.digest[:], fmt.Append(nil, less.languages))
	return Frozen{&less}
}

// IsZero reports whether nothing was frozen.
func (f Frozen) IsZero() bool { return f.f == nil }

// Name is the gear's name; when a call named another one, or the principal's ceiling
// is another one, all of them.
func (f Frozen) Name() string {
	if f.f == nil {
		return ""
	}
	names := []string{f.f.server.Name}
	for _, g := range []*Gear{f.f.call, f.f.ceiling} {
		if g != nil && !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, "+")
}

// Description says in a sentence what the gear is for.
func (f Frozen) Description() string {
	if f.f == nil {
		return ""
	}
	s := f.f.server.Description
	if g := f.f.call; g != nil && g.Name != f.f.server.Name {
		s += " Narrowed by the call: " + g.Description
	}
	if g := f.f.ceiling; g != nil && g.Name != f.f.server.Name {
		s += " Narrowed by the ceiling of the principal: " + g.Description
	}
	return strings.TrimSpace(s)
}

// Digest is the digest of all that decides: the gears as resolved, and the
// overlays. Names of files do not count, their content does.
func (f Frozen) Digest() execution.Digest {
	if f.f == nil {
		return execution.Digest{}
	}
	return f.f.digest
}

// Enabled reports whether code is run at all.
func (f Frozen) Enabled() bool {
	return f.f != nil && f.f.server.Execution &&
		(f.f.call == nil || f.f.call.Execution) && (f.f.ceiling == nil || f.f.ceiling.Execution)
}

// Isolation is [Sandbox] unless every gear involved has none.
func (f Frozen) Isolation() Isolation {
	if f.f == nil {
		return Sandbox
	}
	return f.f.isolation
}

// Limits are the limits of a run, with every field set.
func (f Frozen) Limits() execution.Limits {
	if f.f == nil {
		return execution.DefaultLimits()
	}
	return f.f.limits
}

// Source bounds the source.
func (f Frozen) Source() SourceLimits {
	if f.f == nil {
		return SourceLimits{}
	}
	return f.f.source
}

// AllowsLanguage reports whether code in the language is accepted.
func (f Frozen) AllowsLanguage(l execution.Language) bool { return slices.Contains(f.Languages(), l) }

// Languages are the languages that are accepted.
func (f Frozen) Languages() []execution.Language {
	if f.f == nil {
		return nil
	}
	return slices.Clone(f.f.languages)
}

// Env are the environment variables that the gear sets. The map is the caller's own.
func (f Frozen) Env() map[string]string {
	if f.f == nil {
		return nil
	}
	return maps.Clone(f.f.env)
}

// Programs are the programs that have to be present, sorted: base names and
// absolute paths that a rule allows by name, or a single "*" when every program
// may run. It is nil when none may.
func (f Frozen) Programs() []string {
	if f.f == nil {
		return nil
	}
	return slices.Clone(f.f.programs)
}

// Forks reports whether the interpreter may start processes of its own kind.
func (f Frozen) Forks() bool {
	return f.Decide(policy.Permission{Kind: policy.Run, Target: interpreter}).Effect == policy.Allow
}

// Decide says what holds for one permission.
func (f Frozen) Decide(p policy.Permission) policy.Decision {
	if f.f == nil {
		return policy.Decision{Permission: p, Effect: policy.Deny, Rule: "default", Layer: policy.DefaultLayer, Reason: "No gear is in force."}
	}
	return f.f.decide(p)
}
