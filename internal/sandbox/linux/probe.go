//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// The checks of a probe, in the order in which a sandbox is built.
const (
	checkUserns     = "user namespaces"
	checkIDMaps     = "id maps"
	checkRoot       = "mounts"
	checkProc       = "proc"
	checkPivot      = "pivot"
	checkServer     = "fork server"
	checkNetwork    = "network namespace"
	checkScratch    = "scratch"
	checkInner      = "inner user namespace"
	checkPrivileges = "privileges"
	checkLandlock   = "landlock"
	checkSeccomp    = "seccomp"
	checkOutside    = "outside check"
	checkRun        = "run"
)

// What level no-userns needs instead.
const (
	checkIdentity = "identity"
	checkShelter  = "private directory"
	checkSignals  = "confined signals"
)

// checkOf tells which check a step of init or of the guest belongs to.
func checkOf(step string) string {
	return map[string]string{
		stepNamespaces: checkIDMaps, stepRoot: checkRoot, stepMounts: checkRoot, stepProc: checkProc,
		stepPivot: checkPivot, stepCapabilities: checkServer, stepInterpreter: checkServer,
		stepIdentity: checkIdentity, stepShelter: checkShelter, stepLandlock: checkSignals,
	}[step]
}

// checkOfSeal does so for the steps of seal.py.
func checkOfSeal(step string) string {
	return map[string]string{
		"namespaces": checkNetwork, "mounts": checkScratch, "user namespace": checkInner,
		"capabilities": checkPrivileges, "no new privileges": checkPrivileges,
		"landlock": checkLandlock, "limits": checkSeccomp, "seccomp": checkSeccomp,
	}[step]
}

// Probe builds a complete small sandbox, step by step, and runs a program in it.
// Asking for the parts alone is not enough: several systems let a namespace be
// made and then refuse what it is for. Where the kernel refuses a part that a weaker
// level does without, that level is tried as a whole.
func (b *Backend) Probe(ctx context.Context) sandbox.Report {
	p := prober{backend: b, report: sandbox.Report{Backend: b.Name()}, facts: readFacts()}
	if p.full(ctx) {
		p.report.Level = execution.LevelFull
		return p.report
	}
	level, ok := weaker(execution.LevelFull, p.failure)
	for ok && !p.weaker(ctx, level) {
		level, ok = weaker(level, p.failure)
	}
	if ok {
		p.report.Level = level
	}
	return p.report
}

// Accounting tells how exact the limits on memory and processes are. Without control
// groups everything runs all the same.
func (b *Backend) Accounting() sandbox.Check {
	const name = "control groups"
	if g := b.config.Groups; g != nil {
		return sandbox.Check{Name: name, OK: true, Detail: fmt.Sprintf("version %d: memory and processes are counted by the kernel", g.Version())}
	}
	return sandbox.Check{
		Name: name, Detail: "not delegated: memory of several processes is measured, less exactly",
		Hint: "start the server in a scope of its own: systemd-run --user --scope -p Delegate=yes gearbox serve",
	}
}

type prober struct {
	backend *Backend
	report  sandbox.Report
	facts   facts
	failure error // of the stage that failed last
}

// namespaces makes the two checks that need no interpreter.
func (p *prober) namespaces(ctx context.Context) bool {
	return p.stage(p.tryNamespaces(ctx, unix.CLONE_NEWUSER), nil, checkUserns) &&
		p.stage(p.tryNamespaces(ctx, namespaces), nil, checkIDMaps)
}

func (p *prober) full(ctx context.Context) bool {
	if !p.namespaces(ctx) {
		return false
	}
	in, err := p.backend.config.Interpreters(ctx, execution.Digest{})
	if err != nil {
		return p.stage(fmt.Errorf("find interpreter: %w", err), nil, checkServer)
	}
	src, err := p.backend.openAt(ctx, execution.LevelFull, in, sandbox.Template{Shape: withDefaults(sandbox.Shape{})})
	if !p.stage(err, checkOf, checkRoot, checkProc, checkPivot, checkServer) {
		return false
	}
	defer src.Close()
	c, err := src.Start(ctx, false)
	if !p.stage(err, checkOfSeal, checkNetwork, checkScratch, checkInner, checkPrivileges, checkLandlock, checkSeccomp, checkOutside) {
		return false
	}
	return p.stage(tryRun(ctx, c), nil, checkRun)
}

// weaker makes one check of a whole level.
func (p *prober) weaker(ctx context.Context, level execution.Level) bool {
	err := p.tryLevel(ctx, level)
	var step *StepError
	name := "level " + string(level)
	if p.stage(err, nil, name) {
		p.report.Checks[len(p.report.Checks)-1].Detail = Warning(level)
		return true
	}
	if errors.As(err, &step) {
		p.report.Checks[len(p.report.Checks)-1].Hint = hint(checkOf(step.Step), step.Errno, p.facts)
	}
	return false
}

func (p *prober) tryLevel(ctx context.Context, level execution.Level) error {
	in, err := p.backend.config.Interpreters(ctx, execution.Digest{})
	if err != nil {
		return fmt.Errorf("find interpreter: %w", err)
	}
	src, err := p.backend.openAt(ctx, level, in, sandbox.Template{Shape: withDefaults(sandbox.Shape{})})
	if err != nil {
		return err
	}
	defer src.Close()
	c, err := src.Start(ctx, false)
	if err != nil {
		return err
	}
	return tryRun(ctx, c)
}

// stage records the checks that one attempt decides. The one that the error names
// failed and those before it passed; an error that names none is the last one's.
func (p *prober) stage(err error, of func(step string) string, names ...string) bool {
	p.failure = err
	failed := len(names)
	if err != nil {
		failed--
		var step *StepError
		if errors.As(err, &step) && of != nil {
			if i := slices.Index(names, of(step.Step)); i >= 0 {
				failed = i
			}
		}
	}
	for _, n := range names[:failed] {
		p.report.Checks = append(p.report.Checks, sandbox.Check{Name: n, OK: true})
	}
	if err == nil {
		return true
	}
	p.report.Checks = append(p.report.Checks, sandbox.Check{
		Name: names[failed], Detail: err.Error(), Hint: hint(names[failed], errnoOf(err), p.facts),
	})
	return false
}

// tryNamespaces starts an init that reports at once. Without the other namespaces
// it has no id maps either: making those is what the second attempt shows.
func (p *prober) tryNamespaces(ctx context.Context, flags uintptr) error {
	attributes := p.backend.identity.attributes()
	if flags == unix.CLONE_NEWUSER {
		attributes = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	}
	s, err := startInit(ctx, launchConfig{
		init: initConfig{OnlyNamespaces: true}, attributes: attributes, logger: p.backend.config.Logger,
	})
	if err != nil {
		return err
	}
	defer func() {
		s.stop()
		<-s.exited
	}()
	_, err = s.configure(ctx, serverConfig{})
	return err
}

// tryRun runs a program as the engine would.
func tryRun(ctx context.Context, c sandbox.Child) error {
	const program, output = "print(6 * 7)", "42\n"
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.Kill(sandbox.CauseTimeout) })
	defer stop()
	limits := execution.DefaultLimits()
	if err := c.Arm(ctx, sandbox.Arm{Limits: limits, NoFork: true, NoExec: true}); err != nil {
		return err
	}
	result, err := converse(c.Bridge(), program)
	c.Kill(sandbox.CauseFinished)
	text, readErr := io.ReadAll(io.LimitReader(c.Stdout(), int64(execution.KiB)))
	_, _ = io.Copy(io.Discard, c.Stderr())
	_, waitErr := c.Wait(ctx)
	if err := errors.Join(err, readErr, waitErr); err != nil {
		return err
	}
	if result.Outcome != bridge.OutcomeOK || string(text) != output {
		return fmt.Errorf("the program ended as %q and printed %q", result.Outcome, text)
	}
	return nil
}

// converse has the guest analyse and run source.
func converse(conn bridge.Conn, source string) (result bridge.ResultHead, err error) {
	head := bridge.AnalyseHead{Language: string(execution.Python)}
	if _, err := exchange(conn, bridge.Analyse, head, []byte(source), bridge.Facts); err != nil {
		return result, err
	}
	answer, err := exchange(conn, bridge.Run, bridge.RunHead{}, nil, bridge.Result)
	if err != nil {
		return result, err
	}
	return result, json.Unmarshal(answer.Head, &result)
}

// exchange sends one frame and reads the answer.
func exchange(conn bridge.Conn, kind bridge.Kind, head any, body []byte, answer bridge.Kind) (bridge.Frame, error) {
	f, err := bridge.NewFrame(kind, 1, head, body)
	if err != nil {
		return bridge.Frame{}, err
	}
	if err := conn.WriteFrame(f); err != nil {
		return bridge.Frame{}, err
	}
	f, err = conn.ReadFrame()
	if err == nil && f.Kind != answer {
		err = fmt.Errorf("guest answered with frame kind %d", f.Kind)
	}
	return f, err
}
