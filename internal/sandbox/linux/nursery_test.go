//go:build linux && (amd64 || arm64)

package linux

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// nurseryOf finds the nursery among the fork server's children: it has reapers.
func nurseryOf(t *testing.T, s *source) int {
	t.Helper()
	for _, pid := range childrenOf(s.server.process.Pid) {
		if len(childrenOf(pid)) > 0 {
			return pid
		}
	}
	t.Fatal("there is no nursery")
	return 0
}

// cellsOf are the fork server's children but for the nursery.
func cellsOf(t *testing.T, s *source) []int {
	t.Helper()
	nursery := nurseryOf(t, s)
	return slices.DeleteFunc(childrenOf(s.server.process.Pid), func(pid int) bool { return pid == nursery })
}

func statusText(t *testing.T, pid int) []byte {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func TestTheNurseryHoldsOneCapabilityAndNoOthersDescriptor(t *testing.T) {
	s := open(t, sandbox.Shape{})
	start(t, s)
	pid := nurseryOf(t, s)
	one := fmt.Sprintf("%016x", 1<<unix.CAP_SYS_ADMIN)
	want := s.outside.wantIdentity().with("NoNewPrivs", "1").with("CapPrm", one).with("CapEff", one)
	for _, set := range []string{"CapInh", "CapBnd", "CapAmb"} {
		want = want.with(set, noCapabilities)
	}
	if err := want.compare("nursery", statusText(t, pid)); err != nil {
		t.Error(err)
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	// Its socket, two that init was given, and its own pid namespace. A pipe comes and
	// goes while it makes a reaper.
	for _, f := range open {
		if n, err := strconv.Atoi(f.Name()); err != nil || n > firstUnused+4 {
			t.Errorf("descriptor %s is open", f.Name())
		}
	}
}

func TestReapersHoldNothing(t *testing.T) {
	s := open(t, sandbox.Shape{})
	c := start(t, s)
	reaper, err := c.reaper.pid()
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", reaper))
	if err != nil || len(open) != 0 {
		t.Errorf("descriptors %v, %v", open, err)
	}
	if got := field(statusText(t, reaper), "SigBlk"); got != "fffffffffffbfeff" { // all but SIGKILL and SIGSTOP
		t.Errorf("blocks the signals %s", got)
	}
}

// TestReapersWaitForChildren: the next child finds one made.
func TestReapersWaitForChildren(t *testing.T) {
	s := open(t, sandbox.Shape{})
	c := start(t, s)
	reaper, err := c.reaper.pid()
	if err != nil {
		t.Fatal(err)
	}
	var spare []int
	for ctx := bounded(t); len(spare) < spareReapers; {
		spare = nil
		for _, pid := range childrenOf(nurseryOf(t, s)) {
			if pid != reaper {
				spare = append(spare, pid)
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("reapers %v", spare)
		}
	}
	next, err := start(t, s).reaper.pid()
	if err != nil || next != spare[0] {
		t.Errorf("the next child has the reaper %d, %v; spare were %v", next, err, spare)
	}
}

func TestTheForkServerEndsWithItsNursery(t *testing.T) {
	s := open(t, sandbox.Shape{})
	start(t, s)
	if err := unix.Kill(nurseryOf(t, s), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// It takes the kernel a moment, in which it may still hand over what it had made.
	var err error
	for i := 0; err == nil && i < spareReapers+2; i++ {
		_, err = s.Start(bounded(t), false)
	}
	if !errors.Is(err, sandbox.ErrSourceDead) || !strings.Contains(err.Error(), "nursery has ended") {
		t.Errorf("got %v", err)
	}
	<-s.Done()
}
