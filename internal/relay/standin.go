package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// standIn answers while the server is away: a server of the SDK in this process, so
// that each answer has the form that its era of the protocol asks for. It lists the
// tools that the server had last, and says of each call that it cannot be made.
type standIn struct {
	server *mcp.Server
	conn   mcp.Connection // the client's end
	// said are the notifications that the client is to get.
	said func(*jsonrpc.Request)
	work sync.WaitGroup

	mu      sync.Mutex // guards what follows
	waiting map[jsonrpc.ID]chan<- *jsonrpc.Response
	tools   []*mcp.Tool
	encoded []byte // of tools
}

const standInInstructions = `The Gearbox server is away for now, or was when this session began: its tools say so when they are called, and work again once it is back.`

// refusal is the one tool that there really is: every call is led to it.
const refusal = "unavailable"

// Where a call carries what to say of it: lostKey of one that may have run, busyKey of
// one that the server did not take.
const (
	lostKey = "gearbox/lost"
	busyKey = "gearbox/busy"
)

// busyTime is when a call may be taken that was not.
const busyTime = 5 * time.Second

func newStandIn(ctx context.Context, self *mcp.Implementation, tools []*mcp.Tool, log *slog.Logger, say func() (string, time.Duration), said func(*jsonrpc.Request)) (*standIn, error) {
	s := &standIn{said: said, waiting: map[jsonrpc.ID]chan<- *jsonrpc.Response{}}
	if _, err := s.replace(tools); err != nil {
		return nil, err
	}
	s.server = mcp.NewServer(self, &mcp.ServerOptions{
		Instructions: standInInstructions, Logger: log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{}},
	})
	s.addRefusal(say)
	s.server.AddReceivingMiddleware(s.answerForAll)
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := s.server.Connect(ctx, theirs, nil); err != nil {
		return nil, err
	}
	var err error
	if s.conn, err = ours.Connect(ctx); err != nil {
		return nil, err
	}
	s.work.Go(func() { s.read(ctx) })
	return s, nil
}

func (s *standIn) addRefusal(say func() (string, time.Duration)) {
	s.server.AddTool(&mcp.Tool{Name: refusal, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if why, ok := req.Params.Meta[lostKey].(string); ok {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: why}}}, nil
			}
			text, retry := say()
			if why, ok := req.Params.Meta[busyKey].(string); ok {
				text, retry = why, busyTime
			}
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: unavailable(text, retry)}, nil
		})
}

// unavailable is the answer to a call that did not reach the server.
func unavailable(text string, retry time.Duration) execution.Result {
	return execution.Result{
		Status: execution.StatusRejected, ExitCode: -1, Stderr: text,
		Error: &execution.Error{Code: string(execution.CodeUnavailable), Message: text, RetryAfter: wholeSeconds(retry)},
	}
}

func wholeSeconds(d time.Duration) float64 { return max(1, math.Ceil(d.Seconds())) }

// answerForAll leads calls of every name to the refusal, and lists the server's tools.
func (s *standIn) answerForAll(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok {
			call.Params.Name = refusal
		}
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
			s.mu.Lock()
			list.Tools = s.tools
			s.mu.Unlock()
		}
		return res, err
	}
}

// replace takes over a list of tools and reports whether it differs from the last one.
func (s *standIn) replace(tools []*mcp.Tool) (changed bool, err error) {
	text, err := json.Marshal(tools)
	if err != nil {
		return false, fmt.Errorf("list of tools: %w", err)
	}
	var same []*mcp.Tool // as if they had come from a server, whatever they were made of
	if err := json.Unmarshal(text, &same); err != nil {
		return false, fmt.Errorf("list of tools: %w", err)
	}
	if text, err = json.Marshal(same); err != nil {
		return false, fmt.Errorf("list of tools: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed = !bytes.Equal(s.encoded, text); changed {
		s.tools, s.encoded = same, text
	}
	return changed, nil
}

// announce tells the client that the list of tools differs, where it listens for that.
func (s *standIn) announce(say func() (string, time.Duration)) { s.addRefusal(say) }

// ask hands a request in and waits for its answer; nil if ctx ends before.
func (s *standIn) ask(ctx context.Context, q *jsonrpc.Request) *jsonrpc.Response {
	answer := make(chan *jsonrpc.Response, 1)
	s.mu.Lock()
	s.waiting[q.ID] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, q.ID)
		s.mu.Unlock()
	}()
	if err := s.conn.Write(ctx, q); err != nil {
		return nil
	}
	select {
	case a := <-answer:
		return a
	case <-ctx.Done():
		s.cancel(ctx, q.ID)
		return nil
	}
}

func (s *standIn) cancel(ctx context.Context, id jsonrpc.ID) {
	s.tell(context.WithoutCancel(ctx), cancellation(id))
}

// tell hands a notification in.
func (s *standIn) tell(ctx context.Context, q *jsonrpc.Request) { _ = s.conn.Write(ctx, q) } // it fails only after close

func (s *standIn) read(ctx context.Context) {
	for {
		m, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *jsonrpc.Response:
			s.mu.Lock()
			answer := s.waiting[m.ID]
			s.mu.Unlock()
			if answer != nil {
				answer <- m
			}
		case *jsonrpc.Request:
			if !m.IsCall() {
				s.said(m)
			}
		}
	}
}

func (s *standIn) close() {
	_ = s.conn.Close()
	for session := range s.server.Sessions() {
		_ = session.Close()
	}
	s.work.Wait()
}
