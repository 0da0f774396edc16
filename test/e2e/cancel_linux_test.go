package e2e

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pipeSize is more than a pipe holds (pipe(7): 64 KiB, or what fcntl set), so
// that a write of it returns only after the other end has begun to read.
const pipeSize = 512 << 10

func TestInterruptedExecLeavesNothingBehind(t *testing.T) {
	data := t.TempDir()
	for _, signal := range []unix.Signal{unix.SIGINT, unix.SIGHUP} {
		t.Run(unix.SignalName(signal), func(t *testing.T) { interruptExec(t, signal, data) })
	}
}

func interruptExec(t *testing.T, signal os.Signal, data string) {
	before := adopt(t)
	cmd := exec.CommandContext(t.Context(), "gearbox", "exec", "--data-dir", data, "-")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The command reads only once its signal handler is in place.
	if _, err := stdin.Write([]byte("while True: pass\n" + strings.Repeat("#\n", pipeSize/2))); err != nil {
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is checked instead
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, stdout.String(), stderr.String())
	}
	if after := children(t); after != before {
		t.Errorf("processes were left behind: %s, before: %s", after, before)
	}
}

func TestExecWhoseReaderWentAwayLeavesNothingBehind(t *testing.T) {
	before := adopt(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "gearbox", "exec", "--data-dir", t.TempDir(), "-c", "print('x')")
	cmd.Stdout = writer
	err = cmd.Run()
	if state := cmd.ProcessState; !state.Exited() {
		t.Errorf("%v: it did not end by itself", err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if after := children(t); after != before {
		t.Errorf("processes were left behind: %s, before: %s", after, before)
	}
}

func TestServeEndsInOrderOnSIGTERM(t *testing.T) {
	before := adopt(t)
	s := startServe(t)
	s.send(greeting)
	s.answer(1)
	if err := s.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("serve ended with %v\nstderr: %s", err, s.stderr.String())
	}
	if after := children(t); after != before {
		t.Errorf("processes were left behind: %s, before: %s", after, before)
	}
}

// adopt makes whatever a command leaves behind our child when it ends, and tells
// which children there are already.
func adopt(t *testing.T) string {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skipf("cannot adopt orphans here: %v", err)
	}
	return children(t)
}

// children are the process ids of our children, as the kernel lists them.
func children(t *testing.T) string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Skip("this kernel does not list children (CONFIG_PROC_CHILDREN)")
	}
	var all []string
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Fields(string(text))...)
	}
	return strings.Join(all, " ")
}
