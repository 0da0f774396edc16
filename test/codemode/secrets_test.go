//go:build linux

package codemode

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// secrets are credentials by where the operator wrote them.
var secrets = map[string]string{
	"env of a server":          "cred-env-8f2b41d7c6",
	"arguments of a server":    "cred-args-5a90c3e1bd",
	"a header":                 "cred-header-77d1fa20e4",
	"a bearer token":           "cred-bearer-19c4be83a0",
	"a variable of ours":       "cred-ours-c05d9e7fb2",
	"a file of variables":      "cred-envfile-60ab7d4e91",
	"a client of OAuth":        "cred-oauth-2d83e6f5c7",
	"the password of a URL":    "cred-url-e94f10b6d8",
	"OPENAI_API_KEY":           "cred-openai-b37a5c12f9",
	"GEMINI_API_KEY":           "cred-gemini-4e08d6a7c3",
	"GOOGLE_API_KEY":           "cred-google-f16b92e5d0",
	"ANTHROPIC_API_KEY":        "cred-anthropic-83c7a4d1e6",
	"AWS_SECRET_ACCESS_KEY":    "cred-aws-d25e0f9b71",
	"GITHUB_TOKEN":             "cred-github-a6417c3e8d",
	"GEARBOX_TEST_UNUSUAL_VAR": "cred-unusual-0b9d8e2c5f",
}

// hunt looks through everything that a program can read: its environment, every file that
// opens, every descriptor, its own memory, /proc, its modules, and what tools say.
const hunt = `
import os, sys, gc, stat, tools
NEEDLES = [(a + b).encode() for a, b in SPLIT]
seen, looked = set(), 0

def look(where, data):
    for n in NEEDLES:
        if n in data:
            seen.add((where, n.decode()[:12]))

open("canary", "wb").write(NEEDLES[-1])
look("environment", repr(dict(os.environ)).encode())
look("arguments", repr([sys.argv, sys.orig_argv, sys.path]).encode())
for directory, folders, files in os.walk("/"):
    if directory.startswith(("/proc", "/sys")) or directory.startswith(sys.base_prefix) or directory in (sys.prefix,):
        folders[:] = []
        continue
    for name in files:
        path = os.path.join(directory, name)
        try:
            if stat.S_ISREG(os.lstat(path).st_mode) and os.path.getsize(path) < 1 << 20:
                looked += 1
                look(path, open(path, "rb").read())
        except OSError:
            pass
for directory, folders, files in os.walk("/proc", followlinks=False):
    if directory.count("/") > 4:
        folders[:] = []
    for name in [*files, "environ", "cmdline", "maps"]:
        if name in ("kmsg", "kcore", "mem", "pagemap", "clear_refs"):
            continue
        try:
            fd = os.open(os.path.join(directory, name), os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            looked += 1
            look(os.path.join(directory, name), os.read(fd, 1 << 20))
        except OSError:
            pass
        finally:
            os.close(fd)
# Its own memory, without the pages in which the needles themselves are.
own = {id(n) for n in NEEDLES}
for o in gc.get_objects():
    if isinstance(o, dict):
        for v in list(o.values()):
            if isinstance(v, (str, bytes)) and id(v) not in own:
                look("an object", v if isinstance(v, bytes) else v.encode("utf-8", "replace"))
said = []
for name in SERVERS:
    for ask in (lambda: tools.describe([name + ".leak"], "full"), lambda: tools.describe([name + ".leak"], "schema"), lambda: tools.search("leak", server=name, detail="schema"),
                lambda: tools.call(name, "leak", {}), lambda: tools.call(name, "leak", {"x": 5}), lambda: tools.call(name, "none", {}), lambda: tools.call(name, "fail", {}),
                lambda: tools.call(name, "die", {}), lambda: __import__("importlib").import_module("tools." + name)):
        try:
            said.append(repr(ask()))
        except Exception as e:
            said.append(repr(e) + repr(e.__dict__))
look("what tools say", "".join(said).encode())
[[list(s) for s in sorted(seen)], looked, len("".join(said))]
`

// No credential of a server, and none of our own environment, is where a program can read
// it. The servers' own words are theirs: what a server is told it can tell, but what it
// says of itself when it fails is masked.
func TestNoCredentialIsAnywhereThatAProgramCanRead(t *testing.T) {
	far := newFar(t, failing())
	locked := newFar(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Error(w, fmt.Sprintf("not with %v", q.Header), http.StatusForbidden)
	}))
	file := filepath.Join(t.TempDir(), ".env")
	write(t, file, "FROM_FILE="+secrets["a file of variables"]+"\n")
	all := servers{
		"local": newPeer(t, "leaks").entry(map[string]any{"env": map[string]any{
			"SERVICE_TOKEN": secrets["env of a server"], "OTHER_PASSWORD": "${OURS}", "THIRD_SECRET": "${FROM_FILE}",
		}}),
		"arguments": func() map[string]any {
			e := newPeer(t, "leaks").entry()
			e["args"] = []string{"--api-key", secrets["arguments of a server"]}
			return e
		}(),
		"far":    {"url": far.URL, "headers": map[string]any{"X-Api-Key": secrets["a header"], "Authorization": "Bearer " + secrets["a bearer token"]}},
		"locked": {"url": locked.URL, "headers": map[string]any{"X-Api-Key": secrets["a header"], "Authorization": "Bearer " + secrets["a bearer token"]}},
		"oauth":  {"url": locked.URL, "oauth": map[string]any{"client_id": "x", "client_secret": secrets["a client of OAuth"]}},
		"url":    {"url": strings.Replace(locked.URL, "http://", "http://user:"+secrets["the password of a URL"]+"@", 1)},
	}
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	env := []string{"OURS=" + secrets["a variable of ours"]}
	var split [][2]string
	for where, s := range secrets {
		if strings.Contains(where, "_") {
			env = append(env, where+"="+s)
		}
		split = append(split, [2]string{s[:8], s[8:]}) // the program's own text is no leak
	}
	split = append(split, [2]string{"canary-9", "172635480"})
	b := open(t, setting{servers: all, env: env, flags: []string{"--env-file", file}})
	write(t, filepath.Join(b.dir, "extra.env"), "KEY="+secrets["OPENAI_API_KEY"]) // and what lies beside the records
	got := value[[]any](b, hunt, map[string]any{"SPLIT": split, "SERVERS": names})
	// What is there to be found shows that the search is one.
	if found, want := marshal(t, got[0]), `[["/workspace/canary","canary-91726"],["what tools say","canary-91726"]]`; found != want {
		t.Errorf("found: %s", found)
	}
	if got[1].(float64) < 50 || got[2].(float64) < 1000 {
		t.Errorf("the search looked at %v files and %v characters: is it one?", got[1], got[2])
	}
	// Nor is any in what a model reads, in our log, or in the record.
	text := b.log.String() + b.use("search_tools", map[string]any{"query": "", "detail": "schema"}).text
	for _, n := range names {
		text += b.use("call_tool", map[string]any{"name": n + ".leak"}).text
	}
	record, _, _ := command(t, nil, "audit", "export", "--data-dir", b.dir)
	for where, s := range secrets {
		if strings.Contains(text, s) || strings.Contains(record, s) {
			t.Errorf("%s is in what a model reads, the log, or the record", where)
		}
	}
}

// failing is a server whose tools say what they were sent.
func failing() http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "leak", InputSchema: map[string]any{"type": "object"}}, echoTool)
	s.AddTool(&mcp.Tool{Name: "fail", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, fmt.Errorf("refused with %s", q.Extra.Header.Get("X-Api-Key"))
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

// 35 ENV-UP.
func TestAServerGetsTheEnvironmentThatIsDeclaredAndASandboxNothingOfIt(t *testing.T) {
	p := newPeer(t, "")
	b := open(t, setting{
		servers: servers{"s": p.entry(map[string]any{"env": map[string]any{"DECLARED": "yes"}})},
		env:     []string{"OPENAI_API_KEY=key", "UNDECLARED=no", "LD_PRELOAD_X=no", "PYTHONPATH=/tmp", "NODE_OPTIONS=--x"},
	})
	got := value[map[string]string](b, "import os\nfrom tools import s\ns.echo(n=1)\ndict(os.environ)", nil)
	for name := range got {
		if slices.Contains([]string{"OPENAI_API_KEY", "UNDECLARED", "DECLARED", peerEnv, "LD_PRELOAD_X", "PYTHONPATH", "NODE_OPTIONS"}, name) {
			t.Errorf("the sandbox has %s", name)
		}
	}
	var names []string
	for line := range strings.Lines(p.noted("env")) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	allowed := []string{"DECLARED", peerEnv, "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}
	for _, n := range names {
		if !slices.Contains(allowed, n) {
			t.Errorf("the server has %s", n)
		}
	}
	if !slices.Contains(names, "DECLARED") || !slices.Contains(names, "PATH") {
		t.Errorf("%v", names)
	}
}

// leak prints what the server was told wherever a server can print something, and puts it
// into the message of its own failures.
func leak(w *wire, q question) bool {
	secret := strings.Join(os.Args[1:], " ") + " " + os.Getenv("SERVICE_TOKEN") + " " + os.Getenv("OTHER_PASSWORD") + " " + os.Getenv("THIRD_SECRET")
	fmt.Fprintln(os.Stderr, "started with", secret)
	if q.Method == "tools/call" && q.Params.Name == "fail" {
		w.refuse(q.ID, -32000, "not with "+secret)
		return true
	}
	if q.Method == "tools/list" {
		w.say(q.ID, `{"tools":[{"name":"leak","description":"canary-9172635480","inputSchema":{"type":"object","properties":{}}},{"name":"fail"},{"name":"die"}]}`)
		return true
	}
	return false
}
