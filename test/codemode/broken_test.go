//go:build linux

package codemode

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// far is a server over HTTP, and the headers that it and whoever it sends us to received.
type far struct {
	*httptest.Server

	mu   sync.Mutex // guards seen
	seen []http.Header
}

func newFar(t testing.TB, answer http.Handler) *far {
	t.Helper()
	f := &far{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, q.Header.Clone())
		f.mu.Unlock()
		answer.ServeHTTP(w, q)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *far) requests() []http.Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// honest answers as the SDK does.
func honest() http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}}, echoTool)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

// 32 BADSERVER: each way of not being a server. The others work, starting is not held up,
// and what a model reads names the server and the reason.
func TestServersThatAreNoneFailAloneAndAreNamedWithTheReason(t *testing.T) {
	t.Parallel()
	unauthorized := newFar(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	elsewhere := newFar(t, honest())
	sends := newFar(t, http.RedirectHandler(elsewhere.URL+"/mcp", http.StatusTemporaryRedirect))
	circles := newFar(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, q.URL.Path+"x", http.StatusTemporaryRedirect)
	}))
	page := newFar(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><script>alert(1)</script>Welcome</html>")
	}))
	fails := newFar(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the database is down", http.StatusInternalServerError)
	}))
	nobody := httptest.NewServer(nil)
	nobody.Close()
	header := map[string]any{"Authorization": "Bearer a-token-of-the-operator", "X-Api-Key": "a-key-of-the-operator"}
	bad := map[string]struct {
		entry map[string]any
		words []string
	}{
		"missing":      {map[string]any{"command": "no-such-program-at-all"}, []string{"no-such-program-at-all is not installed"}},
		"exits":        {newPeer(t, "exits").entry(), []string{"exit status 3", "cannot read settings"}},
		"unset":        {map[string]any{"command": "cat", "args": []string{"${NO_SUCH_VARIABLE_AT_ALL}"}}, []string{"NO_SUCH_VARIABLE_AT_ALL"}},
		"contradicts":  {map[string]any{"type": "http", "command": "cat"}, []string{"http"}},
		"unauthorized": {map[string]any{"url": unauthorized.URL, "headers": header}, []string{"401"}},
		"sends":        {map[string]any{"url": sends.URL, "headers": header}, []string{"elsewhere", elsewhere.URL}},
		"circles":      {map[string]any{"url": circles.URL, "headers": header}, []string{"redirect"}},
		"page":         {map[string]any{"url": page.URL}, []string{"page"}},
		"fails":        {map[string]any{"url": fails.URL}, []string{"500"}},
		"nobody":       {map[string]any{"url": nobody.URL}, []string{"refused"}},
		"babbles":      {newPeer(t, "babbles").entry(), []string{"no message"}},
		"no server":    {map[string]any{"command": "true"}, []string{"ended"}},
	}
	all := servers{"good": newPeer(t, "").entry(), "far": {"url": newFar(t, honest()).URL, "headers": header}}
	for name, c := range bad {
		all[name] = c.entry
	}
	b := open(t, setting{servers: all})
	if got := value[[]any](b, "from tools import good, far\n[good.echo(n=1), far.echo(n=2)]", nil); fmt.Sprint(got) != "[map[n:1] map[n:2]]" {
		t.Errorf("%v", got)
	}
	text := b.use("search_tools", map[string]any{"query": "echo"}).text
	has(t, text, "from tools import good")
	for name, c := range bad {
		line := ""
		for l := range strings.Lines(text) {
			if strings.HasPrefix(l, "# "+name+" ") {
				line = l
			}
		}
		has(t, line, append(c.words, "not available")...)
		has(t, b.log.String(), fmt.Sprintf(`"upstream":%q`, name))
		message := b.fails(fmt.Sprintf("import tools\ntools.call(%q, 'x')", name), "ServerUnavailable")
		has(t, message, append(c.words, name)...)
	}
	lacks(t, text+b.log.String(), "a-token-of-the-operator", "a-key-of-the-operator", "<script>")
	if n := len(elsewhere.requests()); n != 0 {
		t.Errorf("what was meant for one server went to another: %v", elsewhere.requests())
	}
}

// One of five hangs for good: our own start, and what needs the others, do not wait for it.
func TestOneBrokenServerAmongFiveHoldsUpNobody(t *testing.T) {
	all := servers{"hangs": newPeer(t, "hangs").entry(map[string]any{"startup_timeout": 600})}
	for i := range 4 {
		all[fmt.Sprintf("s%d", i)] = newPeer(t, "").entry()
	}
	b := open(t, setting{servers: all}) // greets the client while the one hangs
	listed, err := b.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range listed.Tools {
		names = append(names, l.Name)
	}
	has(t, strings.Join(names, " "), "execute", "search_tools", "describe_tools", "call_tool")
	got := value[[]any](b, "import tools\n[tools.call(f's{i}', 'echo', {'n': i})['n'] for i in range(4)]", nil)
	if fmt.Sprint(got) != "[0 1 2 3]" {
		t.Errorf("%v", got)
	}
	got = value[[]any](b, "import tools\nfrom tools import s0, s3\n[s0.echo(n=7), tools.s1.echo(n=8), s3.echo(n=9), 'hangs' in dir(tools)]", nil)
	if text := marshal(t, got); text != `[{"n":7},{"n":8},{"n":9},true]` {
		t.Errorf("%s", text)
	}
	if a := b.use("call_tool", map[string]any{"name": "s1.echo", "arguments": map[string]any{"n": 5}}); !strings.Contains(a.text, `"n":5`) {
		t.Errorf("%s", a.raw)
	}
	has(t, b.use("describe_tools", map[string]any{"names": []string{"s2.echo"}}).text, "def echo")
	has(t, b.use("search_tools", map[string]any{"query": "echo", "server": "s3"}).text, "def echo")
}

func TestASilentServerIsGivenUpAfterItsStartupTimeoutAndThenNoOneWaits(t *testing.T) {
	t.Parallel()
	b := open(t, setting{servers: servers{
		"hangs": newPeer(t, "hangs").entry(map[string]any{"startup_timeout": "500ms"}), "mute": newPeer(t, "no initialize").entry(map[string]any{"startup_timeout": "500ms"}),
		"good": newPeer(t, "").entry(),
	}})
	eventually(t, "both are given up", func() string {
		text := b.use("search_tools", map[string]any{"query": ""}).text
		has(t, text, "from tools import good", "# hangs is not available: it ", "# mute is not available: it ")
		if strings.Count(text, "it did not answer within 500ms") < 2 {
			return text
		}
		return ""
	})
}

// 32 BADSERVER and 34 LOSTREPLY: what happens in the middle of calls.
func TestAServerThatDiesOrLosesACallFailsThatCallAndIsThereAgain(t *testing.T) {
	s, other := newPeer(t, ""), newPeer(t, "")
	b := open(t, setting{servers: servers{"s": s.entry(map[string]any{"timeout": "1s"}), "other": other.entry()}})
	got := value[map[string]any](b, `
import tools, asyncio
from tools import s, other
out = {"before": s.echo(n=1)}
try:
    s.lose()
except tools.ToolTimeout as e:
    out["lost"] = str(e)
out["between"] = s.echo(n=2)
both = await asyncio.gather(s.aio.die(), other.aio.echo(n=3), return_exceptions=True)
out["died"] = [type(both[0]).__name__, str(both[0])]
out["other"] = both[1]
out["after"] = s.echo(n=4)
out`, nil)
	has(t, marshal(t, got["lost"]), "within 1s", "lose")
	has(t, marshal(t, got["died"]), "ServerUnavailable", "out of cheese", "exit status 9", "may have been carried out")
	for name, want := range map[string]string{"before": `{"n":1}`, "between": `{"n":2}`, "other": `{"n":3}`, "after": `{"n":4}`} {
		if text := marshal(t, got[name]); text != want {
			t.Errorf("%s: %s", name, text)
		}
	}
	// A call is sent once: nobody repeats what may have been carried out.
	sent := map[string]int{}
	for _, c := range s.calls() {
		sent[c.Tool]++
	}
	if sent["die"] != 1 || sent["lose"] != 1 {
		t.Errorf("%v", sent)
	}
}

func TestBytesThatComeOneByOneAndAnswersThatComeTwiceAreHeardOnce(t *testing.T) {
	b := open(t, setting{servers: servers{"slow": newPeer(t, "slow bytes").entry(), "twice": newPeer(t, "answers twice").entry()}})
	got := value[[]any](b, `
import asyncio
from tools import slow, twice
r = await asyncio.gather(slow.aio.echo(text="héllo"), *(twice.aio.echo(n=i) for i in range(5)))
[*r, slow.echo(text="again"), twice.echo(n=9)]`, nil)
	first := `{"first":true}`
	if text, want := marshal(t, got), `[{"text":"héllo"},`+strings.Repeat(first+",", 5)+`{"text":"again"},`+first+`]`; text != want {
		t.Errorf("%s", text)
	}
}

func TestAListOfAHundredThousandToolsIsCutAndTheFirstWork(t *testing.T) {
	b := open(t, setting{servers: servers{"many": newPeer(t, "a hundred thousand tools").entry(map[string]any{"startup_timeout": 60}), "good": newPeer(t, "").entry()}})
	got := value[[]any](b, `
import tools
from tools import many, good
r = [many.tool_000007(n=1), good.echo(n=2), len(dir(many))]
try:
    many.tool_099999()
except tools.ToolNotFound as e:
    r.append("not taken")
r`, nil)
	if marshal(t, got[:2]) != `[{"n":1},{"n":2}]` || got[2] != 10_001.0 || got[3] != "not taken" {
		t.Errorf("%v", got)
	}
	text := b.use("search_tools", map[string]any{"query": "tool 42", "limit": 50}).text
	if len(text) > 64<<10 {
		t.Errorf("a search answers %d bytes", len(text))
	}
	listed, err := b.ListResources(t.Context(), nil)
	if err != nil || len(listed.Resources) > 100 {
		t.Errorf("%d resources, %v", len(listed.Resources), err)
	}
	if n := len(b.InitializeResult().Instructions); n > 32<<10 {
		t.Errorf("instructions of %d bytes", n)
	}
}
