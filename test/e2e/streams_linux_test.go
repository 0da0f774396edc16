package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// run runs gearbox with its output going where it is told, and returns the exit code.
func run(t *testing.T, stdout, stderr *os.File, args ...string) (code int, said string) {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "gearbox", args...)
	cmd.Stdout, cmd.Stderr = stdout, &errs
	if stderr != nil {
		cmd.Stderr = stderr
	}
	_ = cmd.Run() // the exit code is checked instead
	return cmd.ProcessState.ExitCode(), errs.String()
}

func TestOutputThatIsLostEndsWith125(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this machine has no /dev/full: %v", err)
	}
	defer full.Close() //nolint:errcheck // nothing can be written to it
	data := t.TempDir()
	for _, args := range [][]string{{"-c", "print(1)"}, {"-c", "1"}, {"--json", "-c", "1"}} {
		code, said := run(t, full, nil, append([]string{"exec", "--data-dir", data}, args...)...)
		if skipWithoutSandbox(t, said); code != 125 || strings.Count(said, "no space left on device") != 1 {
			t.Errorf("%v: exit code %d, stderr %q", args, code, said)
		}
	}
	if code, _ := run(t, nil, full, "exec", "--data-dir", data, "-c", "import sys; sys.stderr.write('x')"); code != 125 {
		t.Errorf("standard error: exit code %d", code)
	}
	if code, said := run(t, full, nil, "gear", "list", "--data-dir", data); code != 1 || !strings.Contains(said, "no space left") {
		t.Errorf("gear list: exit code %d, stderr %q", code, said)
	}
}

func skipWithoutSandbox(t *testing.T, said string) {
	t.Helper()
	if strings.Contains(said, "no sandbox can be built here") {
		t.Skip("no sandbox on this machine: gearbox doctor says why")
	}
}

// TestSignalsAreHeardWhileInputIsRead holds the input open: nothing but the signal
// can end the command.
func TestSignalsAreHeardWhileInputIsRead(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo.py")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Skipf("this file system has no FIFOs: %v", err)
	}
	for _, args := range [][]string{{"exec", "-"}, {"exec", "--stdin", "-", "-c", "1"}, {"gear", "explain", "restricted", "-"}, {"exec", fifo}} {
		for _, signal := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
			t.Run(fmt.Sprintf("%s/%s", strings.Join(args, " "), unix.SignalName(signal)), func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), "gearbox", append(args, "--data-dir", t.TempDir())...)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				held := startReading(t, cmd, args[len(args)-1] == fifo, fifo)
				defer held.Close() //nolint:errcheck // what was written no longer matters
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait() // the exit code is checked instead
				if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(stderr.String(), "cancelled") {
					t.Errorf("exit code %d, stderr %q", code, stderr.String())
				}
			})
		}
	}
}

// startReading starts a command and returns once it reads: only then are its
// signal handlers in place for certain.
func startReading(t *testing.T, cmd *exec.Cmd, byName bool, fifo string) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if !byName {
		cmd.Stdin = reader
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = reader.Close() // the command has its own
	if byName {
		_ = writer.Close()
		if writer, err = os.OpenFile(fifo, os.O_WRONLY, 0); err != nil { // returns once it is opened for reading (fifo(7))
			t.Fatal(err)
		}
	}
	if _, err := writer.WriteString(strings.Repeat("#\n", pipeSize/2)); err != nil {
		t.Fatal(err)
	}
	return writer
}

func TestIgnoredHangUpStaysIgnored(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap '' HUP; exec gearbox gear explain read_only --data-dir "$0" -`, t.TempDir())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	held := startReading(t, cmd, false, "")
	if err := cmd.Process.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is checked instead
	if code := cmd.ProcessState.ExitCode(); code != 120 || !strings.Contains(stdout.String(), "does not run code") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}
