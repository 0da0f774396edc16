//go:build linux

package sidecar_test

import (
	"runtime"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func TestACommandForOneProgramMakesNothingAhead(t *testing.T) {
	o := apart(t)
	o.Pool = sidecar.OnDemand()
	s := open(t, o)
	for range 3 {
		run(t, s, execution.Request{Code: "1"})
	}
	if p := s.Boxed(); p.Refills != 0 || p.Parked != 0 || p.FromParked+p.OnDemand != 3 {
		t.Errorf("%+v", p)
	}
}

func TestPoolSettingsReachThePool(t *testing.T) {
	o := apart(t)
	o.Pool = sidecar.PoolOptions{Concurrency: new(3), Size: new(2), Max: new(5)}
	s := open(t, o)
	run(t, s, execution.Request{Code: "1"})
	p := s.Boxed()
	for p.Parked < 2 { // they are made beside this
		runtime.Gosched()
		p = s.Boxed()
	}
	if p.Most != 3 || p.MaxParked != 5 || p.Templates[0].Target != 2 {
		t.Errorf("%+v", p)
	}
}

func TestMoreReadyOfOneKindThanInAllByDefaultRaisesTheWhole(t *testing.T) {
	o := apart(t)
	most := 4*runtime.NumCPU() + 3
	o.Pool = sidecar.PoolOptions{Size: &most}
	if p := open(t, o).Boxed(); p.MaxParked != most {
		t.Errorf("%+v", p)
	}
}
