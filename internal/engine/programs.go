package engine

import (
	"errors"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

const (
	notGranted = " is not among the gear's programs, which env://gear lists: use one of those."
	notHere    = " This machine has no such program in /usr/bin or /bin either: look at the spelling."
)

// tellOfPrograms says of a program that a script was refused what helps the author
// of a script: those who write Python are told to do without any.
func (e *Engine) tellOfPrograms(op *operation, err error) {
	var denied *authz.DeniedError
	if op.request.Language != execution.Bash || !errors.As(err, &denied) {
		return
	}
	for i := range denied.Refusals {
		r := &denied.Refusals[i]
		hint := r.Decision.Permission.Target + notGranted
		if e.wouldAskForNothing(op, r.Decision.Permission) {
			hint += notHere
		}
		r.Hint = strings.Replace(r.Hint, policy.WithoutPrograms, hint, 1)
	}
}

// wouldAskForNothing reports whether a human would be asked for a program that the
// machine does not have. To other gears it is never said: a refusal must not tell.
func (e *Engine) wouldAskForNothing(op *operation, p policy.Permission) bool {
	if p.Kind != policy.Run || strings.Contains(p.Target, "/") || op.gear.Decide(p).Effect != policy.Ask {
		return false
	}
	return !e.c.Exists("/usr/bin/"+p.Target) && !e.c.Exists("/bin/"+p.Target)
}
