package bridge

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Version is the version of the framing, the first byte of each chunk.
const Version = 1

// Kind says what a frame is.
type Kind uint8

// The kinds. Numbers are never reused.
const (
	Hello Kind = iota + 1
	Analyse
	Facts
	Arm
	Run
	Result
	Display
	Ask
	Call
	Progress
	Cancel
)

const lastKind = Cancel

const (
	headerSize = 12
	// MaxChunk bounds one payload, so that a large frame never holds up
	// another one and neither end allocates what a header merely announces.
	MaxChunk = 64 << 10
	// DefaultMaxFrame bounds one reassembled frame. The files of a call and the
	// results of tools are this large.
	DefaultMaxFrame = 64 << 20
	// MaxGuestFrame bounds what a host takes from a guest: the largest call. Whatever a
	// program writes costs the host no more, in however many sandboxes at once.
	MaxGuestFrame = 4 + MaxCallHead + MaxArguments
	// MaxResult bounds the head of a result, in bytes: values and tracebacks are far
	// smaller.
	MaxResult = 4 << 20
	// maxOpen bounds unfinished frames: as many calls as may be in flight.
	maxOpen = 256

	flagMore = 1
)

// ErrProtocol is wrapped by every error that a malformed stream causes.
var ErrProtocol = errors.New("bridge: malformed stream")

// Frame is one message. Head is a JSON object; Body may be nil.
type Frame struct {
	Kind Kind
	ID   uint32
	Head json.RawMessage
	Body []byte
}

// NewFrame encodes head as JSON.
func NewFrame(kind Kind, id uint32, head any, body []byte) (Frame, error) {
	h, err := json.Marshal(head)
	if err != nil {
		return Frame{}, fmt.Errorf("encode head: %w", err)
	}
	return Frame{Kind: kind, ID: id, Head: h, Body: body}, nil
}

// Conn carries frames. ReadFrame is called by one goroutine at a time;
// WriteFrame may be called by many, and Close by any, any number of times. After
// Close, and after any error, both return errors for ever.
type Conn interface {
	ReadFrame() (Frame, error)
	WriteFrame(Frame) error
	Close() error
}

// New carries frames over rw. Close closes it.
func New(rw io.ReadWriteCloser) Conn { return NewLimited(rw, DefaultMaxFrame) }

// NewLimited is [New] with another bound on a frame that is read, in bytes. The same
// bound holds for all unfinished frames together.
func NewLimited(rw io.ReadWriteCloser, maxFrame int) Conn {
	return &conn{rw: rw, max: maxFrame, open: map[uint32]*partial{}}
}

type partial struct {
	kind Kind
	data []byte
}

type conn struct {
	rw  io.ReadWriteCloser
	max int

	open    map[uint32]*partial // owned by the reader
	held    int                 // bytes in open
	readErr error

	closeOnce sync.Once
	closeErr  error

	mu       sync.Mutex // guards writes: one frame's chunks are contiguous
	writeErr error
}

var _ Conn = (*conn)(nil)

func (c *conn) ReadFrame() (Frame, error) {
	if c.readErr != nil {
		return Frame{}, c.readErr
	}
	for {
		f, done, err := c.readChunk()
		if err != nil {
			c.readErr, c.open = err, nil
			return Frame{}, err
		}
		if done {
			return f, nil
		}
	}
}

// readChunk reads one chunk and returns the frame that it completes, if any.
func (c *conn) readChunk() (Frame, bool, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(c.rw, h[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || len(c.open) > 0 {
			return Frame{}, false, fmt.Errorf("%w: ends inside a frame", ErrProtocol)
		}
		return Frame{}, false, err
	}
	kind, flags := Kind(h[1]), binary.BigEndian.Uint16(h[2:])
	id, size := binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:])
	switch {
	case h[0] != Version:
		return Frame{}, false, fmt.Errorf("%w: version %d", ErrProtocol, h[0])
	case kind == 0 || kind > lastKind:
		return Frame{}, false, fmt.Errorf("%w: kind %d", ErrProtocol, kind)
	case flags&^flagMore != 0:
		return Frame{}, false, fmt.Errorf("%w: flags %#x", ErrProtocol, flags)
	case size > MaxChunk:
		return Frame{}, false, fmt.Errorf("%w: chunk of %d bytes", ErrProtocol, size)
	}
	p, err := c.partialFor(id, kind, int(size))
	if err != nil {
		return Frame{}, false, err
	}
	n := len(p.data)
	p.data = append(p.data, make([]byte, size)...)
	if _, err := io.ReadFull(c.rw, p.data[n:]); err != nil {
		return Frame{}, false, fmt.Errorf("%w: ends inside a chunk", ErrProtocol)
	}
	if flags&flagMore != 0 {
		return Frame{}, false, nil
	}
	delete(c.open, id)
	c.held -= len(p.data)
	f, err := split(kind, id, p.data)
	return f, err == nil, err
}

func (c *conn) partialFor(id uint32, kind Kind, size int) (*partial, error) {
	p := c.open[id]
	switch {
	case p == nil && len(c.open) >= maxOpen:
		return nil, fmt.Errorf("%w: over %d unfinished frames", ErrProtocol, maxOpen)
	case p == nil:
		p = &partial{kind: kind}
		c.open[id] = p
	case p.kind != kind:
		return nil, fmt.Errorf("%w: frame %d changes its kind", ErrProtocol, id)
	case size == 0:
		// Without this a peer could keep the reader busy for ever inside one frame.
		return nil, fmt.Errorf("%w: empty continuation", ErrProtocol)
	}
	if c.held+size > c.max {
		return nil, fmt.Errorf("%w: over %d bytes in unfinished frames", ErrProtocol, c.max)
	}
	c.held += size
	return p, nil
}

func split(kind Kind, id uint32, data []byte) (Frame, error) {
	if len(data) < 4 {
		return Frame{}, fmt.Errorf("%w: frame of %d bytes", ErrProtocol, len(data))
	}
	n := binary.BigEndian.Uint32(data)
	if uint64(n) > uint64(len(data)-4) {
		return Frame{}, fmt.Errorf("%w: head of %d bytes in a frame of %d", ErrProtocol, n, len(data))
	}
	f := Frame{Kind: kind, ID: id, Head: json.RawMessage(data[4 : 4+n])}
	if !json.Valid(f.Head) || f.Head[0] != '{' {
		return Frame{}, fmt.Errorf("%w: head is not a JSON object", ErrProtocol)
	}
	if body := data[4+n:]; len(body) > 0 {
		f.Body = body
	}
	return f, nil
}

func (c *conn) WriteFrame(f Frame) error {
	if len(f.Head)+len(f.Body)+4 > DefaultMaxFrame {
		return fmt.Errorf("bridge: frame of %d bytes is over the limit of %d", len(f.Head)+len(f.Body), DefaultMaxFrame)
	}
	data := make([]byte, 4, 4+len(f.Head)+len(f.Body))
	binary.BigEndian.PutUint32(data, uint32(len(f.Head)))
	data = append(append(data, f.Head...), f.Body...)

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writeErr != nil {
		return c.writeErr
	}
	c.writeErr = c.writeChunks(f, data)
	return c.writeErr
}

func (c *conn) writeChunks(f Frame, data []byte) error {
	buf := make([]byte, 0, headerSize+min(len(data), MaxChunk))
	for {
		n := min(len(data), MaxChunk)
		var flags uint16
		if n < len(data) {
			flags = flagMore
		}
		buf = append(buf[:0], Version, byte(f.Kind))
		buf = binary.BigEndian.AppendUint16(buf, flags)
		buf = binary.BigEndian.AppendUint32(buf, f.ID)
		buf = binary.BigEndian.AppendUint32(buf, uint32(n))
		buf = append(buf, data[:n]...)
		if _, err := c.rw.Write(buf); err != nil {
			return fmt.Errorf("write frame: %w", err)
		}
		if data = data[n:]; len(data) == 0 {
			return nil
		}
	}
}

func (c *conn) Close() error {
	c.closeOnce.Do(func() { c.closeErr = c.rw.Close() })
	return c.closeErr
}
