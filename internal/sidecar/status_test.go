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
	var reports []sidecar.Report
	for len(reports) == 0 || handedOut(reports[0]) < 2 || reports[0].Status.Load.Running != 1 { // the second started, the first taken apart
		if reports = instances(t, o); len(reports) != 2 || reports[0].Status == nil || reports[1].Status == nil {
			t.Fatalf("%+v", reports)
		}
	}
	first, second := *reports[0].Status, *reports[1].Status
	if first.PID != os.Getpid() || first.Version != "test" || first.Uptime <= 0 || first.Transport != sidecar.TransportStdio ||
		first.Gear != sidecar.DefaultGear || first.Isolation == "" || len(first.Pools) != 1 || first.Load.Running != 1 || first.Load.Waiting != 0 {
		t.Errorf("%+v", first)
	}
	if p := first.Pools[0]; p.Backend != "linux" || p.Wait.Count != 2 || p.Live != 1 || p.Ended["finished"] != 1 {
		t.Errorf("%+v", p)
	}
	if second.Transport != sidecar.TransportExec || second.Gear != "restricted" || second.Load.Running != 0 || handedOut(reports[1]) != 0 {
		t.Errorf("%+v", second)
	}
	if _, err := busy.Engine().Cancel(t.Context(), execution.Local, id); err != nil {
		t.Fatal(err)
	}
	for reports[0].Status.Load.Running > 0 {
		reports = instances(t, o)
	}
	if ended := reports[0].Status.Pools[0].Ended; ended["cancelled"] != 1 {
		t.Errorf("%v", ended)
	}
	if err := busy.Close(); err != nil {
		t.Fatal(err)
	}
	if reports = instances(t, o); len(reports) != 1 || reports[0].Status.Gear != "restricted" {
		t.Errorf("after the end of the first: %+v", reports)
	}
}

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
