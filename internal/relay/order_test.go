package relay

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// begun are the first messages of a client that waits for no answer.
var begun = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one","arguments":{}}}`,
}

// piped says all of that at once, lets the server be found, and returns the answers.
func piped(t *testing.T, find func() (Target, error), start time.Duration, more ...string) []*jsonrpc.Response {
	t.Helper()
	said := make(chan struct{})
	r, err := New(Config{
		Find: func(ctx context.Context) (Target, error) {
			if !await(ctx, said) {
				return Target{}, ctx.Err()
			}
			return find()
		},
		Logger: slog.New(slog.DiscardHandler), Version: "1", Start: start,
	})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := mcp.NewInMemoryTransports()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { _ = r.Run(ctx, theirs) })
	c, err := ours.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range append(begun, more...) {
		m, err := jsonrpc.DecodeMessage([]byte(line))
		if err == nil {
			err = c.Write(ctx, m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	close(said)
	var out []*jsonrpc.Response
	for len(out) < 2 {
		m, err := c.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := m.(*jsonrpc.Response); ok {
			out = append(out, a)
		}
	}
	return out
}

func TestACallThatComesAtOnceWithTheSessionWaitsForIt(t *testing.T) {
	o := newOrigin(t)
	o.tool("one", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("done"), nil })
	target, err := ParseTarget(o.url)
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		find  func() (Target, error)
		start time.Duration
		want  string
	}{
		"a server":              {func() (Target, error) { return target, nil }, time.Hour, "done"},
		"no server":             {func() (Target, error) { return Target{}, errors.New("there is none") }, time.Millisecond, "unavailable"},
		"a server that is late": {func() (Target, error) { return target, nil }, time.Millisecond, ""},
	} {
		for range 20 {
			got := piped(t, row.find, row.start)
			if got[0].ID.Raw() != int64(1) || got[1].ID.Raw() != int64(2) || got[0].Error != nil || got[1].Error != nil || !strings.Contains(string(got[1].Result), row.want) {
				t.Errorf("%s: %v %v: %v %s", name, got[0].ID, got[0].Error, got[1].Error, got[1].Result)
			}
		}
	}
}

func TestACallThatWaitsForTheSessionCanBeGivenUp(t *testing.T) {
	got := piped(t, func() (Target, error) { return Target{}, errors.New("there is none") }, 100*time.Millisecond,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	for _, a := range got {
		if a.ID.Raw() == int64(2) && (a.Error == nil || !strings.Contains(a.Error.Error(), errCancelled.Error())) {
			t.Errorf("%v %s", a.Error, a.Result)
		}
	}
}
