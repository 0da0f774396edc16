package upstream

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// pipe is a connection over the standard streams of a program. The SDK's own fails at
// the first line that is no message, and a write to a program that does not read holds
// the caller for ever.
type pipe struct {
	in  io.ReadCloser  // the program's standard output
	out io.WriteCloser // the program's standard input

	messages chan incoming
	writes   chan outgoing
	closed   chan struct{}
	once     sync.Once
	work     sync.WaitGroup
}

type incoming struct {
	message jsonrpc.Message
	err     error
}

type outgoing struct {
	line []byte
	done chan<- error
}

func newPipe(in io.ReadCloser, out io.WriteCloser, limit int, n *noise) *pipe {
	p := &pipe{in: in, out: out, messages: make(chan incoming), writes: make(chan outgoing), closed: make(chan struct{})}
	l := newLines(in, limit, n)
	p.work.Go(func() { p.read(l) })
	p.work.Go(p.write)
	return p
}

func (p *pipe) read(l *lines) {
	for {
		m, err := l.next()
		if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
			err = io.EOF
		}
		if !p.give(incoming{m, err}) || err != nil {
			_, _ = io.Copy(io.Discard, p.in) // a program that cannot write cannot end
			return
		}
	}
}

// give hands something to the reader of the connection, as if the program had sent it.
func (p *pipe) give(i incoming) bool {
	select {
	case p.messages <- i:
		return true
	case <-p.closed:
		return false
	}
}

func (p *pipe) write() {
	for {
		select {
		case w := <-p.writes:
			_, err := p.out.Write(w.line)
			w.done <- err
			if err != nil {
				return
			}
		case <-p.closed:
			return
		}
	}
}

// Read implements [mcp.Connection].
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case i := <-p.messages:
		return i.message, i.err
	case <-p.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection]. A message whose writing has begun is written to its
// end whatever becomes of the context, because half of one would spoil the next.
func (p *pipe) Write(ctx context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	select {
	case p.writes <- outgoing{append(line, '\n'), done}:
	case <-p.closed:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-p.closed:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SessionID implements [mcp.Connection]: there is one session, and it has no name.
func (*pipe) SessionID() string { return "" }

// Close implements [mcp.Connection]. The program sees the end of its input.
func (p *pipe) Close() error {
	p.once.Do(func() {
		close(p.closed)
		// Where a write that hangs is not ended by this, closing waits for it.
		p.work.Go(func() { _ = p.out.Close() })
	})
	return nil
}

// release lets go of the other stream and waits for what is under way. The program must
// have ended, or what it left behind has to be let go.
func (p *pipe) release() {
	_ = p.Close()
	_ = p.in.Close()
	p.work.Wait()
}
