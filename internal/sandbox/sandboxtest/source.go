package sandboxtest

import (
	"context"
	"errors"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

var sourceTests = []test{
	{"ProbeFindsTheBackendUsable", probeFindsTheBackendUsable},
	{"CloseKillsChildrenAndEndsTheSource", closeKillsChildren},
	{"StartObeysItsContext", startObeysItsContext},
	{"UnusedChildrenLeaveNothing", unusedChildren},
}

func probeFindsTheBackendUsable(t *testing.T, s *suite) {
	report := s.Backend.Probe(bounded(t))
	if !report.Available() || report.Backend != s.Backend.Name() {
		t.Errorf("report %+v", report)
	}
	if level := s.source.Level(); level != report.Level {
		t.Errorf("the probe found level %s, the source has %s", report.Level, level)
	}
	for _, c := range report.Checks {
		// One that failed is what keeps the machine from a stronger level.
		if c.Name == "" || !c.OK && c.Detail == "" {
			t.Errorf("check %+v", c)
		}
	}
}

func closeKillsChildren(t *testing.T, s *suite) {
	own := open(t, s.Config)
	parked, running := own.start(t), own.start(t)
	if _, err := Analyse(running.Bridge(), "import time\ntime.sleep(3600)"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := Execute(running.Bridge(), nil)
		ended <- err
	}()
	if err := own.source.Close(); err != nil {
		t.Error(err)
	}
	<-own.source.Done()
	if err := <-ended; err == nil {
		t.Error("a result from a program that was killed")
	}
	for _, child := range []sandbox.Child{parked, running} {
		if e, err := child.Wait(bounded(t)); err != nil || e.Cause != sandbox.CauseShutdown {
			t.Errorf("ended %+v, error %v", e, err)
		}
	}
	if _, err := own.source.Start(bounded(t), false); !errors.Is(err, sandbox.ErrSourceDead) {
		t.Errorf("start after close: %v", err)
	}
	if err := own.source.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func startObeysItsContext(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.source.Start(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func unusedChildren(t *testing.T, s *suite) {
	for range 3 {
		child := s.start(t)
		child.Kill(sandbox.CauseAbandoned)
		if e, err := child.Wait(bounded(t)); err != nil || e.Cause != sandbox.CauseAbandoned {
			t.Errorf("ended %+v, error %v", e, err)
		}
	}
}
