package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// rulesFile is the operator's rules, in the data directory.
const rulesFile = "rules.yaml"

// How long one who writes rules is waited for, and how often it is tried.
const (
	rulesWait  = 10 * time.Second
	rulesRetry = 20 * time.Millisecond
)

// exact refuses a rule that would allow more than the permission that was asked about, as
// one with a pattern for the name of a file that has a star in it.
func exact(one execution.Asked) error {
	rule, err := gear.ParseRule(one.Allow, true)
	if err != nil {
		return fmt.Errorf("the rule for %s: %w", one, err)
	}
	names, all, open := rule.Names()
	matches := rule.Match(policy.Permission{Kind: policy.Kind(one.Kind), Target: one.Target})
	if !matches || len(open) > 0 || len(names) > 1 || all {
		return fmt.Errorf("%s cannot be allowed for good: the rule %s would not allow exactly this; approve it once", one, one.Allow)
	}
	return nil
}

// rulesError is that rules could not be added to the rules file. The operator whose file it
// is can mend that.
type rulesError struct{ err error }

func (e *rulesError) Error() string { return e.err.Error() }
func (e *rulesError) Unwrap() error { return e.err }

// withRules adds rules that allow to the rules file, if decide then succeeds: all that can
// fail beforehand has been done when it is called. Others who add rules wait meanwhile.
func withRules(ctx context.Context, dataDir string, rules []string, decide func() error) (err error) {
	path := filepath.Join(dataDir, rulesFile)
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // an operator may keep the file elsewhere, and the link stays
	}
	waiting, stop := context.WithTimeout(ctx, rulesWait)
	defer stop()
	if _, err := lock.TryLockContext(waiting, rulesRetry); err != nil {
		return fmt.Errorf("lock the rules file; a process that is stopped may hold %s: %w", lock.Path(), err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	before, err := strictyaml.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the rules: %w", err)
	}
	after, err := gear.AppendAllow(path, before, rules)
	if err != nil {
		return fmt.Errorf("add to the rules: %w", err)
	}
	next, err := prepareRules(filepath.Dir(path), after)
	if err != nil {
		return fmt.Errorf("write the rules: %w", err)
	}
	defer func() { _ = os.Remove(next) }() // there only when something failed
	if err := decide(); err != nil {
		return err
	}
	if err := errors.Join(os.Rename(next, path), syncDir(filepath.Dir(path))); err != nil {
		return &rulesError{fmt.Errorf("it is approved and runs, but the rules could not be put in place and the like will be asked about again: %w", err)}
	}
	return nil
}

// prepareRules writes the text beside the rules file, onto the disk, and reads it as every
// start does.
func prepareRules(dir string, text []byte) (name string, err error) {
	tmp, err := os.CreateTemp(dir, "."+rulesFile+"-*") // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		_, err = gear.LoadOverlays(tmp.Name())
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(tmp.Name()))
	}
	return tmp.Name(), nil
}

// syncDir makes a rename outlive a power failure.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// takeRules reads the rules file anew, and nothing else: a question was answered with
// always. What it finds counts from the next run on, like a change by [Sidecar.Reload].
func (s *Sidecar) takeRules(ctx context.Context) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.closed {
		return nil
	}
	now := s.gears.now.Load()
	c := Change{Old: s.options.inForce(now), Taken: []string{rulesFile}}
	next, err := now.withRules(s.options, s.places.dataDir)
	if err != nil {
		c.New, c.Refused, c.Taken = c.Old, err.Error(), nil
		return errors.Join(err, s.keep(ctx, c))
	}
	if next.base.Digest() == now.base.Digest() {
		return nil
	}
	c.New, c.Rules = s.options.inForce(next), true
	if err := s.keep(ctx, c); err != nil {
		return err
	}
	s.take(ctx, s.options, next, true)
	return nil
}

// withRules is the same gear under the rules as they are now.
func (g *chosen) withRules(o Options, dataDir string) (*chosen, error) {
	next := *g
	var err error
	if next.overlays, err = overlays(o, dataDir); err != nil {
		return nil, err
	}
	if next.base, err = gear.Freeze(next.server, nil, nil, next.overlays); err != nil {
		return nil, about("gear", "%w", err)
	}
	return &next, next.checkReads(dataDir)
}
