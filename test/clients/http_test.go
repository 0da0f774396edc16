package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// serveHTTP starts a server over HTTP and returns its URL. It is stopped with the test.
func (g gearbox) serveHTTP(t *testing.T) string {
	t.Helper()
	// Not with the test's own context, which ends before the server is asked to.
	c := exec.CommandContext(context.WithoutCancel(t.Context()), g.binary, "serve", "--data-dir", g.data, "--http", "127.0.0.1:0")
	errOut, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(errOut)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the server ended: %s", line)
		}
		var said struct{ Msg, Address string }
		if json.Unmarshal(line, &said) != nil || said.Msg != "answering over HTTP" {
			continue
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, lines)
		}()
		t.Cleanup(func() {
			_ = c.Process.Signal(syscall.SIGTERM)
			<-read
			if err := c.Wait(); err != nil {
				t.Errorf("the server: %v", err)
			}
		})
		return said.Address + "/mcp"
	}
}

// fresh is the same binary with a data directory that has no tokens, or those of the
// test alone.
func (g gearbox) fresh(t *testing.T) gearbox { return gearbox{g.binary, t.TempDir()} }

func (g gearbox) token(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(string(run(t, command(t, g.binary, "token", "create", "client", "--data-dir", g.data))))
}

func (g gearbox) typeScriptOverHTTP(t *testing.T) {
	g = g.fresh(t)
	secret := g.token(t)
	g.typeScriptWith(t, g.serveHTTP(t), secret)
}

func (g gearbox) pythonOverHTTP(t *testing.T) {
	p := python(t, "the Python SDK")
	run(t, command(t, p, "python/session.py", g.fresh(t).serveHTTP(t)))
}

func (g gearbox) inspectorOverHTTP(t *testing.T) {
	dir := node(t, "the MCP inspector")
	g = g.fresh(t)
	secret := g.token(t)
	url := g.serveHTTP(t)
	for _, era := range []string{"legacy", "modern"} {
		c := command(t, filepath.Join(dir, "bin", "node"), filepath.Join(dir, "node_modules", ".bin", "mcp-inspector"), "--cli", url, "--transport", "http",
			"--protocol-era", era, "--header", "Authorization: Bearer "+secret, "--format", "json",
			"--method", "tools/call", "--tool-name", "execute", "--tool-arg", "code=print(6*7)")
		c.Env = append(c.Env, "HOME="+t.TempDir())
		if out := run(t, c); !strings.Contains(string(out), `42\n`) {
			t.Errorf("%s: %s", era, out)
		}
	}
}
