package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// gearbox is the binary and its data directory.
type gearbox struct{ binary, data string }

func build(t *testing.T) gearbox {
	t.Helper()
	g := gearbox{binary: filepath.Join(t.TempDir(), "gearbox"), data: t.TempDir()}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", g.binary, "../../cmd/gearbox").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return g
}

// serve starts a server and returns where it speaks the protocol. It is stopped with
// the test, and then has to end well.
func (g gearbox) serve(t *testing.T, fixtures bool) string {
	t.Helper()
	args := []string{"serve", "--http", "127.0.0.1:0", "--data-dir", g.data}
	if fixtures {
		args = append(args, "--conformance-fixtures")
	}
	// Not with the test's own context, which ends before the server is asked to.
	c := exec.CommandContext(context.WithoutCancel(t.Context()), g.binary, args...)
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + g.data, "LANG=C.UTF-8"}
	log, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
		<-read
		if err := c.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			close(read)
			t.Fatalf("the server ended: %s", line)
		}
		var said struct{ Msg, Address string }
		if json.Unmarshal(line, &said) == nil && said.Msg == "answering over HTTP" {
			go func() {
				defer close(read)
				_, _ = io.Copy(io.Discard, lines)
			}()
			return said.Address + "/mcp"
		}
	}
}
