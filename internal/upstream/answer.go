package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tmaxmax/go-sse"
)

// answer is what came for one call, byte for byte. The SDK decodes what is open into
// maps and floats, and with that loses the order of a schema's properties and every
// integer above 2⁵³, of which identifiers are made.
type answer struct {
	mu      sync.Mutex // guards what follows
	id      jsonrpc.ID // of the request that was sent last
	result  json.RawMessage
	refused *jsonrpc.Error // by the server itself
	stream  bytes.Buffer   // events in which the result is, of streamable HTTP
}

type answerKey struct{}

// expecting has the transport keep what comes for the call that is made with the context.
func expecting(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

func expected(ctx context.Context) *answer {
	a, _ := ctx.Value(answerKey{}).(*answer)
	return a
}

// sent says which request is being answered from now on: a call that asks back is sent
// again.
func (a *answer) sent(id jsonrpc.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.result, a.refused = id, nil, nil
	a.stream.Reset()
}

// begin says that an exchange of HTTP is answered from now on: one of a new request, or
// one in which its answer is taken up again where it broke.
func (a *answer) begin(q *http.Request) {
	if q.GetBody == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.stream.WriteString("\n\n") // the event that broke comes again
		return
	}
	body, err := q.GetBody()
	if err != nil {
		return
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		return
	}
	if m, err := jsonrpc.DecodeMessage(text); err == nil {
		if r, ok := m.(*jsonrpc.Request); ok {
			a.sent(r.ID)
		}
	}
}

// came takes a response, if it is the one.
func (a *answer) came(m jsonrpc.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, ok := m.(*jsonrpc.Response); ok && r.ID == a.id {
		a.take(r)
	}
}

// answered takes the response that is the body of an HTTP answer. A refusal may leave out
// what it refuses.
func (a *answer) answered(body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m, err := jsonrpc.DecodeMessage(body); err == nil {
		if r, ok := m.(*jsonrpc.Response); ok && (r.ID == a.id || !r.ID.IsValid() && r.Error != nil) {
			a.take(r)
		}
	}
}

func (a *answer) take(r *jsonrpc.Response) {
	a.result = r.Result
	if errors.As(r.Error, &a.refused) {
		a.result = nil
	}
}

// write takes a piece of a stream of events, up to a limit.
func (a *answer) write(p []byte, limit int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream.Len()+len(p) > limit {
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, limit)
	}
	a.stream.Write(p)
	return nil
}

// raw is the result, or the refusal; nil if there is none.
func (a *answer) raw(limit int) (json.RawMessage, *jsonrpc.Error) {
	a.mu.Lock()
	events := bytes.NewReader(a.stream.Bytes())
	done := a.result != nil || a.refused != nil
	a.mu.Unlock()
	if !done {
		for e, err := range sse.Read(events, &sse.ReadConfig{MaxEventSize: limit}) {
			if err != nil {
				break
			}
			if m, err := jsonrpc.DecodeMessage([]byte(e.Data)); err == nil {
				a.came(m)
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.result, a.refused
}

// teed is the body of a stream of which an answer keeps what is read.
type teed struct {
	io.ReadCloser
	to    *answer
	limit int
	note  func(error)
}

func (t *teed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		if e := t.to.write(p[:n], t.limit); e != nil {
			t.note(e)
			return 0, e
		}
	}
	return n, err
}
