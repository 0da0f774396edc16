// Package capture takes in what a program writes. Memory stays bounded whatever
// the program does: a [Stream] keeps the first and the last bytes and counts the
// rest, a [Budget] bounds all streams of a run together.
//
// Decoding for people lives here too. Policy on what to show and how much does
// not: that is the edge's.
package capture

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Stream keeps at most a fixed number of bytes of what is written to it, half
// from the start and half from the end. It is safe for concurrent use.
type Stream struct {
	half int

	mu    sync.Mutex // guards what follows
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring continues
	total int64
}

// NewStream keeps up to keep bytes.
func NewStream(keep execution.Bytes) *Stream { return &Stream{half: max(int(keep)/2, 1)} }

// Write implements [io.Writer]. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	n := len(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(n)
	if room := s.half - len(s.head); room > 0 {
		k := min(room, len(p))
		s.head = append(s.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > s.half {
		p = p[len(p)-s.half:]
	}
	if room := s.half - len(s.tail); room > 0 {
		k := min(room, len(p))
		s.tail = append(s.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(s.tail[s.next:], p)
		s.next = (s.next + k) % s.half
		p = p[k:]
	}
	return n, nil
}

// Output is a copy of what was kept so far.
func (s *Stream) Output() execution.Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail := append(append([]byte{}, s.tail[s.next:]...), s.tail[:s.next]...)
	out := execution.Output{Head: append([]byte{}, s.head...), Total: execution.Bytes(s.total)}
	if out.Total == execution.Bytes(len(out.Head)+len(tail)) {
		out.Head = append(out.Head, tail...)
		return out
	}
	out.Tail = tail
	return out
}

// Budget bounds what several streams take in together.
type Budget struct {
	left     atomic.Int64
	exceeded func()
	once     sync.Once
}

// NewBudget calls exceeded once, when more than limit bytes have been taken in.
func NewBudget(limit execution.Bytes, exceeded func()) *Budget {
	b := &Budget{exceeded: exceeded}
	b.left.Store(int64(limit))
	return b
}

func (b *Budget) take(n int) {
	if b.left.Add(-int64(n)) < 0 {
		b.once.Do(b.exceeded)
	}
}

// chunk is as much as a Linux pipe holds, so that one read can empty it.
const chunk = 64 << 10

// Drain reads r to its end into s. It goes on reading after the budget is spent,
// so that a program which is about to be killed never blocks the reader's end.
// A reader that was closed counts as ended.
func Drain(r io.Reader, s *Stream, b *Budget) error {
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			_, _ = s.Write(buf[:n])
			b.take(n)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
			return nil
		default:
			return err
		}
	}
}

// Text decodes bytes for people: valid UTF-8 as it is, anything else replaced by
// U+FFFD. Lossy reports whether something was replaced.
func Text(b []byte) (text string, lossy bool) {
	if utf8.Valid(b) {
		return string(b), false
	}
	return strings.ToValidUTF8(string(b), "\ufffd"), true
}

// TrimTail removes an incomplete character at the end of b, which a cut leaves behind.
func TrimTail(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		c := b[len(b)-i]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			return b
		}
	}
	return b
}

// TrimHead removes the end of a character at the start of b, which a cut leaves behind.
func TrimHead(b []byte) []byte {
	for i := 0; i < utf8.UTFMax && i < len(b); i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}
