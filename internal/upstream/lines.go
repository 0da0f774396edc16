package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lines reads the messages of a stream of lines. What is no message of JSON-RPC is
// ignored and counted: programs print to standard output what was meant for a person.
type lines struct {
	r     *bufio.Reader
	max   int // bytes of a line
	noise *noise
	queue []jsonrpc.Message // of a batch
}

func newLines(r io.Reader, limit int, n *noise) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), max: limit, noise: n}
}

// next is the next message. It fails at the end of the stream, when too much noise comes
// between two messages, and at a line that is too long, unless that is a response which says
// what it answers: then whoever waits for it gets an error, and nobody else does.
func (l *lines) next() (jsonrpc.Message, error) {
	for len(l.queue) == 0 {
		line, err := l.line()
		if len(bytes.TrimSpace(line)) > 0 {
			l.queue = messages(line)
			if len(l.queue) > 0 {
				l.noise.message()
				break
			}
			if tooMuch := l.noise.add(string(line[:min(len(line), maxSample)]), len(line)); tooMuch != nil {
				return nil, tooMuch
			}
		}
		if err != nil {
			return nil, err
		}
	}
	m := l.queue[0]
	l.queue = l.queue[1:]
	return m, nil
}

// line reads up to the end of a line. Of one that is too long it returns, in its place, the
// response that tells so.
func (l *lines) line() ([]byte, error) {
	var whole []byte
	for {
		piece, err := l.r.ReadSlice('\n')
		if whole == nil && err == nil {
			return piece, l.fits(len(piece))
		}
		whole = append(whole, piece...)
		if tooLong := l.fits(len(whole)); tooLong != nil {
			return l.instead(whole, err, tooLong)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

// instead reads on to the end of a line that is too long, of which head is the beginning, and
// err how reading that ended. The line without its result is what it answers.
func (l *lines) instead(head []byte, err, tooLong error) ([]byte, error) {
	tail := bytes.Clone(head[max(0, len(head)-maxSample):])
	for read := len(head); errors.Is(err, bufio.ErrBufferFull); {
		var piece []byte
		piece, err = l.r.ReadSlice('\n')
		if read += len(piece); read > maxSkipped*l.max {
			return nil, tooLong
		}
		tail = append(tail, piece...)
		tail = tail[max(0, len(tail)-maxSample):]
	}
	if err != nil {
		return nil, tooLong
	}
	m := unreadable(head, tooLong)
	if m == nil {
		m = unreadableAtEnd(tail, tooLong)
	}
	if m == nil {
		return nil, tooLong
	}
	return jsonrpc.EncodeMessage(m)
}

func (l *lines) fits(n int) error {
	if n > l.max {
		return fmt.Errorf("%w: one line of more than %d bytes", ErrTooLarge, l.max)
	}
	return nil
}

// messages are those of a line: one, or those of a batch (2025-03-26); none if the line
// is something else.
func messages(line []byte) []jsonrpc.Message {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
	switch {
	case bytes.HasPrefix(line, []byte("{")):
		m, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			m = unreadable(line, err)
		}
		if m != nil {
			return []jsonrpc.Message{m}
		}
	case bytes.HasPrefix(line, []byte("[")):
		var batch []json.RawMessage
		if json.Unmarshal(line, &batch) != nil {
			return nil
		}
		var all []jsonrpc.Message
		for _, b := range batch {
			m, err := jsonrpc.DecodeMessage(b)
			if err != nil {
				return nil
			}
			all = append(all, m)
		}
		return all
	}
	return nil
}
