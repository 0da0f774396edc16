package upstream

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modeKey makes this binary, started again, a server over stdio that behaves as its value says.
const modeKey = "UPSTREAM_TEST_MODE"

func TestMain(m *testing.M) {
	mode := strings.TrimPrefix(os.Getenv(modeKey), "as ")
	if mode == "" {
		os.Exit(m.Run())
	}
	behave(mode)
	os.Exit(0)
}

// spec is a server over stdio of a behaviour.
func spec(t testing.TB, name, mode string) Spec {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Spec{
		Name: name, Transport: Stdio, Command: []string{exe}, Dir: t.TempDir(),
		Env: map[string]string{modeKey: "as " + mode, "GORACE": "atexit_sleep_ms=0"},
	}
}

// fleetOf starts a fleet that is closed with the test.
func fleetOf(t *testing.T, o Options, specs ...Spec) *Fleet {
	t.Helper()
	f, err := New(specs, o)
	if err != nil {
		t.Fatal(err)
	}
	f.Start(t.Context())
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(stop)
	return ctx
}

// status is that of the one server of a fleet.
func status(t *testing.T, f *Fleet) Status {
	t.Helper()
	all := f.Servers()
	if len(all) != 1 {
		t.Fatalf("%d servers", len(all))
	}
	return all[0]
}

// tools is a server of the SDK with the tools that most tests call.
func tools() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "honest", Version: "1.2.3"}, &mcp.ServerOptions{Instructions: "Be kind."})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("no luck today")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "large"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Bytes int `json:"bytes"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", in.Bytes)}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "environment"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, map[string]any{"variables": os.Environ()}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "progress"}, func(ctx context.Context, q *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			if err := q.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: q.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "step",
			}); err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	s.AddResource(&mcp.Resource{URI: "test://note", Name: "note", MIMEType: "text/plain"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://note", MIMEType: "text/plain", Text: "a note"}}}, nil
	})
	return s
}

// mark writes a file beside the program, so that a test sees what became of it.
func mark(name, text string) { _ = os.WriteFile(filepath.Join(".", name), []byte(text), 0o600) }
