package subprocess

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
)

// parentKey makes this binary, started again, a process that runs a program for ever.
const parentKey = "SUBPROCESS_TEST_PARENT"

func TestMain(m *testing.M) {
	how := os.Getenv(parentKey)
	if how == "" {
		os.Exit(m.Run())
	}
	c := exec.Command("sh", "-c", "echo begun; exec sleep 600") //nolint:forbidigo // there is no test here whose context could end it
	c.Stdout = os.Stdout
	if how == "group" {
		g, err := Start(c)
		if err != nil {
			os.Exit(1)
		}
		<-g.Exited()
		return
	}
	if err := Run(c); err != nil {
		os.Exit(1)
	}
}

func TestAProgramDiesWithTheProcessThatStartedIt(t *testing.T) {
	for _, how := range []string{"alone", "group"} {
		t.Run(how, func(t *testing.T) { diesWithItsParent(t, how) })
	}
}

func diesWithItsParent(t *testing.T, how string) {
	t.Helper()
	parent := exec.CommandContext(t.Context(), "/proc/self/exe")
	parent.Env = append(os.Environ(), parentKey+"="+how)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The program holds the other end: reading ends when it is gone.
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	_ = parent.Wait()
}
