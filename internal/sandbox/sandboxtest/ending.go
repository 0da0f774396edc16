package sandboxtest

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

var endingTests = []test{
	{"ExitCodeOfTheProgramIsKept", exitCodes},
	{"ProcessThatEndsByItselfIsSeen", processThatEndsByItself},
	{"FirstCauseStandsAndKillMayBeRepeated", firstCauseStands},
	{"KillUnblocksReadersAndWait", killUnblocks},
	{"WaitObeysItsContext", waitObeysItsContext},
	{"StopKeepsAllThatWasWrittenBeforeTheResult", stopKeepsOutput},
	{"StopAfterAnotherCauseTellsThatCause", stopAfterKill},
	{"DeafProgramDies", deafProgramDies},
	{"BackgroundProcessesDieWithTheChild", backgroundProcessesDie},
	{"ForkThatFallsOffItsEndDoesNotAnswer", forkDoesNotAnswer},
}

func exitCodes(t *testing.T, s *suite) {
	for code, want := range map[string]int{
		"import sys\nsys.exit(3)":     3,
		"import sys\nsys.exit('msg')": 1,
		"exit()":                      0,
		"raise SystemExit(256 + 9)":   9,
	} {
		out := s.finish(t, Program{Code: code})
		if out.Result.Outcome != bridge.OutcomeExit || out.Result.ExitCode != want {
			t.Errorf("%q: outcome %s, exit code %d", code, out.Result.Outcome, out.Result.ExitCode)
		}
		if strings.Contains(code, "msg") && out.Stderr != "msg\n" {
			t.Errorf("%q: stderr %q", code, out.Stderr)
		}
	}
}

func processThatEndsByItself(t *testing.T, s *suite) {
	for code, want := range map[string]sandbox.Ended{
		"import os\nprint('x')\nos._exit(7)":             {ExitCode: 7},
		"import os\nprint('x')\nos._exit(0)":             {},
		"import os\nprint('x')\nos.kill(os.getpid(), 9)": {Signal: int(syscall.SIGKILL)},
		"import os\nprint('x')\nos.abort()":              {Signal: int(syscall.SIGABRT)},
	} {
		out := s.drive(t, Program{Code: code})
		if out.Result != nil || out.ResultErr == nil {
			t.Errorf("%q: a result: %+v", code, out.Result)
		}
		if out.Ended.Cause != sandbox.CauseNone || out.Ended.ExitCode != want.ExitCode || out.Ended.Signal != want.Signal {
			t.Errorf("%q: ended %+v", code, out.Ended)
		}
		if out.Stdout != "x\n" {
			t.Errorf("%q: stdout %q", code, out.Stdout)
		}
	}
}

func firstCauseStands(t *testing.T, s *suite) {
	child := s.start(t)
	child.Kill(sandbox.CauseCancelled)
	child.Kill(sandbox.CauseTimeout)
	first, err := child.Wait(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	child.Kill(sandbox.CauseMemory)
	second, err := child.Wait(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	if first.Cause != sandbox.CauseCancelled || first != second {
		t.Errorf("first %+v, then %+v", first, second)
	}
}

func killUnblocks(t *testing.T, s *suite) {
	child := s.start(t)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(io.Discard, child.Stdout()) })
	wg.Go(func() { _, _ = io.Copy(io.Discard, child.Stderr()) })
	wg.Go(func() {
		if _, err := child.Bridge().ReadFrame(); err == nil {
			t.Error("a frame from a parked child")
		}
	})
	wg.Go(func() {
		if _, err := child.Wait(bounded(t)); err != nil {
			t.Error(err)
		}
	})
	child.Kill(sandbox.CauseCancelled)
	wg.Wait()
}

// stopKeepsOutput: the last megabyte is printed in an instant, and another process that
// holds the stream goes on writing.
func stopKeepsOutput(t *testing.T, s *suite) {
	const size = 1 << 20
	out := s.finish(t, Program{
		Code: program("noise.py"), Variables: map[string]any{"size": size}, Stdin: strings.Repeat("nobody reads this", 1<<16),
	})
	if len(out.Stdout) != size || out.Ended.Cause != sandbox.CauseFinished {
		t.Errorf("%d bytes of %d, cause %q", len(out.Stdout), size, out.Ended.Cause)
	}
	if out.Ended.Usage.CPU <= 0 || out.Ended.Usage.MemoryPeak <= 0 {
		t.Errorf("usage %+v", out.Ended.Usage)
	}
}

func stopAfterKill(t *testing.T, s *suite) {
	child := s.start(t)
	child.Kill(sandbox.CauseMemory)
	for _, end := range []func(context.Context) (sandbox.Ended, error){child.Stop, child.Wait, child.Stop} {
		if ended, err := end(t.Context()); err != nil || ended.Cause != sandbox.CauseMemory {
			t.Errorf("cause %q, %v", ended.Cause, err)
		}
	}
}

func waitObeysItsContext(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.start(t).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func deafProgramDies(t *testing.T, s *suite) {
	out := s.killWhenReady(t, program("deaf.py"), func() {})
	if out.Result != nil || out.Ended.Cause != sandbox.CauseTimeout {
		t.Errorf("result %+v, ended %+v", out.Result, out.Ended)
	}
}

// backgroundProcessesDie names processes through their comm, which the host sees
// whatever namespaces they are in.
func backgroundProcessesDie(t *testing.T, s *suite) {
	if runtime.GOOS != "linux" {
		t.Skip("looks for processes in /proc, which only Linux has")
	}
	mark := "gb" + rand.Text()[:10]
	s.killWhenReady(t, program("daemons.py"), func() {
		if got := processes(t, mark); len(got) != 3 {
			t.Errorf("while it runs: %v", got)
		}
	}, variable{"mark", mark})
	if got := processes(t, mark); len(got) != 0 {
		t.Errorf("after the kill: %v", got)
	}
}

func forkDoesNotAnswer(t *testing.T, s *suite) {
	out := s.finish(t, Program{Code: "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('parent' if pid else 'child')\npid != 0"})
	if got := string(out.Result.Value); got != "true" || out.Stdout != "child\nparent\n" {
		t.Errorf("value %s, stdout %q", got, out.Stdout)
	}
}

type variable struct {
	name  string
	value any
}

// killWhenReady runs a program until it prints its first line, calls look and
// kills it.
func (s *suite) killWhenReady(t *testing.T, code string, look func(), vars ...variable) Outcome {
	t.Helper()
	child := s.start(t)
	r, w := io.Pipe()
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		if line, err := bufio.NewReader(r).ReadString('\n'); err == nil && line == "ready\n" {
			look()
		} else {
			t.Errorf("first line %q, error %v", line, err)
		}
		child.Kill(sandbox.CauseTimeout)
		_, _ = io.Copy(io.Discard, r)
	}()
	variables := map[string]any{}
	for _, v := range vars {
		variables[v.name] = v.value
	}
	out, err := Drive(bounded(t), child, Program{Code: code, Variables: variables, Stdout: w})
	_ = w.Close()
	<-seen
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// processes lists those on the host whose comm begins with mark.
func processes(t *testing.T, mark string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		if comm, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(comm), mark) {
			found = append(found, fmt.Sprintf("%s %s", f, comm))
		}
	}
	return found
}
