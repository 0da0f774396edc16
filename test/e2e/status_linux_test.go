package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// standing is what these tests read of gearbox status --json.
type standing struct {
	Instances []struct {
		PID     int    `json:"pid"`
		Problem string `json:"problem"`
		Status  struct {
			Transport string `json:"transport"`
			Gear      string `json:"gear"`
			Load      struct {
				Running int `json:"running"`
			} `json:"load"`
			Pools []struct {
				FromParked int            `json:"from_parked"`
				OnDemand   int            `json:"on_demand"`
				Ended      map[string]int `json:"ended"`
			} `json:"pools"`
		} `json:"status"`
	} `json:"instances"`
}

// status is what gearbox status prints with the given flags, and its exit code.
func status(t *testing.T, dir string, flags ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "gearbox", append([]string{"status", "--data-dir", dir}, flags...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run() // the exit code is checked instead
	return out.String(), cmd.ProcessState.ExitCode()
}

func standingOf(t *testing.T, dir string, exit int) standing {
	t.Helper()
	text, code := status(t, dir, "--json")
	var s standing
	if err := json.Unmarshal([]byte(text), &s); err != nil || code != exit {
		t.Fatalf("exit code %d, %v, %s", code, err, text)
	}
	return s
}

func TestStatusShowsEveryServerOfADirectoryUntilItDies(t *testing.T) {
	first := startServe(t)
	first.send(greeting)
	first.answer(1)
	first.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"code":"6*7"}}}` + "\n")
	if m := first.answer(2); bytes.Contains(m.Result, []byte("no sandbox can be built here")) {
		t.Skip("skipped: no sandbox on this machine: gearbox doctor says why")
	}
	first.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute","arguments":{"code":"import time\ntime.sleep(600)","timeout_seconds":300,"wait_seconds":600}}}` + "\n")
	second := startServeIn(t, first.dir, "--gear", "restricted")
	second.send(greeting)
	second.answer(1)

	var s standing
	for settled := false; !settled; { // the second program starts beside this, and the first is taken apart
		if s = standingOf(t, first.dir, 0); len(s.Instances) != 2 {
			t.Fatalf("%+v", s)
		}
		now := s.Instances[0].Status
		settled = now.Load.Running == 1 && now.Pools[0].Ended["finished"] == 1 && now.Pools[0].FromParked+now.Pools[0].OnDemand == 2
	}
	one, two := s.Instances[0], s.Instances[1]
	if one.PID != first.cmd.Process.Pid || one.Status.Transport != "stdio" || one.Status.Gear != "user_confirmed" {
		t.Errorf("%+v", one)
	}
	if two.PID != second.cmd.Process.Pid || two.Status.Gear != "restricted" || two.Status.Load.Running != 0 {
		t.Errorf("%+v", two)
	}
	text, _ := status(t, first.dir)
	for _, want := range []string{"TRANSPORT", "user_confirmed", "restricted", "handed out", "fork servers", "1 finished"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}

	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	if s = standingOf(t, first.dir, 0); len(s.Instances) != 1 || s.Instances[0].PID != second.cmd.Process.Pid {
		t.Errorf("after the death of one: %+v", s)
	}
	second.end()
	if text, _ = status(t, first.dir); !strings.HasPrefix(text, "No Gearbox runs") {
		t.Errorf("%s", text)
	}
}

func TestAServerThatIsStoppedIsNamedByStatusAndKeepsNobodyWaiting(t *testing.T) {
	s := startServe(t)
	s.send(greeting)
	s.answer(1)
	if err := s.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	got := standingOf(t, s.dir, 1)
	if len(got.Instances) != 1 || got.Instances[0].PID != s.cmd.Process.Pid || !strings.Contains(got.Instances[0].Problem, "did not answer within") {
		t.Errorf("%+v", got)
	}
	if err := s.cmd.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.end()
}
