package analysis

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// The bounds on facts. They stand above those of the guest's analyser, so that
// only something else than the analyser can exceed them.
const (
	maxFacts = 4096
	maxText  = 4096
	maxPlace = 1 << 24
)

// Workspace is where relative paths of a program begin.
const Workspace = "/workspace"

// ErrFacts is wrapped by the error for facts that no analyser of ours writes.
var ErrFacts = errors.New("analysis: malformed facts")

// Permissions are what the facts ask for: one for each kind and target, where
// the source first calls for it, in the order of the source. The error wraps
// [ErrFacts]; nothing may run on facts that are malformed.
//
// Paths are made absolute from [Workspace] and clean. A leading ~ is home, which
// in a sandbox is [Workspace] too; it stays where home is empty, since then whose
// home it means is not known. A path outside the sandbox that is only
// read and does not exist on the host needs no permission, because there is
// nothing to grant: exists tells. It shows the asker what exists, so it is for
// gears that would put the question to a human; nil takes every path to exist.
func Permissions(head bridge.FactsHead, home string, exists func(path string) bool) ([]policy.Permission, error) {
	if len(head.Facts) > maxFacts {
		return nil, fmt.Errorf("%w: %d of them", ErrFacts, len(head.Facts))
	}
	type target struct {
		kind policy.Kind
		name string
	}
	first := map[target]policy.Permission{}
	for i, f := range head.Facts {
		p, err := permission(f, home)
		if err != nil {
			return nil, fmt.Errorf("%w: fact %d: %w", ErrFacts, i, err)
		}
		key := target{p.Kind, p.Target}
		if known, ok := first[key]; !ok || place(p, known) < 0 {
			first[key] = p
		}
	}
	out := make([]policy.Permission, 0, len(first))
	for _, p := range first {
		if !absent(p, exists) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, order)
	return out, nil
}

func permission(f bridge.Fact, home string) (policy.Permission, error) {
	p := policy.Permission{Kind: policy.Kind(f.Kind), Target: f.Target, Via: f.Via, Line: f.Line, Column: f.Column}
	switch {
	case !slices.Contains(predicted(), p.Kind):
		return p, fmt.Errorf("unknown kind %.40q", f.Kind)
	case f.Target == "":
		return p, errors.New("no target")
	case len(f.Target) > maxText || len(f.Via) > maxText:
		return p, fmt.Errorf("text of %d bytes", max(len(f.Target), len(f.Via)))
	case !utf8.ValidString(f.Target) || !utf8.ValidString(f.Via):
		return p, errors.New("text is not UTF-8")
	case f.Line < 0 || f.Line > maxPlace || f.Column < 0 || f.Column > maxPlace:
		return p, fmt.Errorf("place %d:%d", f.Line, f.Column)
	}
	if p.Kind == policy.Read || p.Kind == policy.Write {
		p.Target = absolute(f.Target, home)
	}
	return p, nil
}

// predicted are the kinds that a source can tell of.
func predicted() []policy.Kind {
	return []policy.Kind{
		policy.Import, policy.Read, policy.Write, policy.Net, policy.Run, policy.Env, policy.Install, policy.Tool, policy.Unsafe,
	}
}

func absolute(target, home string) string {
	inHome := target == "~" || strings.HasPrefix(target, "~/")
	switch {
	case inHome && home != "":
		return path.Join(home, target[1:])
	case inHome:
		if clean := path.Clean(target); clean[0] == '~' {
			return clean
		}
		return target // it climbs out of a home that is not known here
	case path.IsAbs(target):
		return path.Clean(target)
	}
	return path.Join(Workspace, target)
}

// absent reports whether there is nothing that a grant could show.
func absent(p policy.Permission, exists func(string) bool) bool {
	outside := p.Kind == policy.Read && path.IsAbs(p.Target) && !policy.IsOwn(p, nil)
	return outside && exists != nil && !exists(p.Target)
}

func place(a, b policy.Permission) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}

func order(a, b policy.Permission) int {
	if c := place(a, b); c != 0 {
		return c
	}
	if c := strings.Compare(string(a.Kind), string(b.Kind)); c != 0 {
		return c
	}
	return strings.Compare(a.Target, b.Target)
}
