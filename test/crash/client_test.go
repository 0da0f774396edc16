//go:build linux

package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// call is what is sent to the tool execute.
type call struct {
	Code     string   `json:"code"`
	Language string   `json:"language,omitempty"`
	Timeout  float64  `json:"timeout_seconds,omitempty"`
	Wait     *float64 `json:"wait_seconds,omitempty"`
}

// query is what is sent to get_operation.
type query struct {
	Operation string   `json:"operation_id"`
	Wait      *float64 `json:"wait_seconds,omitempty"`
}

// answer is what these tests read of a tool's structured content.
type answer struct {
	Status    string `json:"status"`
	Operation string `json:"operation_id"`
	ExitCode  int    `json:"exit_code"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Error     *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`

	raw json.RawMessage // as it came
}

// final reports whether it will never be another.
func (a answer) final() bool {
	return a.Operation != "" && a.Status != "running" && a.Status != "rejected" && a.Status != "internal_error"
}

// client is one session with a server. It may be used by many goroutines.
type client interface {
	// request sends a request and waits for its answer, which an error of the protocol
	// is not.
	request(ctx context.Context, method string, params any) (json.RawMessage, error)
	notify(ctx context.Context, method string) error
	close()
}

// greet begins the session.
func greet(ctx context.Context, c client) error {
	_, err := c.request(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "crash", "version": "1"},
	})
	if err != nil {
		return err
	}
	return c.notify(ctx, "notifications/initialized")
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
	return a, json.Unmarshal(result.Structured, &a)
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      *int64          `json:"id,omitempty"`
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

	mu      sync.Mutex // guards what follows, and writing
	next    int64
	waiting map[int64]chan message
	broken  error
}

func newPipes(in io.WriteCloser, out io.Reader) *pipes {
	p := &pipes{in: in, waiting: map[int64]chan message{}}
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
		if m.ID != nil && p.waiting[*m.ID] != nil {
			p.waiting[*m.ID] <- m
			delete(p.waiting, *m.ID)
		}
		p.mu.Unlock()
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

func (p *pipes) send(m message) (chan message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		return nil, p.broken
	}
	answered := make(chan message, 1)
	if m.ID != nil {
		p.next++
		*m.ID = p.next
		p.waiting[p.next] = answered
	}
	text, err := json.Marshal(m)
	if err == nil {
		_, err = p.in.Write(append(text, '\n'))
	}
	return answered, err
}

func (p *pipes) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answered, err := p.send(message{JSONRPC: "2.0", ID: new(int64), Method: method, Params: params})
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

func (p *pipes) notify(_ context.Context, method string) error {
	_, err := p.send(message{JSONRPC: "2.0", Method: method})
	return err
}

func (p *pipes) close() { _ = p.in.Close() }

// web speaks over HTTP, on a port or on a Unix socket.
type web struct {
	http    *http.Client
	url     string
	session atomic.Pointer[string]
	next    atomic.Int64
}

// newWeb speaks with host:port, or with the socket at path.
func newWeb(address string) *web {
	t := &http.Transport{MaxIdleConnsPerHost: 8}
	w := &web{http: &http.Client{Transport: t}, url: "http://" + address}
	if strings.HasPrefix(address, "/") {
		w.url = "http://localhost"
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", address)
		}
	}
	return w
}

func (w *web) post(ctx context.Context, m message) (*http.Response, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/mcp", bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if id := w.session.Load(); id != nil {
		r.Header.Set("Mcp-Session-Id", *id)
	}
	return w.http.Do(r)
}

func (w *web) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id := w.next.Add(1)
	resp, err := w.post(ctx, message{JSONRPC: "2.0", ID: &id, Method: method, Params: params})
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
	return readAnswer(resp, id)
}

// readAnswer finds the answer in a body that is one message or a stream of events.
func readAnswer(resp *http.Response, id int64) (json.RawMessage, error) {
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
			if m.ID != nil && *m.ID == id && m.Method == "" {
				return m.outcome()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("the answer broke off: %w", err)
		}
	}
}

func (w *web) notify(ctx context.Context, method string) error {
	resp, err := w.post(ctx, message{JSONRPC: "2.0", Method: method})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (w *web) close() { w.http.CloseIdleConnections() }

// get reads a page.
func (w *web) get(ctx context.Context, path string) (status int, body string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	resp, err := w.http.Do(r)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), errors.Join(err, resp.Body.Close())
}
