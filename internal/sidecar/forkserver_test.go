//go:build linux

package sidecar_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func TestWhenAForkServerIsKilledItsRunsFailPlainlyAndTheNextOneRuns(t *testing.T) {
	s := open(t, sidecar.Options{})
	atRest(t, s)
	for round := range 3 {
		ids := busy(t, s, 4)
		for _, pid := range forkServers(t) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if r := run(t, s, execution.Request{Code: "print(1)"}); r.Status != execution.StatusOK || r.Stdout != "1\n" {
			t.Errorf("the next call: %+v", r)
		}
		t.Logf("round %d: the next call was answered after %v", round, time.Since(began))
		for _, id := range ids {
			r, err := s.Engine().Wait(t.Context(), execution.Local, id, time.Minute)
			if err != nil || r.Status != execution.StatusInterrupted || r.Error == nil || r.Error.Code != string(execution.CodeInterrupted) {
				t.Errorf("%+v, %v", r, err)
			}
			if r.Stdout != "started\n" {
				t.Errorf("what it had printed: %q", r.Stdout)
			}
		}
	}
	if lost := s.Boxed().Lost; lost < 3 {
		t.Errorf("%d sources lost, 3 were killed", lost)
	}
}

// busy starts programs that do not end, and returns when each of them has printed.
func busy(t *testing.T, s *sidecar.Sidecar, n int) []execution.ID {
	t.Helper()
	var ids []execution.ID
	for range n {
		id, err := s.Engine().Submit(t.Context(), execution.Request{
			Principal: execution.Local, Language: execution.Python, Code: "import time\nprint('started')\ntime.sleep(600)", Timeout: 5 * time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for {
				r, err := s.Engine().Wait(t.Context(), execution.Local, id, time.Millisecond)
				if err != nil || r.Stdout != "" || r.Status.Final() {
					return
				}
			}
		})
	}
	wg.Wait()
	return ids
}

// forkServers are the children of this process that run the guest.
func forkServers(t *testing.T) []int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, list := range lists {
		for pid := range strings.FieldsSeq(read(t, list)) {
			cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%s/cmdline", pid))
			if n, err := strconv.Atoi(pid); err == nil && strings.Contains(string(cmdline), "forkserver.py") {
				out = append(out, n)
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("there is no fork server")
	}
	return out
}

// TestACallRightAfterTheEndOfAnIdleForkServerIsNoFailureOfOurs: one of its parked children
// may be handed out before anybody has noticed. A program that has not begun is given
// another; one that has is told that it was interrupted.
func TestACallRightAfterTheEndOfAnIdleForkServerIsNoFailureOfOurs(t *testing.T) {
	s := open(t, sidecar.Options{})
	for range 10 {
		atRest(t, s)
		for _, pid := range forkServers(t) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		for call := range 3 {
			// A file is brought in before the start, and takes until the child is gone.
			r := run(t, s, execution.Request{Code: "print(1)", Files: []execution.File{{Path: "f", Data: []byte("x")}}})
			begun := r.Status == execution.StatusInterrupted && strings.Contains(r.Error.Message, "while the program ran")
			if r.Status != execution.StatusOK && !begun {
				t.Errorf("call %d: %s, %+v", call, r.Status, r.Error)
			}
		}
	}
}

// TestAForkServerThatIsStoppedIsReplaced: it neither makes children nor collects the dead,
// and the places of those are wanted by others.
func TestAForkServerThatIsStoppedIsReplaced(t *testing.T) {
	s := open(t, sidecar.Options{})
	atRest(t, s)
	for _, pid := range forkServers(t) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 * s.Boxed().Most {
		if r := run(t, s, execution.Request{Code: "print(1)"}); r.Status != execution.StatusOK {
			t.Errorf("%s, %+v", r.Status, r.Error)
		}
	}
}

// TestAForkServerThatIsStoppedDoesNotHoldUpTheEnd: it would not collect what is killed, and
// the backend ends such a one only after many seconds, with words in the log.
func TestAForkServerThatIsStoppedDoesNotHoldUpTheEnd(t *testing.T) {
	for name, end := range map[string]func(*sidecar.Sidecar) error{
		"closed": (*sidecar.Sidecar).Close,
		"no longer served": func(s *sidecar.Sidecar) error {
			ctx, stop := context.WithCancel(t.Context())
			stop()
			_, there := mcp.NewInMemoryTransports()
			_ = s.Serve(ctx, there)
			return s.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			s, err := sidecar.Open(t.Context(), sidecar.Options{DataDir: cpythontest.DataDir(t)}, "test", slog.New(slog.NewTextHandler(&log, nil)), nil)
			if err != nil {
				t.Fatal(err)
			}
			run(t, s, execution.Request{Code: "1"}) // skips where there is no sandbox
			ids := busy(t, s, 2)
			for _, pid := range forkServers(t) {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			if err := end(s); err != nil {
				t.Error(err)
			}
			for _, id := range ids {
				if r, err := s.Engine().Wait(t.Context(), execution.Local, id, 0); err != nil || !r.Status.Final() {
					t.Errorf("%+v, %v", r, err)
				}
			}
			if strings.Contains(log.String(), "does not collect") {
				t.Error(log.String())
			}
		})
	}
}
