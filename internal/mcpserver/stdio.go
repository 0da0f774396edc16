package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message. The largest call that is accepted carries 32 MiB
// of files as base64, 8 MiB of variables and 8 MiB of stdin, the latter with
// escapes of two bytes.
const maxLine = 80 << 20

// noBatches is the first protocol version without JSON-RPC batches.
const noBatches = "2025-06-18"

// Stdio is the transport over the standard input and output of this process. ended is
// called once the client has closed its end while calls are still open.
func Stdio(ended func()) Transport {
	return &lines{in: os.Stdin, out: os.Stdout, maxLine: maxLine, ended: ended}
}

// lines is the SDK's transport of one message a line, made robust in two ways.
// The SDK ends the session at the first line that is no message: here that line
// is answered with a protocol error and the session goes on. And the SDK drops
// the answers that are still due when its input ends: here the end is held back
// until every tool call is answered, so that `printf … | gearbox serve` works.
type lines struct {
	in      io.Reader
	out     io.Writer
	maxLine int
	ended   func() // nil for nothing
}

// Connect implements [mcp.Transport].
func (l *lines) Connect(ctx context.Context) (mcp.Connection, error) {
	f := &lineFilter{in: bufio.NewReaderSize(l.in, 64<<10), out: l.out, maxLine: l.maxLine, ended: l.ended, calls: map[jsonrpc.ID]struct{}{}}
	f.settled.L = &f.mu
	return (&mcp.IOTransport{Reader: f, Writer: f, MaxLineLength: -1}).Connect(ctx)
}

// lineFilter stands between the streams and the SDK. Read belongs to one
// goroutine; Write and Close may be called from any.
type lineFilter struct {
	in      *bufio.Reader
	maxLine int
	rest    []byte // of the line that is being handed to the SDK
	batches bool   // the client speaks a version that has them
	ended   func()

	mu      sync.Mutex // guards what follows
	settled sync.Cond  // signalled when calls shrinks or closed is set
	out     io.Writer
	calls   map[jsonrpc.ID]struct{} // tool calls without an answer
	closed  bool
}

// Read hands on one good line after the other.
func (f *lineFilter) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, err := f.line()
		if err != nil {
			f.settle()
			return 0, err
		}
		if f.admit(line) {
			f.rest = line
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// line reads a line with its end. One that is too long is nil: it has been
// skipped. A last line without an end counts.
func (f *lineFilter) line() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := f.in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > f.maxLine; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return append(line, '\n'), nil
		default:
			return nil, err
		}
	}
}

// admit reports whether a line is a message that the SDK can read. It answers
// every other line itself.
func (f *lineFilter) admit(line []byte) bool {
	switch trimmed := bytes.TrimSpace(line); {
	case line == nil:
		f.refuse(nil, jsonrpc.CodeInvalidRequest, "the message is too long")
		return false
	case len(trimmed) == 0:
		return false
	case !json.Valid(trimmed):
		f.refuse(nil, jsonrpc.CodeParseError, "not JSON")
		return false
	case trimmed[0] == '[' && f.batches:
		return true
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		f.refuse(idOf(line), jsonrpc.CodeInvalidRequest, "not a JSON-RPC message that can be read")
		return false
	}
	if r, ok := m.(*jsonrpc.Request); ok {
		f.note(r)
	}
	return true
}

// note remembers what is due to a request.
func (f *lineFilter) note(r *jsonrpc.Request) {
	switch r.Method {
	case "initialize":
		var p struct{ ProtocolVersion string }
		f.batches = json.Unmarshal(r.Params, &p) == nil && p.ProtocolVersion < noBatches
	case "tools/call":
		f.mu.Lock()
		defer f.mu.Unlock()
		if r.IsCall() {
			f.calls[r.ID] = struct{}{}
		}
	}
}

// idOf finds the id of a message that cannot be decoded, so that whoever sent it
// does not wait for ever. Null stands for an id that cannot be found.
func idOf(line []byte) json.RawMessage {
	var m struct{ ID json.RawMessage }
	if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 || m.ID[0] == '{' || m.ID[0] == '[' {
		return nil
	}
	return m.ID
}

func (f *lineFilter) refuse(id json.RawMessage, code int64, message string) {
	type wireError struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	data, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   wireError       `json:"error"`
	}{"2.0", id, wireError{code, message}})
	if err != nil {
		return // the id is not JSON after all: there is nobody to answer
	}
	// A broken output shows itself to the SDK when it writes next.
	_, _ = f.Write(append(data, '\n'))
}

// settle waits until every tool call is answered.
func (f *lineFilter) settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) > 0 && !f.closed && f.ended != nil {
		f.ended()
	}
	for len(f.calls) > 0 && !f.closed {
		f.settled.Wait()
	}
}

// Write passes one message on; the SDK writes each with one call.
func (f *lineFilter) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.out.Write(p)
	if err != nil {
		f.closed = true
		f.settled.Broadcast()
		return n, err
	}
	if id, ok := answered(p); ok {
		delete(f.calls, id)
		f.settled.Broadcast()
	}
	return n, nil
}

// answered is the id that a response answers. Answers are long and the id stands
// in front, so no more is read than that. A batch of answers has none: the calls
// in a batch are not counted.
func answered(p []byte) (id jsonrpc.ID, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(p))
	if start, err := d.ReadToken(); err != nil || start.Kind() != jsontext.KindBeginObject {
		return id, false
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != jsontext.KindString || name.String() == "method" {
			return id, false
		}
		key := name.String()
		value, err := d.ReadValue()
		switch {
		case err != nil:
			return id, false
		case key == "id":
			var v any
			if json.Unmarshal(value, &v) != nil {
				return id, false
			}
			id, err = jsonrpc.MakeID(v)
			return id, err == nil
		}
	}
}

// Close stops waiting. The streams are the process's own and stay open.
func (f *lineFilter) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.settled.Broadcast()
	return nil
}
