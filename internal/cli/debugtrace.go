package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// trace prints each message of a session as it goes. Several goroutines write to it.
type trace struct {
	json bool

	mu  sync.Mutex
	out io.Writer
}

// The directions.
const (
	sent     = "sent"
	received = "received"
)

// maxShown is how much of one message is shown to a person, in bytes.
const maxShown = 2000

// message prints one message. What is no JSON is shown as a string.
func (t *trace) message(direction string, text []byte) {
	var line bytes.Buffer
	if json.Compact(&line, text) != nil {
		line.Reset()
		quoted, _ := json.Marshal(string(text)) // a string can be written
		line.Write(quoted)
	}
	shown := visible.JSON(line.Bytes())
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.json {
		_, _ = fmt.Fprintf(t.out, "{\"direction\":%q,\"message\":%s}\n", direction, shown) // [Main] tells of lost output
		return
	}
	arrow := map[string]string{sent: "->", received: "<-"}[direction]
	if len(shown) > maxShown {
		shown = fmt.Appendf(shown[:maxShown:maxShown], "… (%d bytes in all, --json shows them)", len(shown))
	}
	_, _ = fmt.Fprintf(t.out, "%s %s\n", arrow, bytes.ToValidUTF8(shown, nil))
}

// say prints a line for people.
func (t *trace) say(format string, args ...any) {
	if t.json {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.out, format+"\n", args...)
}

// traced is a transport over the standard streams of a process. That of HTTP is watched
// below, at the requests: the SDK's client does more with its connection than the interface
// tells.
type traced struct {
	mcp.Transport

	trace *trace
}

func (t traced) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return tracedConn{c, t.trace}, nil
}

type tracedConn struct {
	mcp.Connection

	trace *trace
}

func (c tracedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err == nil {
		c.show(received, m)
	}
	return m, err
}

func (c tracedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	c.show(sent, m) // before its answer
	return c.Connection.Write(ctx, m)
}

func (c tracedConn) show(direction string, m jsonrpc.Message) {
	if text, err := jsonrpc.EncodeMessage(m); err == nil {
		c.trace.message(direction, text)
	}
}

// tracedHTTP watches the exchanges of a session over HTTP. Header fields are not printed: the
// credentials stand there.
type tracedHTTP struct {
	http.RoundTripper

	trace *trace
	token string
}

func (t tracedHTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if t.token != "" {
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	if r.Body != nil && r.Method == http.MethodPost {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(text))
		t.trace.message(sent, text)
	}
	res, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode >= http.StatusBadRequest:
		t.trace.say("   HTTP %s to %s", res.Status, r.Method)
	case kind == "text/event-stream":
		res.Body = &tracedEvents{ReadCloser: res.Body, trace: t.trace}
		return res, nil
	}
	if kind == "application/json" {
		res.Body = &tracedBody{ReadCloser: res.Body, trace: t.trace}
	}
	return res, nil
}

// maxKept bounds what is kept of a message until it is printed.
const maxKept = 64 << 20

// tracedBody prints a body when it has been read.
type tracedBody struct {
	io.ReadCloser

	trace *trace
	text  bytes.Buffer
	done  bool
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.text.Write(p[:min(n, maxKept-b.text.Len())])
	if err != nil && !b.done && b.text.Len() > 0 {
		b.done = true
		b.trace.message(received, b.text.Bytes())
	}
	return n, err
}

// tracedEvents prints the data of each event of a stream as it comes.
type tracedEvents struct {
	io.ReadCloser

	trace *trace
	line  bytes.Buffer
	data  []string
}

func (e *tracedEvents) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	for _, c := range p[:n] {
		switch {
		case c == '\n':
			e.end()
		case e.line.Len() < maxKept:
			e.line.WriteByte(c)
		}
	}
	if err != nil {
		e.end() // the end of the stream ends its last event
		e.end()
	}
	return n, err
}

// end ends a line; an empty one ends the event.
func (e *tracedEvents) end() {
	line := strings.TrimSuffix(e.line.String(), "\r")
	e.line.Reset()
	if data, ok := strings.CutPrefix(line, "data:"); ok {
		e.data = append(e.data, strings.TrimPrefix(data, " "))
		return
	}
	if text := strings.Join(e.data, "\n"); line == "" && text != "" {
		e.trace.message(received, []byte(text))
		e.data = nil
	}
}
