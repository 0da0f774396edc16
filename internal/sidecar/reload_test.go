//go:build linux

package sidecar_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// reload takes options up as they are.
func reload(t *testing.T, s *sidecar.Sidecar, o sidecar.Options) error {
	t.Helper()
	return s.Reload(t.Context(), func() (sidecar.Options, []string, []string, error) { return o, nil, nil, nil })
}

func rule(t *testing.T, text string) policy.Rule {
	t.Helper()
	r, err := policy.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r.From("gearbox.yaml")
}

func TestReloadedRulesAndGearsCountFromTheNextRunOn(t *testing.T) {
	o := apart(t)
	s := open(t, o)
	if r := run(t, s, execution.Request{Code: "import json; 1"}); r.Status != execution.StatusOK {
		t.Fatalf("%+v", r)
	}
	o.Rules = gear.Overlays{Deny: []policy.Rule{rule(t, "import(json)")}}
	if err := reload(t, s, o); err != nil {
		t.Fatal(err)
	}
	r := run(t, s, execution.Request{Code: "import json; 1"})
	if r.Status != execution.StatusDenied || !strings.Contains(r.Error.Violations[0].Rule+r.Error.Violations[0].Hint, "gearbox.yaml") {
		t.Errorf("a rule: %+v %+v", r, r.Error)
	}
	o.Gear = "read_only"
	if err := reload(t, s, o); err != nil {
		t.Fatal(err)
	}
	if r := run(t, s, execution.Request{Code: "1"}); r.Status != execution.StatusDenied || r.Gear != "read_only" {
		t.Errorf("a gear: %+v", r)
	}
	info, err := s.Environment().Info(t.Context(), execution.Local)
	if err != nil || info.Gear != "read_only" {
		t.Errorf("%+v, %v", info, err)
	}
	o.Gear, o.Rules = "restricted", gear.Overlays{}
	if err := reload(t, s, o); err != nil {
		t.Fatal(err)
	}
	if r := run(t, s, execution.Request{Code: "import json; 6*7"}); r.Status != execution.StatusOK || string(r.Value) != "42" {
		t.Errorf("and back: %+v", r)
	}
}

func TestReloadReadsTheFilesOfGearsAndRulesAnew(t *testing.T) {
	o := apart(t)
	s := open(t, o)
	file := filepath.Join(o.DataDir, "rules.yaml")
	t.Cleanup(func() { _ = os.Remove(file) })
	if err := os.WriteFile(file, []byte("deny: [import(json)]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reload(t, s, o); err != nil {
		t.Fatal(err)
	}
	if r := run(t, s, execution.Request{Code: "import json"}); r.Status != execution.StatusDenied {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(file, []byte("deny: [nonsense]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reload(t, s, o); err == nil || !strings.Contains(err.Error(), "rules.yaml:1:8") {
		t.Errorf("a broken file: %v", err)
	}
	if r := run(t, s, execution.Request{Code: "import json"}); r.Status != execution.StatusDenied {
		t.Errorf("after a broken file: %+v", r)
	}
}

func TestAReloadThatIsRefusedChangesNothingAndIsLogged(t *testing.T) {
	var log bytes.Buffer
	o := apart(t)
	s, err := sidecar.Open(t.Context(), o, "test", slog.New(slog.NewJSONHandler(&log, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	before := s.Boxed().Most
	for name, c := range map[string]struct {
		change func(*sidecar.Options)
		err    error
		want   string
	}{
		"a bad file":    {func(*sidecar.Options) {}, errors.New("gearbox.yaml:3:1: unknown key"), "gearbox.yaml:3:1"},
		"unknown gear":  {func(o *sidecar.Options) { o.Gear = "restrictde" }, nil, "did you mean restricted?"},
		"no isolation":  {func(o *sidecar.Options) { o.Gear, o.AllowFullTrust, o.AllowFullTrustAsRoot = "full_trust", true, true }, nil, "takes a restart"},
		"bad numbers":   {func(o *sidecar.Options) { o.Pool.Size, o.Pool.Max = new(8), new(4) }, nil, "--pool-size 8"},
		"bad bounds":    {func(o *sidecar.Options) { o.Principal.Rate = new(-1) }, nil, "--principal-rate -1"},
		"good and bad":  {func(o *sidecar.Options) { o.Pool.Concurrency, o.Gear = new(7), "none_such" }, nil, "none_such"},
		"shown records": {func(o *sidecar.Options) { o.Allow = []string{"read(" + o.DataDir + ")"} }, nil, "data directory"},
	} {
		next := o
		c.change(&next)
		err := s.Reload(t.Context(), func() (sidecar.Options, []string, []string, error) { return next, nil, nil, c.err })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := s.Boxed().Most; now != before {
		t.Errorf("%d at once, before %d", now, before)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "the configuration stays as it was"); n != 7 || !strings.Contains(log.String(), "gearbox.yaml:3:1: unknown key") {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
	if err := reload(t, s, o); err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("after the end: %v", err)
	}
}

func TestAChangeThatCannotBeRecordedIsNotMade(t *testing.T) {
	o := apart(t)
	s := open(t, o)
	kept := &changes{err: errors.New("the disk is full")}
	s.RecordChanges(kept)
	next := o
	next.Gear = "read_only"
	if err := reload(t, s, next); !errors.Is(err, kept.err) {
		t.Errorf("%v", err)
	}
	if r := run(t, s, execution.Request{Code: "1"}); r.Status != execution.StatusOK {
		t.Errorf("%+v", r)
	}
	kept.err = nil
	err := s.Reload(t.Context(), func() (sidecar.Options, []string, []string, error) {
		return next, []string{"gear"}, []string{"python"}, nil
	})
	c := kept.all[len(kept.all)-1]
	if err != nil || c.Old == c.New || !c.Rules || c.Taken[0] != "gear" || c.Waiting[0] != "python" || c.Refused != "" {
		t.Errorf("%v %+v", err, c)
	}
	if err := reload(t, s, next); err != nil {
		t.Fatal(err)
	}
	if again := kept.all[len(kept.all)-1]; again.Old != c.New || again.New != c.New || again.Rules {
		t.Errorf("without a change: %+v", again)
	}
}

func TestReloadedNumbersReachThePoolAndTheQueue(t *testing.T) {
	o := apart(t)
	o.Pool = sidecar.PoolOptions{Concurrency: new(2), Size: new(1)}
	s := open(t, o)
	run(t, s, execution.Request{Code: "1"})
	o.Pool = sidecar.PoolOptions{Concurrency: new(5), Size: new(3), Max: new(6), Idle: new(time.Minute)}
	if err := reload(t, s, o); err != nil {
		t.Fatal(err)
	}
	p := s.Boxed()
	if p.Most != 5 || p.MaxParked != 6 || p.Templates[0].Target != 3 || s.Engine().Load().Queue != 5+1000 {
		t.Errorf("%+v, %+v", p, s.Engine().Load())
	}
	o.Approvals.MaxPending = new(3000) // as many can be asked about at once
	if err := reload(t, s, o); err != nil {
		t.Fatal(err)
	}
	if n := s.Engine().Load().Queue; n != 5+3000 {
		t.Errorf("%d", n)
	}
}

func TestABackendThatDoesNotExistYetIsAnsweredAndNothingIsUsedInItsPlace(t *testing.T) {
	for _, name := range []string{sidecar.BackendWasm, sidecar.BackendOCI} {
		o := apart(t)
		o.Backend = name
		s := open(t, o)
		_, err := s.Engine().Submit(t.Context(), execution.Request{Code: "1", Language: execution.Python, Principal: execution.Local})
		var r *execution.RejectedError
		if !errors.As(err, &r) || r.Code != execution.CodeUnavailable || !strings.Contains(r.Message, "backend "+name) || !strings.Contains(r.Message, "MCP_EXECUTOR") {
			t.Errorf("%s: %v", name, err)
		}
		if d := s.Diagnose(t.Context()); d.Healthy {
			t.Errorf("%s: the doctor finds nothing: %+v", name, d)
		}
	}
	if _, err := tryOpen(t, sidecar.Options{Backend: "docker"}); err == nil || !strings.Contains(err.Error(), "linux, wasm, oci") {
		t.Errorf("docker: %v", err)
	}
}

// changes keeps them unless it has an error.
type changes struct {
	all []sidecar.Change
	err error
}

// Changed implements [sidecar.ChangeLog].
func (c *changes) Changed(_ context.Context, one sidecar.Change) error {
	if c.err == nil {
		c.all = append(c.all, one)
	}
	return c.err
}
