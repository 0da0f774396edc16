package sidecar

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// gears holds what decides now. A change of the configuration replaces all of it at
// once: a run sees the old or the new, never some of each.
type gears struct {
	now    atomic.Pointer[chosen]
	tokens *token.Register // whose holders have ceilings
}

// base is what decides when a call names no gear.
func (g *gears) base() gear.Frozen { return g.now.Load().base }

// with are the gears as they would be with something else in force.
func (g *gears) with(next *chosen) *gears {
	other := &gears{tokens: g.tokens}
	other.now.Store(next)
	return other
}

// Freeze implements [engine.Gears]. What holds at the start of a server holds for each of
// its runs: a token may have been made since.
func (g *gears) Freeze(p execution.Principal, name string) (gear.Frozen, error) {
	now := g.now.Load()
	ceiling, languages, err := g.ceiling(p, now.registry)
	if err != nil {
		return gear.Frozen{}, err
	}
	f, err := now.freeze(ceiling, name)
	if err != nil {
		return gear.Frozen{}, err
	}
	if len(languages) > 0 {
		f = f.Only(languages)
	}
	if err := checkAlone(g.tokens, f); err != nil {
		return gear.Frozen{}, &execution.RejectedError{Code: execution.CodeUnavailable, Message: err.Error()}
	}
	return f, nil
}

// chosen is what the operator chose.
type chosen struct {
	registry *gear.Registry
	server   gear.Gear
	overlays gear.Overlays
	base     gear.Frozen // what decides when a call names no gear
}

// choose resolves what the options name. Nothing is made on the disk.
func choose(o Options, dataDir string) (*chosen, error) {
	g := &chosen{registry: gear.OpenRegistry(filepath.Join(dataDir, "gears"))}
	var err error
	if g.server, err = o.load(g.registry); err != nil {
		return nil, about("gear", "%w", err)
	}
	if g.overlays, err = overlays(o, dataDir); err != nil {
		return nil, err
	}
	if g.base, err = gear.Freeze(g.server, nil, nil, g.overlays); err != nil {
		return nil, about("gear", "%w", err)
	}
	return g, g.checkReads(dataDir)
}

// load is the gear that the options name.
func (o Options) load(from *gear.Registry) (gear.Gear, error) {
	name := o.gear()
	if isFile(name) {
		return from.LoadFile(name)
	}
	return from.Get(name)
}

// CheckGear says why the gear of the options cannot be, whatever else they say.
func CheckGear(o Options) error {
	dir, err := o.dataDir()
	if err != nil {
		return err
	}
	_, err = o.load(gear.OpenRegistry(filepath.Join(dir, "gears")))
	return err
}

// checkReads refuses grants that would show the records, hide what the sandbox has of
// its own, or be something else than they say: a mount shows what a path leads to,
// while rules go by how it is written.
func (g *chosen) checkReads(dataDir string) error {
	granted := g.base.Granted(policy.Read)
	for _, entry := range granted {
		path, _ := strings.CutSuffix(entry, treeSuffix)
		switch {
		case path == "/" || path == "":
			return aboutGrant(entry, "a rule lets code read %s: name a file or a directory below /, the whole host cannot be shown", entry)
		case within(path, dataDir) || within(dataDir, path):
			return aboutGrant(entry, "a rule lets code read %s, and that would show the data directory %s: narrow the rule, or choose another --data-dir", entry, dataDir)
		case policy.IsOwn(policy.Permission{Kind: policy.Read, Target: path}, nil):
			return aboutGrant(entry, "a rule lets code read %s, but the sandbox has such a place of its own: pass the file with the call, or keep it elsewhere", entry)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			return aboutGrant(entry, "a rule lets code read %s, which is a link: name what it leads to, %s", entry, real)
		}
	}
	return errors.Join(g.checkRefusals(granted), g.checkTrees(granted))
}

// treeSuffix ends the pattern of a whole directory.
const treeSuffix = "/**"

// checkRefusals finds rules that refuse a part of what is shown under another name.
func (g *chosen) checkRefusals(granted []string) error {
	for _, r := range slices.Concat(g.overlays.Deny, g.overlays.Ask, g.server.Rules.Deny, g.server.Rules.Ask) {
		if r.Kind() != policy.Read {
			continue
		}
		names, _, open := r.Names()
		for _, pattern := range slices.Concat(names, open) {
			path, _, _ := strings.Cut(pattern, "*")
			path = strings.TrimSuffix(path, "/")
			real, err := filepath.EvalSymlinks(path)
			if err != nil || real == path {
				continue
			}
			for _, entry := range granted {
				if dir, _ := strings.CutSuffix(entry, treeSuffix); within(real, dir) || within(dir, real) {
					return fmt.Errorf("the rule %s goes through a link into what another rule shows: name %s itself", r, real)
				}
			}
		}
	}
	return nil
}

// checkTrees finds directories that a rule of the operator allows in vain, because
// another one takes a part out.
func (g *chosen) checkTrees(granted []string) error {
	for _, r := range g.overlays.Allow {
		if r.Kind() != policy.Read {
			continue
		}
		_, _, open := r.Names()
		for _, pattern := range open {
			if strings.HasSuffix(pattern, treeSuffix) && !slices.Contains(granted, pattern) {
				return aboutGrant(pattern, "the rule %s cannot be carried out: another rule takes a part of it out, and a mount shows all or nothing: allow the parts that may be read one by one", r)
			}
		}
	}
	return nil
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func isFile(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// overlays are the operator's rules file, the rules of the configuration and those of
// this start together.
func overlays(o Options, dataDir string) (gear.Overlays, error) {
	file, err := gear.LoadOverlays(filepath.Join(dataDir, rulesFile))
	if err != nil {
		return gear.Overlays{}, err
	}
	flags, err := gear.ParseOverlays(o.Allow, o.Ask, o.Deny)
	if err != nil {
		return gear.Overlays{}, err
	}
	servers, err := o.serverRules(dataDir)
	if err != nil {
		return gear.Overlays{}, err
	}
	return file.With(o.Rules).With(servers).With(flags), nil
}

// checkTrust refuses a gear without isolation unless the operator said so in
// so many words.
func checkTrust(o Options, g gear.Frozen) error {
	switch {
	case g.Isolation() != gear.None:
		return nil
	case !o.AllowFullTrust:
		return about("gear", "the gear %s runs code without any isolation, with your own rights: say --allow-full-trust if that is what you want", g.Name())
	case os.Geteuid() == 0 && !o.AllowFullTrustAsRoot:
		return about("gear", "without isolation and as root, code could do anything to this machine: start as another user, or add --allow-full-trust-as-root")
	}
	return nil
}

func (g *chosen) freeze(ceiling *gear.Gear, name string) (gear.Frozen, error) {
	if name == "" && ceiling == nil {
		return g.base, nil
	}
	if name == "" {
		return gear.Freeze(g.server, nil, ceiling, g.overlays)
	}
	call, err := g.registry.Get(name)
	if err == nil {
		var f gear.Frozen
		if f, err = gear.Freeze(g.server, &call, ceiling, g.overlays); err == nil {
			return f, nil
		}
	}
	return gear.Frozen{}, &execution.RejectedError{Code: execution.CodeInvalidArgument, Field: "gear", Message: err.Error()}
}
