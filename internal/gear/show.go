package gear

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// shown is a gear file in the order in which it is written.
type shown struct {
	Description string            `yaml:"description,omitempty"`
	Execution   string            `yaml:"execution"`
	Isolation   string            `yaml:"isolation"`
	Default     string            `yaml:"default"`
	Deny        []string          `yaml:"deny,omitempty"`
	Ask         []string          `yaml:"ask,omitempty"`
	Allow       []string          `yaml:"allow,omitempty"`
	Source      *shownSource      `yaml:"source,omitempty"`
	Limits      *shownLimits      `yaml:"limits,omitempty"`
	Languages   []string          `yaml:"languages,flow"`
	Env         map[string]string `yaml:"env,omitempty"`
}

type shownSource struct {
	Characters int `yaml:"characters,omitempty"`
	Lines      int `yaml:"lines,omitempty"`
}

type shownLimits struct {
	TimeoutSeconds    int    `yaml:"timeout_seconds,omitempty"`
	MaxTimeoutSeconds int    `yaml:"max_timeout_seconds,omitempty"`
	Memory            string `yaml:"memory,omitempty"`
	Processes         int    `yaml:"processes,omitempty"`
	OpenFiles         int    `yaml:"open_files,omitempty"`
	Scratch           string `yaml:"scratch,omitempty"`
	ScratchFiles      int    `yaml:"scratch_files,omitempty"`
	OutputKept        string `yaml:"output_kept,omitempty"`
	OutputProduced    string `yaml:"output_produced,omitempty"`
	ToolCalls         int    `yaml:"tool_calls,omitempty"`
}

// Show is the gear as a file that extends nothing: reading it gives the same gear.
func (g Gear) Show() (string, error) {
	s := shown{
		Description: g.Description, Execution: "off", Isolation: string(g.Isolation), Default: string(g.Default),
		Deny: written(g.Rules.Deny), Ask: written(g.Rules.Ask), Allow: written(g.Rules.Allow), Env: g.Env,
	}
	if g.Execution {
		s.Execution = "on"
	}
	if (g.Source != SourceLimits{}) {
		s.Source = &shownSource{g.Source.Characters, g.Source.Lines}
	}
	if (g.Limits != execution.Limits{}) {
		s.Limits = showLimits(g.Limits)
	}
	for _, l := range g.Languages {
		s.Languages = append(s.Languages, string(l))
	}
	out, err := yaml.MarshalWithOptions(s, yaml.IndentSequence(true))
	return string(out), err
}

func showLimits(l execution.Limits) *shownLimits {
	size := func(b execution.Bytes) string {
		if b == 0 {
			return ""
		}
		return b.String()
	}
	return &shownLimits{
		TimeoutSeconds: int(l.Timeout / time.Second), MaxTimeoutSeconds: int(l.MaxTimeout / time.Second),
		Memory: size(l.Memory), Processes: l.Processes, OpenFiles: l.OpenFiles,
		Scratch: size(l.Scratch), ScratchFiles: l.ScratchFiles,
		OutputKept: size(l.OutputKept), OutputProduced: size(l.OutputProduced),
		ToolCalls: l.ToolCalls,
	}
}

// canonical is all of a gear that decides, for hashing: each part is preceded by
// its length, and maps are in order.
func canonical(g Gear) []byte {
	l := g.Limits
	parts := [][]byte{
		[]byte(g.Name), []byte(g.Isolation), []byte(g.Default),
		fmt.Append(nil, g.Execution, g.Source.Characters, g.Source.Lines, g.Languages),
		fmt.Append(nil, int64(l.Timeout), int64(l.MaxTimeout), int64(l.Memory), l.Processes, l.OpenFiles,
			int64(l.OutputKept), int64(l.OutputProduced), int64(l.Scratch), l.ScratchFiles, l.ToolCalls),
		canonicalRules(g.Rules.Deny), canonicalRules(g.Rules.Ask), canonicalRules(g.Rules.Allow),
	}
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		parts = append(parts, []byte(name), []byte(g.Env[name]))
	}
	digest := execution.DigestOf(parts...)
	return digest[:]
}

func canonicalRules(rules []policy.Rule) []byte {
	// No rule holds a line break, so the lines are the rules.
	return []byte(strings.Join(written(rules), "\n"))
}

// Show is the gear in force as one file: the server's, as resolved. What a call,
// a ceiling and the operator add is told by [Frozen.Rules].
func (f Frozen) Show() (string, error) {
	if f.f == nil {
		return "", nil
	}
	return f.f.server.Show()
}

// LayerRules are the rules of one layer, as written.
type LayerRules struct {
	Layer policy.Layer
	Gear  string
	Rules []string
}

// Rules lists what decides, in the order in which it is asked. Layers without
// rules are left out; the default comes last.
func (f Frozen) Rules() []LayerRules {
	if f.f == nil {
		return nil
	}
	s, o := f.f.server, f.f.operator
	all := []LayerRules{{policy.GearDeny, s.Name, written(s.Rules.Deny)}}
	if c := f.f.ceiling; c != nil {
		all = append(all, LayerRules{policy.CeilingLayer, c.Name, asList(*c)})
	}
	all = append(
		all,
		LayerRules{policy.OperatorDeny, "", written(o.Deny)},
		LayerRules{policy.OperatorAsk, "", written(o.Ask)},
		LayerRules{policy.OperatorAllow, "", written(o.Allow)},
		LayerRules{policy.GearAsk, s.Name, written(s.Rules.Ask)},
		LayerRules{policy.GearAllow, s.Name, written(s.Rules.Allow)},
		LayerRules{policy.DefaultLayer, s.Name, []string{string(s.Default)}},
	)
	if c := f.f.call; c != nil {
		all = append(all, LayerRules{"named by the call", c.Name, asList(*c)})
	}
	var out []LayerRules
	for _, l := range all {
		if len(l.Rules) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// asList writes a whole gear as one list of effects and rules.
func asList(g Gear) []string {
	var out []string
	for _, part := range []struct {
		effect policy.Effect
		rules  []policy.Rule
	}{{policy.Deny, g.Rules.Deny}, {policy.Ask, g.Rules.Ask}, {policy.Allow, g.Rules.Allow}} {
		for _, r := range part.rules {
			out = append(out, string(part.effect)+" "+r.String())
		}
	}
	return append(out, "default "+string(g.Default))
}
