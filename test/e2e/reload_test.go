//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// configure writes the configuration file of a data directory.
func configure(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "gearbox.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// execute runs code and returns the answer as text.
func (s *server) execute(id int, code string) string {
	s.t.Helper()
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute","arguments":{"code":%q,"wait_seconds":600}}}`+"\n", id, code))
	return string(s.answer(id).Result)
}

// hangUp sends SIGHUP and waits for a line of the log, which is to be there so many times.
func (s *server) hangUp(line string, times int) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
	s.stderr.await(s.t, line, times)
}

func TestHangUpMakesARunningServerFollowItsConfigurationFile(t *testing.T) {
	const reloaded, kept = `"msg":"configuration reloaded"`, `"msg":"the configuration stays as it was"`
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	configure(t, dir, "gear: user_confirmed\n")
	s := startServeIn(t, dir)
	s.send(greeting)
	s.answer(1)
	first := s.execute(2, "import json; 6*7")
	if strings.Contains(first, "no sandbox can be built here") {
		t.Skip("skipped: no sandbox on this machine: gearbox doctor says why")
	}
	if !strings.Contains(first, `"status":"ok"`) {
		t.Fatal(first)
	}

	configure(t, dir, "gear: user_confirmed\nrules: {deny: [import(json)]}\n")
	s.hangUp(reloaded, 1)
	if got := s.execute(3, "import json; 6*7"); !strings.Contains(got, `"status":"denied"`) || !strings.Contains(got, "gearbox.yaml") {
		t.Errorf("with a new rule: %s", got)
	}

	configure(t, dir, "gaer: user_confirmed\npool: {size: 0, max: 0}\n")
	s.hangUp(kept, 1)
	for _, want := range []string{"gearbox.yaml:1:1: unknown key", "did you mean gear?", "gearbox.yaml:2:22: pool.max 0"} {
		if !strings.Contains(s.stderr.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, s.stderr.String())
		}
	}
	if got := s.execute(4, "import json; 6*7"); !strings.Contains(got, `"status":"denied"`) {
		t.Errorf("after a broken file: %s", got)
	}

	configure(t, dir, "gear: restricted\nminimum_isolation: none\nlog: {level: warn}\n")
	s.hangUp(reloaded, 2)
	s.stderr.await(t, `"settings":["minimum_isolation"]`, 1)
	if got := s.execute(5, "import json; 6*7"); !strings.Contains(got, `"status":"ok"`) || !strings.Contains(got, `"gear":"restricted"`) {
		t.Errorf("with another gear: %s", got)
	}
	s.end()
	if n := strings.Count(s.stderr.String(), `"msg":"tool call"`); n != 3 {
		t.Errorf("%d calls were logged, and the fourth came after log.level: warn:\n%s", n, s.stderr.String())
	}
}

func TestServeReadsTheFileOfItsDataDirectory(t *testing.T) {
	dir := t.TempDir()
	configure(t, dir, "gear: read_only\n")
	s := startServeIn(t, dir)
	s.send(greeting)
	s.answer(1)
	if got := s.execute(2, "1"); !strings.Contains(got, "read_only") || !strings.Contains(got, `"status":"denied"`) {
		t.Errorf("the file was not read: %s", got)
	}
	s.end()
}
