package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// limit ends a client that hangs; a cold start of the server is a part of it.
const limit = 3 * time.Minute

func TestRealClients(t *testing.T) {
	g := build(t)
	t.Run("the inspector runs code", g.inspectorRunsCode)
	t.Run("the inspector finds no fault with the tools", g.inspectorFindsNoFault)
	t.Run("the inspector shows the page where a person decides", g.inspectorShowsThePage)
	t.Run("the TypeScript SDK", g.typeScript)
	t.Run("the Python SDK", g.python)
	t.Run("the TypeScript SDK with a token over HTTP", g.typeScriptOverHTTP)
	t.Run("the Python SDK over HTTP", g.pythonOverHTTP)
	t.Run("the inspector with a token over HTTP", g.inspectorOverHTTP)
	t.Run("an agent of the OpenAI Agents SDK", g.agent)
	t.Run("over HTTP", g.clientsOverHTTP)
}

// gearbox is the binary and its data directory.
type gearbox struct{ binary, data string }

// build makes the binary and unpacks its interpreter, so that no client waits for that.
func build(t *testing.T) gearbox {
	t.Helper()
	g := gearbox{binary: filepath.Join(t.TempDir(), "gearbox"), data: t.TempDir()}
	run(t, command(t, "go", "build", "-o", g.binary, "../../cmd/gearbox"))
	first := command(t, g.binary, "exec", "--data-dir", g.data, "-c", "1")
	if out, err := first.CombinedOutput(); err != nil {
		if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == unavailable && strings.Contains(string(out), "UNAVAILABLE") {
			t.Skipf("this machine cannot run code in the sandbox: %s", out)
		}
		t.Fatalf("gearbox exec: %v\n%s", err, out)
	}
	return g
}

// serve is how a client starts the server.
func (g gearbox) serve() []string { return []string{g.binary, "serve", "--data-dir", g.data} }

// unavailable is the exit code of exec when there is no sandbox.
const unavailable = 121

// installed is a file of an installation by setup.sh, or skips the test.
func installed(t *testing.T, client, kind string, locks ...string) string {
	t.Helper()
	h := sha256.New()
	for _, lock := range locks {
		b, err := os.ReadFile(lock)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(b)
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", ".cache", "clients", kind+"-"+hex.EncodeToString(h.Sum(nil))[:16]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		t.Skipf("clients: %s not installed (run test/clients/setup.sh)", client)
	}
	return dir
}

func node(t *testing.T, client string) string {
	return installed(t, client, "node", "node/package.json", "node/package-lock.json")
}

func python(t *testing.T, client string) string {
	return filepath.Join(installed(t, client, "python", "python/requirements.txt"), "bin", "python")
}

func run(t *testing.T, c *exec.Cmd) []byte {
	t.Helper()
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(c.Args, " "), err, &out, &errOut)
	}
	return out.Bytes()
}

func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), "NO_COLOR=1")
	return c
}

func (g gearbox) inspectorRunsCode(t *testing.T) {
	dir := node(t, "the MCP inspector")
	for _, era := range []string{"legacy", "modern"} {
		out := run(t, g.inspector(t, dir, "--protocol-era", era,
			"--method", "tools/call", "--tool-name", "execute", "--tool-arg", "code=print(6*7)"))
		var m struct {
			Result struct {
				Content           []struct{ Text string }
				StructuredContent struct{ Status string }
			}
		}
		if err := json.Unmarshal(out, &m); err != nil || len(m.Result.Content) != 1 ||
			m.Result.Content[0].Text != "42\n" || m.Result.StructuredContent.Status != "ok" {
			t.Errorf("%s: %v: %s", era, err, out)
		}
	}
}

func (g gearbox) inspectorFindsNoFault(t *testing.T) {
	dir := node(t, "the MCP inspector")
	out := run(t, g.inspector(t, dir, "--method", "tools/list", "--strict"))
	var m struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var names []string
	for _, tool := range m.Result.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"execute", "get_operation", "cancel_operation", "list_packages"}; !slices.Equal(names, want) {
		t.Errorf("the tools are %v", names)
	}
}

// inspector runs the inspector's command line. It takes every option for its
// own, so the server gets its data directory by a variable.
func (g gearbox) inspector(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	all := []string{
		filepath.Join(dir, "node_modules", ".bin", "mcp-inspector"), "--cli", "-e", "GEARBOX_DATA_DIR=" + g.data,
		g.binary, "serve", "--format", "json",
	}
	c := command(t, filepath.Join(dir, "bin", "node"), append(all, args...)...)
	c.Env = append(c.Env, "HOME="+t.TempDir()) // where it keeps files of its own
	return c
}

func (g gearbox) typeScript(t *testing.T) { g.typeScriptWith(t, g.serve()...) }

func (g gearbox) typeScriptWith(t *testing.T, server ...string) {
	dir := node(t, "the TypeScript SDK")
	script, err := os.ReadFile("node/session.mjs")
	if err != nil {
		t.Fatal(err)
	}
	// Node looks modules up from where the script lies.
	at := t.TempDir()
	if err := os.WriteFile(filepath.Join(at, "session.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(at, "node_modules")); err != nil {
		t.Fatal(err)
	}
	run(t, command(t, filepath.Join(dir, "bin", "node"), append([]string{filepath.Join(at, "session.mjs")}, server...)...))
}

func (g gearbox) python(t *testing.T) {
	p := python(t, "the Python SDK")
	run(t, command(t, p, append([]string{"python/session.py"}, g.serve()...)...))
}

func (g gearbox) agent(t *testing.T) {
	p := python(t, "the OpenAI Agents SDK")
	run(t, command(t, p, append([]string{"python/agent.py"}, g.serve()...)...))
}
