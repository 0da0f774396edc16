//go:build linux

package sidecar_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// apart are options with a data directory that no other test uses, and an interpreter
// that need not be unpacked there.
func apart(t *testing.T) sidecar.Options {
	t.Helper()
	python := cpythontest.Interpreter(t)
	t.Cleanup(python.Release)
	return sidecar.Options{DataDir: t.TempDir(), Python: python.Executable}
}

func instances(t *testing.T, o sidecar.Options) []sidecar.Report {
	t.Helper()
	_, reports, err := sidecar.Instances(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

func TestTheStatusShowsWhatEachServerDoes(t *testing.T) {
	o := apart(t)
	o.Transport = sidecar.TransportStdio
	busy := open(t, o)
	idle := o
	idle.Transport, idle.Gear = sidecar.TransportExec, "restricted"
	open(t, idle)
	run(t, busy, execution.Request{Code: "print(1)"})
	id, err := busy.Engine().Submit(t.Context(), execution.Request{
		Principal: execution.Local, Language: execution.Python, Code: "import time\ntime.sleep(600)", Timeout: 300 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	// What is going on goes on beside this: the second program starts, the first is taken apart.
	reports := until(t, o, func(all []sidecar.Report) bool {
		return len(all) == 2 && handedOut(all[0]) == 2 && ended(all[0], "finished") == 1 && all[0].Status.Load.Running == 1
	})
	first, second := *reports[0].Status, *reports[1].Status
	if first.PID != os.Getpid() || first.Version != "test" || first.Uptime <= 0 || first.Transport != sidecar.TransportStdio ||
		first.Gear != sidecar.DefaultGear || first.Isolation == "" || len(first.Pools) != 1 || first.Load.Running != 1 || first.Load.Waiting != 0 {
		t.Errorf("%+v", first)
	}
	if p := first.Pools[0]; p.Backend != "linux" || p.Wait.Count != 2 || p.Live != 1 {
		t.Errorf("%+v", p)
	}
	if second.Transport != sidecar.TransportExec || second.Gear != "restricted" || second.Load.Running != 0 || handedOut(reports[1]) != 0 {
		t.Errorf("%+v", second)
	}
	if _, err := busy.Engine().Cancel(t.Context(), execution.Local, id); err != nil {
		t.Fatal(err)
	}
	until(t, o, func(all []sidecar.Report) bool {
		return ended(all[0], "cancelled") == 1 && all[0].Status.Load.Running == 0
	})
	if err := busy.Close(); err != nil {
		t.Fatal(err)
	}
	if reports := instances(t, o); len(reports) != 1 || reports[0].Status.Gear != "restricted" {
		t.Errorf("after the end of the first: %+v", reports)
	}
}

// until asks again and again; the test's own time limit is what ends a wait in vain.
func until(t *testing.T, o sidecar.Options, ok func([]sidecar.Report) bool) []sidecar.Report {
	t.Helper()
	for {
		all := instances(t, o)
		for _, r := range all {
			if r.Status == nil {
				t.Fatalf("%+v", r)
			}
		}
		if ok(all) {
			return all
		}
	}
}

func ended(r sidecar.Report, cause string) uint64 { return r.Status.Pools[0].Ended[cause] }

func handedOut(r sidecar.Report) uint64 {
	return r.Status.Pools[0].FromParked + r.Status.Pools[0].OnDemand
}

func TestProgramsCannotReachTheSocketOfTheirServer(t *testing.T) {
	o := apart(t)
	var err error
	if o.DataDir, err = os.MkdirTemp("", "gb"); err != nil { // short enough for Python
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(o.DataDir) })
	s := open(t, o)
	sockets, err := filepath.Glob(filepath.Join(o.DataDir, "instances", "*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("%v, %v", sockets, err)
	}
	outside, err := new(net.Dialer).DialContext(t.Context(), "unix", sockets[0])
	if err != nil {
		t.Fatalf("from outside: %v", err)
	}
	_ = outside.Close()
	path, err := json.Marshal(sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, s, execution.Request{
		Code:      "import socket\nsocket.socket(socket.AF_UNIX).connect(path)",
		Variables: map[string]json.RawMessage{"path": path},
	})
	if r.Status != execution.StatusError || r.Error == nil || !strings.Contains("FileNotFoundError PermissionError", r.Error.Code) {
		t.Errorf("%+v %+v", r, r.Error)
	}
}
