//go:build linux

package sidecar_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// party is somebody who speaks with a server: the holder of a token over TCP, or
// whoever uses the socket without one and is local.
type party struct {
	s      *served
	name   string // that of its client and its token
	secret string
	client *http.Client
}

// holder is the holder of a new token.
func (s *served) holder(name, secret string) *party {
	return &party{s: s, name: name, secret: secret, client: &http.Client{Transport: bearer(secret)}}
}

// local is whoever uses the socket.
func (s *served) local() *party {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.unix)
	}}
	s.t.Cleanup(tr.CloseIdleConnections)
	return &party{s: s, name: "local", client: &http.Client{Transport: tr}}
}

// connect opens a session of the SDK's client.
func (p *party) connect(version string) *mcp.ClientSession {
	p.s.t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: p.clientName(), Version: "1"}, nil).Connect(p.s.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: p.s.url + "/mcp", HTTPClient: p.client},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		p.s.t.Fatal(err)
	}
	p.s.t.Cleanup(func() { _ = session.Close() })
	return session
}

func (p *party) clientName() string { return "client-of-" + p.name }

// do sends a request; header holds names and values in turn.
func (p *party) do(ctx context.Context, method, path, body string, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return p.client.Do(r)
}

// reply is what came back, without what differs between any two replies.
type reply struct {
	status int
	text   string
}

// ask is do, read to the end. Of a stream of events only the messages are kept.
func (p *party) ask(method, path, body string, header ...string) reply {
	p.s.t.Helper()
	res, err := p.do(p.s.t.Context(), method, path, body, header...)
	if err != nil {
		p.s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.s.t.Fatal(err)
	}
	return reply{res.StatusCode, messages(res, string(text))}
}

func messages(res *http.Response, text string) string {
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			b.WriteString(data)
		}
	}
	return b.String()
}

// message is JSON-RPC with the header fields that go with it.
type message struct {
	text   string
	header []string
}

// rpc makes a message of an era; session is empty where there is none. Without an id it
// is a notification.
func (p *party) rpc(era, session string, id any, method string, params map[string]any) message {
	p.s.t.Helper()
	m := message{header: []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}}
	if params == nil {
		params = map[string]any{}
	}
	if era == eras[1] {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": p.clientName(), "version": "1"},
		}
		m.header = append(m.header, "Mcp-Method", method)
		for _, key := range []string{"name", "uri"} {
			if name, ok := params[key].(string); ok {
				m.header = append(m.header, "Mcp-Name", name)
			}
		}
	}
	if session != "" || era == eras[1] {
		m.header = append(m.header, "MCP-Protocol-Version", era)
	}
	if session != "" {
		m.header = append(m.header, "Mcp-Session-Id", session)
	}
	whole := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		whole["id"] = id
	}
	text, err := json.Marshal(whole)
	if err != nil {
		p.s.t.Fatal(err)
	}
	m.text = string(text)
	return m
}

// tool asks for a tool.
func (p *party) tool(era, session string, id any, name string, arguments map[string]any) message {
	p.s.t.Helper()
	return p.rpc(era, session, id, "tools/call", map[string]any{"name": name, "arguments": arguments})
}

func (p *party) post(m message) reply {
	p.s.t.Helper()
	return p.ask(http.MethodPost, "/mcp", m.text, m.header...)
}

// open opens a session by hand, and is nothing in the era that has none.
func (p *party) open(era string) (session string) {
	p.s.t.Helper()
	if era == eras[1] {
		return ""
	}
	m := p.rpc(era, "", 1, "initialize", map[string]any{
		"protocolVersion": era, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": p.clientName(), "version": "1"},
	})
	res, err := p.do(p.s.t.Context(), http.MethodPost, "/mcp", m.text, m.header...)
	if err != nil {
		p.s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		p.s.t.Fatalf("%s %s %v", res.Status, text, err)
	}
	session = res.Header.Get("Mcp-Session-Id")
	if got := p.post(p.rpc(era, session, nil, "notifications/initialized", nil)); got.status != http.StatusAccepted {
		p.s.t.Fatalf("%+v", got)
	}
	return session
}

// flight is a call that is not answered yet.
type flight struct {
	hangUp context.CancelFunc // breaks the connection
	first  string             // the id of the first event, where there are events
	rest   <-chan string      // gets what else was read, once the answer or the connection ends
}

// begin makes a call and returns when its answer has begun.
func (p *party) begin(t testing.TB, m message) flight {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	f := flight{hangUp: cancel}
	rest := make(chan string, 1)
	f.rest = rest
	started := make(chan string, 1)
	go func() {
		defer close(started)
		res, err := p.do(ctx, http.MethodPost, "/mcp", m.text, m.header...)
		if err != nil {
			rest <- err.Error()
			return
		}
		defer func() { _ = res.Body.Close() }()
		in := bufio.NewReader(res.Body)
		var text strings.Builder
		for told := false; ; {
			line, err := in.ReadString('\n')
			text.WriteString(line)
			if id, ok := strings.CutPrefix(line, "id: "); ok && !told {
				started <- strings.TrimSpace(id)
				told = true
			}
			if err != nil {
				rest <- text.String()
				return
			}
		}
	}()
	if m.stateful() {
		f.first = <-started
	}
	return f
}

func (m message) stateful() bool {
	for _, h := range m.header {
		if h == "Mcp-Session-Id" {
			return true
		}
	}
	return false
}
