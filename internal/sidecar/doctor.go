package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// Diagnosis is what the doctor found.
type Diagnosis struct {
	// Isolation is the level that runs would have, empty when nothing would run.
	Isolation execution.Level `json:"isolation"`
	Backend   string          `json:"backend"`
	Python    DiagnosedPython `json:"python"`
	Checks    []sandbox.Check `json:"checks"`
	// Healthy is true when an execution would work.
	Healthy bool `json:"-"`
}

// DiagnosedPython is the interpreter in use.
type DiagnosedPython struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Repair replaces the embedded interpreter by a fresh copy.
func Repair(ctx context.Context, o Options, l *slog.Logger, progress func(string)) error {
	if o.Python != "" {
		return errors.New("only the embedded interpreter can be repaired, and --python names another")
	}
	dir, err := o.dataDir()
	if err != nil {
		return err
	}
	i, err := cpython.Repair(ctx, cpython.Config{Dir: dir, Logger: l, Progress: progress})
	i.Release()
	return err
}

// Diagnose finds out what this machine can do by doing it, reading every file of
// the interpreter on the way.
func (s *Sidecar) Diagnose(ctx context.Context) Diagnosis {
	var d Diagnosis
	p := s.places
	python, err := p.current(ctx)
	d.Python = DiagnosedPython{Path: python.Executable, Version: python.Version}
	d.add("interpreter", err, python.Executable, cmp.Or(hint(err), p.otherPython()))
	if err != nil { // which a sandbox is built around
		s.diagnoseBeside(ctx, &d)
		return d
	}
	if python.Embedded {
		r, err := cpython.Verify(ctx, p.dataDir)
		if err == nil {
			err = r.Err()
		}
		d.add("interpreter contents", err, fmt.Sprintf("%d files as they were unpacked", r.Files), hint(err))
	}
	if p.backend == nil {
		_, err := p.isolated(ctx, engine.Place{})
		d.add("backend", err, "", "")
		return d
	}
	// A check of the probe that failed beside a level that was reached is what keeps
	// this machine from a stronger one, and no illness.
	sound := !d.failed()
	report := p.probe()
	d.Checks = append(d.Checks, report.Checks...)
	d.Backend, d.Isolation = report.Backend, report.Level
	enough := report.Available() && report.Level.AtLeast(p.least)
	if report.Available() && !enough {
		d.add("minimum isolation", fmt.Errorf("%s is below the minimum of %s", report.Level, p.least), "", "start with --minimum-isolation "+string(report.Level))
	}
	d.Healthy = sound && enough && s.diagnosePreload(ctx, &d)
	s.diagnoseBeside(ctx, &d)
	return d
}

// otherPython is what can be done about an interpreter that the operator named.
func (p *places) otherPython() string {
	if p.options.Python == "" {
		return ""
	}
	return "name another with --python, of Python 3.10 or newer, or leave it out: the embedded one needs nothing"
}

// diagnoseBeside tells what has no say in the verdict.
func (s *Sidecar) diagnoseBeside(ctx context.Context, d *Diagnosis) {
	if b, ok := s.places.backend.(accountant); ok {
		d.Checks = append(d.Checks, b.Accounting())
	}
	s.diagnoseShell(d)
	s.diagnoseCredential(d)
	s.diagnoseServers(ctx, d)
	s.diagnoseModel(d)
}

// diagnoseServers starts every configured server, all at once.
func (s *Sidecar) diagnoseServers(ctx context.Context, d *Diagnosis) {
	if s.servers == nil {
		return
	}
	s.servers.Known(ctx, true)
	for _, one := range s.Upstreams() {
		var err error
		detail := fmt.Sprintf("%d tools over %s", one.Tools, one.Transport)
		switch one.State {
		case upstream.Ready:
		case upstream.Disabled:
			detail = one.Reason
		case upstream.Failed, upstream.Starting, upstream.Lazy:
			err = errors.New(cmp.Or(one.Reason, "it did not start in time"))
		}
		d.add("server "+one.Name, err, detail, "gearbox upstream test "+one.Name+" tells more")
	}
}

// diagnoseModel tells whether the model of run_agent could be asked, without asking it.
func (s *Sidecar) diagnoseModel(d *Diagnosis) {
	if s.options.Agent.On() {
		d.add("model", CheckAgent(s.options, s.self.Version), s.options.Agent.Model+" writes programs for run_agent", "see agent in docs/configuration.md")
	}
}

// diagnosePreload imports the modules as a run would find them.
func (s *Sidecar) diagnosePreload(ctx context.Context, d *Diagnosis) bool {
	if s.places.preload == "" || !s.places.isolates() {
		return true
	}
	_, err := s.places.Place(ctx, execution.Local, s.gears.base(), execution.Python)
	d.add("preload", err, s.places.preload+" found imported by programs", "")
	return err == nil
}

// accountant is a backend that can tell how exact its limits are here.
type accountant interface{ Accounting() sandbox.Check }

// diagnoseShell comes after the verdict: without bash Python runs all the same.
func (s *Sidecar) diagnoseShell(d *Diagnosis) {
	if !s.gears.base().AllowsLanguage(execution.Bash) {
		return
	}
	var err error
	if !s.places.shell {
		err = errors.New(noShell)
	}
	d.add("bash", err, "programs in bash run", shellHint)
}

// diagnoseCredential comes after the verdict too: it is about who may say yes to a run.
func (s *Sidecar) diagnoseCredential(d *Diagnosis) {
	if s.options.Approvals.Mode == "off" {
		return
	}
	const name = "approvals credential"
	const set = "set one with: gearbox approvals credential set passphrase, or totp"
	kind, err := s.guard.Kind()
	if err == nil && kind == credential.None {
		d.Checks = append(d.Checks, sandbox.Check{
			Name: name, OK: true, Warning: true, Hint: set,
			Detail: "none: whoever has your rights on this machine, as an agent with a shell of yours has, can approve what agents ask",
		})
		return
	}
	d.add(name, err, "each decision needs the "+string(kind), set)
}

func (d *Diagnosis) add(name string, err error, detail, hint string) {
	c := sandbox.Check{Name: name, OK: err == nil, Detail: detail}
	if err != nil {
		c.Detail, c.Hint = err.Error(), hint
	}
	d.Checks = append(d.Checks, c)
}

func (d *Diagnosis) failed() bool {
	for _, c := range d.Checks {
		if !c.OK {
			return true
		}
	}
	return false
}

// hint is the mend that an error carries, if it carries one.
func hint(err error) string {
	var tampered *cpython.TamperedError
	var directory *cpython.DirectoryError
	switch {
	case errors.As(err, &tampered):
		return tampered.Hint
	case errors.As(err, &directory):
		return directory.Hint
	}
	return ""
}
