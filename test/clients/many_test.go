package clients

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clientsOverHTTP lets every client do all that there is to do, side by side on one
// server: output and errors, progress, cancelling, coming back as another client of the
// same principal, strangers, and tokens that are wrong, missing and revoked.
func (g gearbox) clientsOverHTTP(t *testing.T) {
	g.token(t) // so that the server knows from the start that tokens are needed
	url := g.serveHTTP(t)
	for name, client := range map[string]func(*testing.T) *exec.Cmd{
		"the TypeScript SDK v1":                  func(t *testing.T) *exec.Cmd { return nodeScript(t, "http1.mjs") },
		"the TypeScript SDK v2 with sessions":    func(t *testing.T) *exec.Cmd { return nodeScript(t, "http2.mjs", "legacy", "2025-11-25") },
		"the TypeScript SDK v2 as it negotiates": func(t *testing.T) *exec.Cmd { return nodeScript(t, "http2.mjs", "auto", sessionless) },
		"the Python SDK with sessions": func(t *testing.T) *exec.Cmd {
			return command(t, python(t, "the Python SDK"), "python/http_session.py", "legacy", "2025-11-25")
		},
		"the Python SDK as it negotiates": func(t *testing.T) *exec.Cmd {
			return command(t, python(t, "the Python SDK"), "python/http_session.py", "auto", sessionless)
		},
		"an agent of the OpenAI Agents SDK": func(t *testing.T) *exec.Cmd {
			return documented(t, command(t, python(t, "the OpenAI Agents SDK"), "python/http_agent.py"), "gearbox_openai")
		},
		"the adapter of LangChain": func(t *testing.T) *exec.Cmd {
			return command(t, langChain(t), "langchain/session.py")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t)
			c.Env = append(c.Env, g.given(t, url))
			run(t, c)
		})
	}
	t.Run("an agent of LangChain goes on when its server was killed and started again", g.langChainAgent)
}

// sessionless is the first version of the protocol without sessions.
const sessionless = "2026-07-28"

// langChainAgent lets an agent go on through a kill and a restart of its server.
func (g gearbox) langChainAgent(t *testing.T) {
	t.Parallel()
	p := langChain(t)
	c := documented(t, command(t, p, append([]string{"langchain/agent.py"}, g.serve()...)...), "gearbox_langchain")
	c.Env = append(c.Env, g.given(t, ""))
	run(t, c)
}

func langChain(t *testing.T) string {
	return filepath.Join(installed(t, "the LangChain adapter", "langchain", "langchain/requirements.txt"), "bin", "python")
}

// given is what a script gets to know, with principals of its own.
func (g gearbox) given(t *testing.T, url string) string {
	t.Helper()
	test := strings.ToLower(filepath.Base(t.Name()))
	name := func(who string) string { return test[:min(len(test), 40)] + "-" + who }
	create := func(who string) string {
		return strings.TrimSpace(string(run(t, command(t, g.binary, "token", "create", name(who), "--data-dir", g.data))))
	}
	b, err := json.Marshal(map[string]any{
		"url": url, "api": strings.TrimSuffix(url, "/mcp") + "/api/v1",
		"token": create("own"), "other": create("other"), "doomed": create("doomed"),
		"revoke": []string{g.binary, "token", "revoke", name("doomed"), "--data-dir", g.data},
	})
	if err != nil {
		t.Fatal(err)
	}
	return "GEARBOX_CLIENT=" + string(b)
}

// nodeScript runs one of the folder node, from where Node finds the modules.
func nodeScript(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir := node(t, "the TypeScript SDK")
	at := t.TempDir()
	for _, file := range []string{name, "scenario.mjs"} {
		script, err := os.ReadFile(filepath.Join("node", file))
		if err == nil {
			err = os.WriteFile(filepath.Join(at, file), script, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(at, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return command(t, filepath.Join(dir, "bin", "node"), append([]string{filepath.Join(at, name)}, args...)...)
}

// documented lets a script import a module that stands in docs/clients.md, so that what
// users copy from there is what is tested.
func documented(t *testing.T, c *exec.Cmd, module string) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(text), "```python\n# "+module+".py\n")
	code, _, closed := strings.Cut(code, "\n```")
	if !found || !closed {
		t.Fatalf("docs/clients.md has no module %s", module)
	}
	at := t.TempDir()
	if err := os.WriteFile(filepath.Join(at, module+".py"), []byte(code+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Env = append(c.Env, "PYTHONPATH="+at, "PYTHONDONTWRITEBYTECODE=1")
	return c
}
