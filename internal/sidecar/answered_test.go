//go:build linux

package sidecar_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// overMemory serves one client of the SDK.
func overMemory(t *testing.T, s *sidecar.Sidecar, version string) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), there) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here,
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		<-ended
	})
	return session
}

// TestWhereNothingCanRunEachCallIsAnsweredAtOnce: no call waits for what will not come.
func TestWhereNothingCanRunEachCallIsAnsweredAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		o            sidecar.Options
		status, code string
		says         string
	}{
		"a gear that runs nothing":          {sidecar.Options{Gear: "read_only"}, "denied", "POLICY_VIOLATION", "read_only"},
		"a backend that does not exist":     {sidecar.Options{Backend: sidecar.BackendWasm}, "rejected", "UNAVAILABLE", "wasm"},
		"a minimum that nothing here meets": {sidecar.Options{MinimumIsolation: "microvm"}, "rejected", "UNAVAILABLE", "minimum"},
	} {
		for _, era := range eras {
			t.Run(name+" "+era, func(t *testing.T) {
				session := overMemory(t, open(t, c.o), era)
				for _, language := range []string{"python", "bash"} {
					for _, wait := range []any{1, 600} {
						got := callTool(t, session, "execute", map[string]any{"code": "1", "language": language, "wait_seconds": wait})
						failed, _ := got["error"].(map[string]any)
						if got["status"] != c.status || failed["code"] != c.code || !strings.Contains(fmt.Sprint(failed), c.says) {
							t.Errorf("%s: %v", language, got)
						}
					}
				}
				got := callTool(t, session, "get_operation", map[string]any{"operation_id": "op_none", "wait_seconds": 600})
				if failed, _ := got["error"].(map[string]any); failed["code"] != "NOT_FOUND" {
					t.Errorf("%v", got)
				}
				if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "env://gear"}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// parent is the process that made another.
func parent(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "PPid:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no parent in %s", status)
	return 0
}

// TestACallIsAnsweredWhateverBecomesOfItsInterpreter: one that idles, is stopped or is
// gone never leaves a call without an answer, and the next call runs.
func TestACallIsAnsweredWhateverBecomesOfItsInterpreter(t *testing.T) {
	s := open(t, sidecar.Options{})
	run(t, s, execution.Request{Code: "1"})
	session := overMemory(t, s, eras[1])
	signal := func(pid int, sig syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	idle := "import os, subprocess, time\nsubprocess.Popen(['sleep', 'MARK'])\nsubprocess.Popen(['sleep', 'MARK'])\nsubprocess.Popen(['sleep', 'MARK'])\n"
	for name, c := range map[string]struct {
		code   string
		meddle func(interpreter, reaper int)
		status []string
	}{
		"it idles":                              {idle + "time.sleep(600)", nil, []string{"timeout"}},
		"it has closed all that it had open":    {idle + "os.closerange(0, 1000)\ntime.sleep(600)", nil, []string{"timeout"}},
		"it has stopped itself":                 {idle + "os.kill(os.getpid(), 19)", nil, []string{"timeout"}},
		"it is stopped":                         {idle + "time.sleep(600)", func(i, _ int) { signal(i, syscall.SIGSTOP) }, []string{"timeout"}},
		"its reaper is stopped":                 {idle + "time.sleep(600)", func(_, r int) { signal(r, syscall.SIGSTOP) }, []string{"timeout"}},
		"it is killed":                          {idle + "time.sleep(600)", func(i, _ int) { signal(i, syscall.SIGKILL) }, []string{"error", "interrupted"}},
		"its reaper is killed":                  {idle + "time.sleep(600)", func(_, r int) { signal(r, syscall.SIGKILL) }, []string{"error", "interrupted"}},
		"the fork server is killed":             {idle + "time.sleep(600)", func(int, int) { each(t, syscall.SIGKILL) }, []string{"interrupted"}},
		"the fork server is stopped":            {idle + "time.sleep(600)", func(int, int) { each(t, syscall.SIGSTOP) }, []string{"timeout"}},
		"it has told its result and stays on":   {idle + "import threading\nthreading.Thread(target=time.sleep, args=(600,)).start()", nil, []string{"timeout"}},
		"it ends while its children idle":       {idle, nil, []string{"ok"}},
		"it ends at once by its own kernel end": {idle + "os.kill(os.getpid(), 9)", nil, []string{"error"}},
	} {
		t.Run(name, func(t *testing.T) {
			mark, _ := tree()
			timeout := 60 // which none is to need
			switch {
			case c.meddle == nil:
				timeout = 1
			case c.status[0] == "timeout":
				timeout = 3 // in which it has to get under way
			}
			answer := make(chan map[string]any, 1)
			go func() {
				answer <- callTool(t, session, "execute", map[string]any{"code": strings.ReplaceAll(c.code, "MARK", mark), "timeout_seconds": timeout, "wait_seconds": 600})
			}()
			if c.meddle != nil {
				grown(t, mark)
				child, err := strconv.Atoi(strings.Split(marked(t, mark)[0], "/")[2])
				if err != nil {
					t.Fatal(err)
				}
				interpreter := parent(t, child)
				c.meddle(interpreter, parent(t, interpreter))
			}
			got := <-answer
			if !strings.Contains(" "+strings.Join(c.status, " ")+" ", fmt.Sprintf(" %s ", got["status"])) {
				t.Errorf("%v", got)
			}
			if next := callTool(t, session, "execute", map[string]any{"code": "6*7"}); next["value"] != 42.0 {
				t.Errorf("the next call: %v", next)
			}
			for len(marked(t, mark)) > 0 { // they are taken apart beside the answers
				runtime.Gosched()
			}
		})
	}
}

// each sends a signal to every fork server.
func each(t *testing.T, sig syscall.Signal) {
	t.Helper()
	for _, pid := range forkServers(t) {
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
}
