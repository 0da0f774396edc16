package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

const (
	// boxGear is the gear of a server in a sandbox that names none: it shows nothing of
	// the host.
	boxGear = "restricted"
	// boxTime is the longest that a server may compute. A server has no end of its own, and
	// the net below the wall clock of programs is not to catch it.
	boxTime = 100 * 365 * 24 * time.Hour
	// boxReserve is how much address space each of its processes may reserve. Node takes
	// many times what it holds, and what is held is bounded apart.
	boxReserve = execution.Bytes(1 << 40)
)

// boxes starts servers in sandboxes of their own. They take no place of the runs.
type boxes struct {
	places  *places
	journal telemetry.Journal
	granted map[string]box // by server
}

var _ upstream.Launcher = (*boxes)(nil)

// box is what one server may have, as it was when Gearbox started.
type box struct {
	gear  gear.Frozen
	rules []string
}

// newBoxes decides what each server that is to run in a sandbox may have there. One that
// cannot be gets a fault; none runs elsewhere.
func newBoxes(p *places, j telemetry.Journal, dataDir string, servers []upstream.Spec) *boxes {
	b := &boxes{places: p, journal: j, granted: map[string]box{}}
	registry := gear.OpenRegistry(filepath.Join(dataDir, "gears"))
	for i := range servers {
		s := &servers[i]
		if s.Sandbox == nil || s.Fault != "" || s.Disabled {
			continue
		}
		granted, err := p.boxOf(*s, registry, dataDir)
		if err != nil {
			s.Fault = s.Origin + ": sandbox: " + err.Error()
			continue
		}
		b.granted[s.Name] = granted
		s.Env = withGranted(s.Env, granted.gear)
	}
	return b
}

// boxOf is what the configuration of a server lets it have.
func (p *places) boxOf(s upstream.Spec, registry *gear.Registry, dataDir string) (box, error) {
	if err := cmp.Or(p.boxable(), checkBoxed(s.Command[0])); err != nil {
		return box{}, err
	}
	base, err := registry.Get(cmp.Or(s.Sandbox.Gear, boxGear))
	switch {
	case err != nil:
		return box{}, err
	case base.Isolation == gear.None:
		return box{}, fmt.Errorf("the gear %s has no isolation, and so would be no sandbox: name another one", base.Name)
	case !base.Execution:
		return box{}, fmt.Errorf("the gear %s runs nothing: name another one", base.Name)
	}
	granted := box{rules: append([]string{"run(" + s.Command[0] + ")"}, s.Sandbox.Allow...)}
	o, err := boxRules(s, granted.rules)
	if err != nil {
		return box{}, err
	}
	if granted.gear, err = gear.Freeze(base, nil, nil, o); err != nil {
		return box{}, err
	}
	if d := granted.gear.Decide(policy.Permission{Kind: policy.Run, Target: s.Command[0]}); d.Effect != policy.Allow {
		return box{}, fmt.Errorf("the gear %s does not let it run %s: %s", base.Name, s.Command[0], d.Reason)
	}
	c := &chosen{registry: registry, server: base, overlays: o, base: granted.gear}
	return granted, c.checkReads(dataDir)
}

// boxRules reads the rules of a server, of which the first is for its program alone.
func boxRules(s upstream.Spec, texts []string) (gear.Overlays, error) {
	var o gear.Overlays
	for i, text := range texts {
		rule, err := gear.ParseRule(text, true)
		if err != nil {
			return o, err
		}
		if names, all, open := rule.Names(); i == 0 && (all || len(open) > 0 || !slices.Equal(names, s.Command[:1])) {
			return o, fmt.Errorf("the command %q cannot stand in a rule: give the program another name, such as that of a link to it", s.Command[0])
		}
		o.Allow = append(o.Allow, rule.From(s.Origin))
	}
	return o, nil
}

// boxable says why this machine has no sandbox for a server, as far as that is known
// before one is built.
func (p *places) boxable() error {
	switch {
	case p.absent != "":
		return errors.New(p.absent)
	case p.backend == nil:
		return errors.New(noSandbox())
	case !p.shell:
		return errors.New(noShell + ", which starts the server: install the package bash")
	}
	return nil
}

// checkBoxed finds a program that a sandbox cannot show, because it is searched for in two
// places only.
func checkBoxed(program string) error {
	if filepath.IsAbs(program) {
		return nil
	}
	if strings.ContainsRune(program, '/') {
		return fmt.Errorf("the command %s is a path that does not begin with /: name the whole path", program)
	}
	if program == "python" || program == "python3" { // the sandbox's own
		return nil
	}
	for _, dir := range []string{"/usr/bin", "/bin"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the program %s is not in /usr/bin: name it by its whole path", program)
}

// withGranted adds the variables of ours that the rules let a server have, and those of the
// gear. What its operator declares wins.
func withGranted(declared map[string]string, g gear.Frozen) map[string]string {
	env := map[string]string{}
	for _, name := range g.Granted(policy.Env) {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	for _, more := range []map[string]string{g.Env(), declared} {
		for name, v := range more {
			env[name] = v
		}
	}
	return env
}

// Launch implements [upstream.Launcher].
func (b *boxes) Launch(ctx context.Context, s upstream.Spec) (upstream.Launched, error) {
	granted, ok := b.granted[s.Name]
	if !ok {
		return upstream.Launched{}, errors.New("it was not granted a sandbox")
	}
	source, err := b.places.openBox(ctx, granted.gear)
	if err != nil {
		return upstream.Launched{}, err
	}
	started, err := b.start(ctx, source, granted, s)
	if err != nil {
		return upstream.Launched{}, errors.Join(err, source.Close())
	}
	return started, nil
}

func (b *boxes) start(ctx context.Context, source sandbox.Source, granted box, s upstream.Spec) (upstream.Launched, error) {
	child, err := source.Start(ctx, false)
	if err != nil {
		return upstream.Launched{}, fmt.Errorf("make its sandbox: %w", err)
	}
	l := granted.gear.Limits()
	err = child.Arm(ctx, sandbox.Arm{Limits: execution.Limits{
		Memory: l.Memory, Processes: l.Processes, OpenFiles: l.OpenFiles, Scratch: l.Scratch, ScratchFiles: l.ScratchFiles,
	}, Environment: s.Env})
	if err == nil {
		err = b.record(ctx, s, granted, source.Level())
	}
	if err == nil {
		err = runScript(child.Bridge(), script(s))
	}
	if err != nil {
		child.Kill(sandbox.CauseAbandoned)
		return upstream.Launched{}, fmt.Errorf("start it in its sandbox: %w", err)
	}
	return follow(context.WithoutCancel(ctx), source, child, l), nil
}

// record records what a server starts with. One that cannot be recorded does not start.
func (b *boxes) record(ctx context.Context, s upstream.Spec, granted box, l execution.Level) error {
	return b.journal.Record(ctx, audit.Event{
		Time: time.Now(), Type: audit.Config, Principal: execution.Local, Gear: granted.gear.Name(),
		Decision: "taken", Reason: "an MCP server started in a sandbox",
		Details: map[string]string{"server": s.Name, "allow": strings.Join(granted.rules, " "), "rules": granted.gear.Digest().String(), "isolation": string(l)},
	})
}

// openBox builds the sandbox of one server: a fork server of its own, for which no run
// waits.
func (p *places) openBox(ctx context.Context, g gear.Frozen) (sandbox.Source, error) {
	python, err := p.current(ctx)
	if err != nil {
		return nil, p.noPython(err)
	}
	shape := shapeOf(g, execution.Bash)
	shape.Timeout, shape.AddressSpace = boxTime, boxReserve
	source, err := p.backend.Open(ctx, sandbox.Template{
		Interpreter: python.Digest, Language: execution.Bash, Class: execution.ClassLocal, Shape: shape,
	})
	if err != nil {
		return nil, fmt.Errorf("no sandbox can be built here: %s", p.failure(err))
	}
	if level := source.Level(); !level.AtLeast(p.least) {
		return nil, errors.Join(errors.New(p.tooWeak(level)), source.Close())
	}
	return source, nil
}

// script has the shell become the program of a server.
func script(s upstream.Spec) string {
	words := slices.Clone(s.Command)
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	line := "exec -- " + strings.Join(words, " ") + "\n"
	if s.Dir == "" {
		return line
	}
	return "cd -- '" + strings.ReplaceAll(s.Dir, "'", `'\''`) + "' || exit\n" + line
}
