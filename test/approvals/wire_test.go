//go:build linux

package approvals

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// call is what is sent to the tool execute.
type call struct {
	Code      string           `json:"code"`
	Language  string           `json:"language,omitempty"`
	Timeout   float64          `json:"timeout_seconds,omitempty"`
	Gear      string           `json:"gear,omitempty"`
	Stdin     string           `json:"stdin,omitempty"`
	Variables map[string]any   `json:"variables,omitempty"`
	Files     []map[string]any `json:"files,omitempty"`
}

// query is what is sent to get_operation and to cancel_operation.
type query struct {
	Operation string   `json:"operation_id"`
	Wait      *float64 `json:"wait_seconds,omitempty"`
}

// answer is what these tests read of a tool's structured content.
type answer struct {
	Status      string   `json:"status"`
	Operation   string   `json:"operation_id"`
	ExitCode    int      `json:"exit_code"`
	Stdout      string   `json:"stdout"`
	Stderr      string   `json:"stderr"`
	Summary     string   `json:"summary"`
	Permissions []string `json:"permissions"`
	Hint        string   `json:"approve_hint"`
	Expires     string   `json:"expires_at"`
	Error       *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`

	raw json.RawMessage // as it came
}

// client is one session with a server. It may be used by many goroutines.
type client interface {
	// request sends a request and waits for its answer, which an error of the protocol
	// is not.
	request(ctx context.Context, method string, params any) (json.RawMessage, error)
	notify(ctx context.Context, method string, params any) error
	close()
}

// abilities are those of a client that can be asked everything.
var abilities = map[string]any{"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}}, "sampling": map[string]any{}, "roots": map[string]any{"listChanged": true}}

// greet begins the session.
func greet(ctx context.Context, c client) error {
	_, err := c.request(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": abilities, "clientInfo": map[string]any{"name": "approvals", "version": "1"},
	})
	if err != nil {
		return err
	}
	return c.notify(ctx, "notifications/initialized", nil)
}

// use calls a tool.
func use(ctx context.Context, c client, tool string, arguments any) (answer, error) {
	text, err := c.request(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return answer{}, err
	}
	var result struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return answer{}, err
	}
	a := answer{raw: result.Structured}
	if a.raw == nil {
		return a, fmt.Errorf("no structured answer: %s", text)
	}
	return a, json.Unmarshal(result.Structured, &a)
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      any             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

func (m message) outcome() (json.RawMessage, error) {
	if m.Error != nil {
		return nil, fmt.Errorf("an error of the protocol: %s", m.Error)
	}
	return m.Result, nil
}

// pipes speaks over standard input and output.
type pipes struct {
	in io.WriteCloser
	// asked is what to say to a request of the server's; nil for an answer that agrees
	// to everything.
	asked atomic.Int64 // how many of them came

	mu      sync.Mutex // guards what follows, and writing
	next    float64
	waiting map[float64]chan message
	broken  error
}

func newPipes(in io.WriteCloser, out io.Reader) *pipes {
	p := &pipes{in: in, waiting: map[float64]chan message{}}
	go p.read(out) // ends with the server
	return p
}

func (p *pipes) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		var m message
		if err == nil {
			err = json.Unmarshal(line, &m)
		}
		if err != nil {
			p.fail(err)
			return
		}
		p.mu.Lock()
		id, number := m.ID.(float64)
		switch {
		case m.Method != "" && m.ID != nil:
			p.agree(m)
		case number && p.waiting[id] != nil:
			p.waiting[id] <- m
			delete(p.waiting, id)
		}
		p.mu.Unlock()
	}
}

// agree answers whatever a server asks its client with a yes. The mutex is held.
func (p *pipes) agree(m message) {
	p.asked.Add(1)
	text, err := json.Marshal(message{JSONRPC: "2.0", ID: m.ID, Result: json.RawMessage(
		`{"action":"accept","content":{"decision":"approved","approve":true,"confirm":true},"role":"assistant","model":"m","stopReason":"endTurn","roots":[]}`)})
	if err == nil {
		_, _ = p.in.Write(append(text, '\n')) // a server that is gone shows elsewhere
	}
}

func (p *pipes) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = fmt.Errorf("the server is gone: %w", err)
	for id, c := range p.waiting {
		close(c)
		delete(p.waiting, id)
	}
}

// raw writes a line as it is.
func (p *pipes) raw(line []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		return p.broken
	}
	_, err := p.in.Write(append(line, '\n'))
	return err
}

func (p *pipes) send(m message, wanted bool) (chan message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		return nil, p.broken
	}
	answered := make(chan message, 1)
	if wanted {
		p.next++
		m.ID = p.next
		p.waiting[p.next] = answered
	}
	text, err := json.Marshal(m)
	if err == nil {
		_, err = p.in.Write(append(text, '\n'))
	}
	return answered, err
}

func (p *pipes) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answered, err := p.send(message{JSONRPC: "2.0", Method: method, Params: params}, true)
	if err != nil {
		return nil, err
	}
	select {
	case m, ok := <-answered:
		if !ok {
			return nil, errors.New("the server went away before it answered")
		}
		return m.outcome()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) notify(_ context.Context, method string, params any) error {
	_, err := p.send(message{JSONRPC: "2.0", Method: method, Params: params}, false)
	return err
}

func (p *pipes) close() { _ = p.in.Close() }

// web speaks over HTTP on a port.
type web struct {
	http    *http.Client
	url     string
	token   string
	session atomic.Pointer[string]
	next    atomic.Int64
}

func newWeb(address, token string) *web {
	return &web{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}, url: "http://" + address, token: token}
}

// do sends a request with what identifies the client.
func (w *web) do(ctx context.Context, method, path, contentType string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	if id := w.session.Load(); id != nil {
		r.Header.Set("Mcp-Session-Id", *id)
	}
	return w.http.Do(r)
}

func (w *web) post(ctx context.Context, m message) (*http.Response, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return w.do(ctx, http.MethodPost, "/mcp", "application/json", text)
}

func (w *web) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id := w.next.Add(1)
	resp, err := w.post(ctx, message{JSONRPC: "2.0", ID: id, Method: method, Params: params})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("HTTP status %d: %s", resp.StatusCode, text)
	}
	if s := resp.Header.Get("Mcp-Session-Id"); s != "" {
		w.session.CompareAndSwap(nil, &s)
	}
	return readAnswer(resp, float64(id))
}

// readAnswer finds the answer in a body that is one message or a stream of events.
func readAnswer(resp *http.Response, id float64) (json.RawMessage, error) {
	streamed := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	r := bufio.NewReader(resp.Body)
	for {
		line, err := r.ReadBytes('\n')
		text, data := bytes.CutPrefix(line, []byte("data:"))
		if len(bytes.TrimSpace(text)) > 0 && data == streamed {
			var m message
			if bad := json.Unmarshal(text, &m); bad != nil {
				return nil, errors.Join(bad, err)
			}
			if m.ID == id && m.Method == "" {
				return m.outcome()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("the answer broke off: %w", err)
		}
	}
}

func (w *web) notify(ctx context.Context, method string, params any) error {
	resp, err := w.post(ctx, message{JSONRPC: "2.0", Method: method, Params: params})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (w *web) close() { w.http.CloseIdleConnections() }
