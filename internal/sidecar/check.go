package sidecar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// OptionError is about a value that cannot be, or cannot be together with others. Its
// text speaks of options by their flags.
type OptionError struct {
	error

	option, value string
}

// Setting is the flag of the option that is at fault, without dashes.
func (e *OptionError) Setting() string { return e.option }

// Value is the one of several values that is at fault, if that is known.
func (e *OptionError) Value() string { return e.value }

// Unwrap is the error without its option.
func (e *OptionError) Unwrap() error { return e.error }

// about makes an error about the option with a flag.
func about(flag, format string, args ...any) error {
	return &OptionError{error: fmt.Errorf(format, args...), option: flag}
}

// aboutGrant is about the rule that lets code read a path.
func aboutGrant(path, format string, args ...any) error {
	return &OptionError{error: fmt.Errorf(format, args...), option: "allow", value: policy.Permission{Kind: policy.Read, Target: path}.String()}
}

// Check is everything that is wrong with the options as far as that can be said without
// starting or making anything. Values at fault are told by *[OptionError].
func Check(o Options) error {
	dir, err := o.dataDir()
	if err != nil {
		return err
	}
	_, err = o.check(dir)
	return err
}

// CheckStart is [Check] and everything else that would keep a server from starting with
// the options, but for what other processes hold: ports, sockets and locks. Of what is
// there only the interpreter of the options is started, to ask it what it is.
func CheckStart(ctx context.Context, o Options) error {
	dir, err := o.dataDir()
	if err != nil {
		return err
	}
	c, err := o.check(dir)
	errs := []error{err, o.checkServing(dir)}
	if st, err := os.Stat(dir); err == nil {
		errs = append(errs, checkOwner(dir, st))
	}
	if _, err := logging.NewRedactor(o.Redact); err != nil {
		errs = append(errs, err)
	}
	if o.Python != "" {
		_, err := named(ctx, o.Python, c != nil && o.missing() == "" && c.base.Isolation() != gear.None)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkServing finds what servers have and commands that run one program do not.
func (o Options) checkServing(dataDir string) error {
	err := o.Web.check(openTokens(dataDir))
	if w := o.Approvals.Webhook; w.URL != "" && w.SecretFile != "" {
		_, secret := w.secret()
		err = errors.Join(err, w.aboutSecret(secret))
	}
	return errors.Join(err, o.checkCredential())
}

// checkCredential refuses a start that asks for what nobody could show: whoever decides
// elsewhere would not be asked for it either.
func (o Options) checkCredential() error {
	wanted := o.Approvals.Credential
	if wanted == "" || wanted == string(credential.None) || o.Approvals.Mode == "off" {
		return nil
	}
	if _, err := Credential(o); err != nil {
		return about("approvals-credential", "%w", err)
	}
	return nil
}

// check also returns what decides under these options.
func (o Options) check(dataDir string) (*chosen, error) {
	errs := []error{o.Pool.check(), o.Principal.check(), o.Approvals.Webhook.check(), o.Agent.check(), o.Tools.check(), o.checkBackend(), o.checkCompat()}
	_, err := o.minimumIsolation(false)
	errs = append(errs, err)
	_, err = o.preload()
	errs = append(errs, err)
	_, err = o.Approvals.page()
	errs = append(errs, err)
	c, err := choose(o, dataDir)
	if err == nil {
		err = errors.Join(checkTrust(o, c.base), checkSharing(o, c.base, dataDir))
	}
	return c, errors.Join(append(errs, err)...)
}

func (o Options) checkCompat() error {
	known := mcpserver.Profiles()
	for i, name := range o.Compat {
		switch {
		case !slices.Contains(known, name):
			return about("compat", "unknown compatibility profile %q: use one of %s", name, strings.Join(known, ", "))
		case slices.Contains(o.Compat[:i], name):
			return about("compat", "--compat %s is given twice: leave one of them out", name)
		}
	}
	return nil
}
