package upstream

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// It runs by itself: tests that run at once would be seen.
func TestNothingGoesOnWhenAFleetIsClosed(t *testing.T) {
	honest := tools()
	web, old := at(serve(t, stateful()).URL), at(serve(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return honest }, nil)).URL)
	modern := at(serve(t, stateless(mcp.StreamableHTTPOptions{})).URL)
	old.Name, old.Transport, modern.Name = "old", SSE, "modern"
	lossy, lazy := spec(t, "lossy", "loses replies"), spec(t, "lazy", "plain")
	lazy.Lazy = true
	f, err := New([]Spec{
		web, old, modern, lossy, lazy,
		spec(t, "honest", "honest"), spec(t, "hangs", "hangs"), spec(t, "exits", "exits"), spec(t, "floods", "floods with notices"),
		{Name: "nowhere", Transport: HTTP, URL: "http://127.0.0.1:1"},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.Start(t.Context())
	calls := make(chan error, 2)
	for _, name := range []string{"lossy", "floods"} {
		if _, err := f.Server(bounded(t), name); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := f.Call(bounded(t), name, "one", nil)
			calls <- err
		}()
	}
	for _, name := range []string{"web", "old", "modern", "honest"} {
		if _, err := f.Call(bounded(t), name, "echo", []byte(`{"text":"x"}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	before := time.Now()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("closed within %v", time.Since(before))
	for range 2 {
		if err := <-calls; err == nil {
			t.Error("a call was answered by nobody")
		}
	}
	defer func() {
		if g := ours(); g != "" {
			t.Log(g)
		}
	}()
	eventually(t, func() bool { return ours() == "" })
}

// ours are the goroutines of a fleet and of the SDK's client.
func ours() string {
	buffer := make([]byte, 1<<20)
	all := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	for _, g := range all[1:] {
		if strings.Contains(g, "upstream.(*") || strings.Contains(g, "upstream.within") || strings.Contains(g, "mcp.(*ClientSession)") || strings.Contains(g, "mcp.(*streamableClientConn)") || strings.Contains(g, "mcp.callSubscriptionsListen") {
			return g
		}
	}
	return ""
}
