package relay

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// origin is a server of the SDK over HTTP, in both eras.
type origin struct {
	*mcp.Server

	url  string
	http *httptest.Server
}

// vanish breaks every connection and takes no new one.
func (o *origin) vanish() {
	_ = o.http.Listener.Close()
	o.http.CloseClientConnections()
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "origin", Version: "1"}, nil)
	get := func(*http.Request) *mcp.Server { return s }
	stateful := mcp.NewStreamableHTTPHandler(get, nil)
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(versionHeader) >= sessionless {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return &origin{s, h.URL, h}
}

func (o *origin) tool(name string, f func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	o.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, f)
}

// relayed connects a client with an origin through a relay.
func relayed(t *testing.T, o *origin, version string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	target, err := ParseTarget(o.url)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{
		Find: func(context.Context) (Target, error) { return target, nil }, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Version: "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := mcp.NewInMemoryTransports()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx, theirs); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(t.Context(), ours, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func said(t *testing.T, c *mcp.ClientSession, name string) string {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func eachEra(t *testing.T, f func(*testing.T, string)) {
	t.Helper()
	for _, version := range []string{"2025-06-18", "2025-11-25", sessionless} {
		t.Run(version, func(t *testing.T) { f(t, version) })
	}
}

func TestProgressPasses(t *testing.T) {
	eachEra(t, func(t *testing.T, version string) {
		o := newOrigin(t)
		seen := make(chan struct{})
		o.tool("slow", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 0.5, Message: "half"})
			if err != nil {
				return nil, err
			}
			<-seen // the answer waits for it
			return text("done"), nil
		})
		c := relayed(t, o, version, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, p *mcp.ProgressNotificationClientRequest) {
			if p.Params.Message == "half" {
				close(seen)
			}
		}})
		params := &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{}}
		params.SetProgressToken("p1")
		if _, err := c.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
	})
}

func TestACallThatIsCutOffNamesTheOperationThatTheServerHasTold(t *testing.T) {
	eachEra(t, func(t *testing.T, version string) {
		o := newOrigin(t)
		begun := make(chan struct{})
		o.tool("execute", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				Meta: mcp.Meta{operationKey: "op_told"}, ProgressToken: req.Params.GetProgressToken(), Progress: 1,
			})
			if err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		c := relayed(t, o, version, &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { close(begun) }})
		answer := make(chan string, 1)
		go func() {
			params := &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{}}
			params.SetProgressToken("p1")
			res, err := c.CallTool(t.Context(), params)
			if err != nil {
				answer <- err.Error()
				return
			}
			answer <- res.Content[0].(*mcp.TextContent).Text
		}()
		<-begun
		o.vanish()
		if got := <-answer; !strings.Contains(got, "went away while this call was under way") || !strings.Contains(got, `get_operation(operation_id="op_told")`) {
			t.Errorf("%s", got)
		}
	})
}

func TestQuestionsOfTheServerReachTheClientAndTheirAnswersTheServer(t *testing.T) {
	eachEra(t, func(t *testing.T, version string) {
		o := newOrigin(t)
		o.tool("ask", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if a, ok := req.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
				return text(a.Action), nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "Really?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}}}}, nil
		})
		c := relayed(t, o, version, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}})
		if got := said(t, c, "ask"); got != "decline" {
			t.Errorf("%q", got)
		}
	})
}

func TestCancellationReachesTheServer(t *testing.T) {
	eachEra(t, func(t *testing.T, version string) {
		o := newOrigin(t)
		begun, cancelled := make(chan struct{}), make(chan struct{})
		o.tool("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(begun)
			<-ctx.Done()
			close(cancelled)
			return nil, ctx.Err()
		})
		c := relayed(t, o, version, nil)
		ctx, giveUp := context.WithCancel(t.Context())
		go func() {
			<-begun
			giveUp()
		}()
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{}}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		<-cancelled
	})
}

func TestASessionThatTheServerForgotIsMadeAgainUnseen(t *testing.T) {
	o := newOrigin(t)
	o.tool("name", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(req.Session.ID() + req.ClientInfo().Name), nil
	})
	c := relayed(t, o, "2025-11-25", nil)
	first := said(t, c, "name")
	for s := range o.Sessions() {
		_ = s.Close()
	}
	second := said(t, c, "name")
	if first == second || second[len(second)-4:] != "test" {
		t.Errorf("%q, then %q", first, second)
	}
}

func TestAChangedListIsAnnouncedByTheServerItself(t *testing.T) {
	o := newOrigin(t)
	o.tool("one", nil)
	changed := make(chan struct{}, 16)
	c := relayed(t, o, "2025-11-25", &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
	if _, err := c.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for listening := false; !listening; { // the stream opens beside this
		o.tool("two", nil)
		select {
		case <-changed:
			listening = true
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestErrorsOfTheProtocolPass(t *testing.T) {
	eachEra(t, func(t *testing.T, version string) {
		o := newOrigin(t)
		o.tool("one", nil)
		c := relayed(t, o, version, nil)
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "none", Arguments: map[string]any{}})
		if err == nil || !strings.Contains(err.Error(), "none") {
			t.Errorf("%v", err)
		}
	})
}

func TestACallThatWaitsForAnOperationNamesItWhenTheServerVanishes(t *testing.T) {
	eachEra(t, func(t *testing.T, version string) {
		o := newOrigin(t)
		begun, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		o.tool("get_operation", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(begun)
			<-release
			return text("late"), nil
		})
		c := relayed(t, o, version, nil)
		go func() {
			<-begun
			o.vanish()
		}()
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_operation", Arguments: map[string]any{"operation_id": "op_1"}})
		if err != nil {
			t.Fatal(err)
		}
		got := res.Content[0].(*mcp.TextContent).Text
		if !res.IsError || !strings.Contains(got, `get_operation(operation_id="op_1")`) || strings.Contains(got, "may have run") {
			t.Errorf("%q", got)
		}
	})
}
