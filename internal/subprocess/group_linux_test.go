package subprocess

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// script starts a shell as a group whose output can be read.
func script(t *testing.T, text string) (*Group, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	c := exec.CommandContext(t.Context(), "sh", "-c", text)
	c.Stdout = w
	g, err := Start(c)
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Stop(0) })
	return g, bufio.NewReader(r)
}

func TestStoppingAGroupEndsWhatTheProgramStarted(t *testing.T) {
	g, out := script(t, "sleep 600 & trap '' TERM; echo begun; wait; sleep 600")
	if line, err := out.ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	g.Stop(10 * time.Millisecond)
	// Both hold the other end: reading ends when the last of them is gone.
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if g.Err() == nil {
		t.Error("a killed program ended without an error")
	}
	g.Stop(0)
}

func TestWhatAProgramLeavesBehindEndsWithIt(t *testing.T) {
	g, out := script(t, "sleep 600 & echo begun; exit 3")
	if _, err := io.ReadAll(out); err != nil {
		t.Fatal(err)
	}
	<-g.Exited()
	if g.Err() == nil || g.Err().Error() != "exit status 3" {
		t.Errorf("%v", g.Err())
	}
}

func TestAProgramThatDoesNotExistIsNotStarted(t *testing.T) {
	if _, err := Start(exec.CommandContext(t.Context(), "/nowhere/at/all")); err == nil {
		t.Error("it was started")
	}
}
