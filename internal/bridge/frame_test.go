package bridge_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
)

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	for name, f := range map[string]bridge.Frame{
		"empty head, no body":        {Kind: bridge.Hello, ID: 0, Head: json.RawMessage(`{}`)},
		"head and body":              {Kind: bridge.Analyse, ID: 1, Head: json.RawMessage(`{"language":"python"}`), Body: []byte("print(1)\x00\xff")},
		"largest id":                 {Kind: bridge.Cancel, ID: 1<<32 - 1, Head: json.RawMessage(`{"a":[1,{"b":null}]}`)},
		"a chunk less one byte":      sized(bridge.MaxChunk - 1),
		"exactly one chunk":          sized(bridge.MaxChunk),
		"a chunk and one byte":       sized(bridge.MaxChunk + 1),
		"many chunks":                sized(5*bridge.MaxChunk + 3),
		"a head longer than a chunk": {Kind: bridge.Call, ID: 3, Head: json.RawMessage(`{"a":"` + strings.Repeat("é", bridge.MaxChunk) + `"}`), Body: []byte("x")},
	} {
		t.Run(name, func(t *testing.T) {
			var wire buffer
			if err := bridge.New(&wire).WriteFrame(f); err != nil {
				t.Fatal(err)
			}
			conn := bridge.New(&wire)
			got, err := conn.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			assertSame(t, got, f)
			if _, err := conn.ReadFrame(); !errors.Is(err, io.EOF) || errors.Is(err, bridge.ErrProtocol) {
				t.Errorf("after the last frame: %v", err)
			}
		})
	}
}

// sized is a frame whose joined payload has n bytes.
func sized(n int) bridge.Frame {
	const head = `{"n":1}`
	return bridge.Frame{Kind: bridge.Result, ID: 2, Head: json.RawMessage(head), Body: bytes.Repeat([]byte{7}, n-4-len(head))}
}

func TestChunksOfTwoFramesMayBeInterleaved(t *testing.T) {
	a, b := payload(`{"a":1}`, "first body"), payload(`{"b":2}`, "second")
	var wire buffer
	wire.chunk(bridge.Display, 1, true, a[:5])
	wire.chunk(bridge.Call, 2, true, b[:3])
	wire.chunk(bridge.Display, 1, true, a[5:9])
	wire.chunk(bridge.Call, 2, false, b[3:])
	wire.chunk(bridge.Display, 1, false, a[9:])
	conn := bridge.New(&wire)
	for _, want := range []bridge.Frame{
		{Kind: bridge.Call, ID: 2, Head: json.RawMessage(`{"b":2}`), Body: []byte("second")},
		{Kind: bridge.Display, ID: 1, Head: json.RawMessage(`{"a":1}`), Body: []byte("first body")},
	} {
		got, err := conn.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		assertSame(t, got, want)
	}
}

func TestAnIDMayBeUsedAgain(t *testing.T) {
	var wire buffer
	for range 3 {
		wire.chunk(bridge.Progress, 9, false, payload(`{}`, ""))
	}
	conn := bridge.New(&wire)
	for range 3 {
		if _, err := conn.ReadFrame(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMalformedStreamsAreDeadForGood(t *testing.T) {
	good := payload(`{}`, "")
	for name, write := range map[string]func(*buffer){
		"unknown version":      func(w *buffer) { w.header(2, bridge.Run, 0, 1, len(good)) },
		"kind zero":            func(w *buffer) { w.header(1, 0, 0, 1, len(good)) },
		"kind beyond the last": func(w *buffer) { w.header(1, bridge.Cancel+1, 0, 1, len(good)) },
		"unknown flag":         func(w *buffer) { w.header(1, bridge.Run, 2, 1, len(good)) },
		"chunk over the limit": func(w *buffer) { w.header(1, bridge.Run, 0, 1, bridge.MaxChunk+1) },
		"end in a header":      func(w *buffer) { w.WriteString("\x01\x05") },
		"end in a chunk":       func(w *buffer) { w.header(1, bridge.Run, 0, 1, len(good)+1); w.Write(good) },
		"end before the last chunk": func(w *buffer) {
			w.chunk(bridge.Run, 1, true, good)
		},
		"frame without room for a head": func(w *buffer) { w.chunk(bridge.Run, 1, false, []byte{0, 0}) },
		"head longer than its frame":    func(w *buffer) { w.chunk(bridge.Run, 1, false, []byte{0, 0, 0, 3, '{', '}'}) },
		"head of nearly 4 GiB":          func(w *buffer) { w.chunk(bridge.Run, 1, false, []byte{255, 255, 255, 255, '{', '}'}) },
		"empty head":                    func(w *buffer) { w.chunk(bridge.Run, 1, false, payload("", "x")) },
		"head that is no JSON":          func(w *buffer) { w.chunk(bridge.Run, 1, false, payload("{", "")) },
		"head that is no object":        func(w *buffer) { w.chunk(bridge.Run, 1, false, payload("[]", "")) },
		"frame that changes its kind": func(w *buffer) {
			w.chunk(bridge.Run, 1, true, good[:4])
			w.chunk(bridge.Call, 1, false, good[4:])
		},
		"empty continuation": func(w *buffer) {
			w.chunk(bridge.Run, 1, true, good[:4])
			w.chunk(bridge.Run, 1, true, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var wire buffer
			write(&wire)
			wire.chunk(bridge.Run, 8, false, good) // must not be reached
			if strings.HasPrefix(name, "end") {
				wire.Truncate(wire.Len() - 12 - len(good))
			}
			conn := bridge.New(&wire)
			for range 3 {
				if f, err := conn.ReadFrame(); !errors.Is(err, bridge.ErrProtocol) {
					t.Fatalf("frame %+v, error %v", f, err)
				}
			}
		})
	}
}

func TestUnfinishedFramesAreBounded(t *testing.T) {
	t.Run("in number", func(t *testing.T) {
		var wire buffer
		for id := range uint32(257) {
			wire.chunk(bridge.Call, id, true, []byte{0})
		}
		assertProtocolError(t, bridge.New(&wire))
	})
	t.Run("in bytes together", func(t *testing.T) {
		var wire buffer
		for id := range uint32(3) {
			wire.chunk(bridge.Call, id, true, make([]byte, 400))
		}
		assertProtocolError(t, bridge.NewLimited(&wire, 1000))
	})
	t.Run("and finished ones are not counted", func(t *testing.T) {
		var wire buffer
		for id := range uint32(1000) {
			wire.chunk(bridge.Call, id, false, payload(`{}`, strings.Repeat("x", 900)))
		}
		conn := bridge.NewLimited(&wire, 1000)
		for range 1000 {
			if _, err := conn.ReadFrame(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestFrameOverTheLimitIsNotSent(t *testing.T) {
	var wire buffer
	conn := bridge.New(&wire)
	if err := conn.WriteFrame(sized(bridge.DefaultMaxFrame + 1)); err == nil || wire.Len() != 0 {
		t.Errorf("error %v, %d bytes sent", err, wire.Len())
	}
	if err := conn.WriteFrame(sized(100)); err != nil {
		t.Errorf("the connection did not survive: %v", err)
	}
}

func TestFailedWriteEndsTheConnection(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	conn := bridge.New(duplex{r, w})
	first := conn.WriteFrame(sized(20))
	if second := conn.WriteFrame(sized(20)); first == nil || !errors.Is(second, first) {
		t.Errorf("first %v, second %v", first, second)
	}
}

func TestCloseUnblocksTheReaderAndMayBeRepeated(t *testing.T) {
	r, w := io.Pipe()
	conn := bridge.New(duplex{r, w})
	read := make(chan error, 1)
	go func() {
		_, err := conn.ReadFrame()
		read <- err
	}()
	if err := errors.Join(conn.Close(), conn.Close()); err != nil {
		t.Error(err)
	}
	if err := <-read; err == nil {
		t.Error("a frame from a closed connection")
	}
	if err := conn.WriteFrame(sized(20)); err == nil {
		t.Error("a frame was written to a closed connection")
	}
}

// TestManyWritersDoNotMixTheirFrames is meant for the race detector.
func TestManyWritersDoNotMixTheirFrames(t *testing.T) {
	const writers, each = 8, 40
	r, w := io.Pipe()
	out, in := bridge.New(duplex{nil, w}), bridge.New(duplex{r, nil})
	var wg sync.WaitGroup
	for id := range uint32(writers) {
		wg.Go(func() {
			for n := range each {
				head := json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
				body := bytes.Repeat([]byte{byte(id)}, n*bridge.MaxChunk/16)
				if err := out.WriteFrame(bridge.Frame{Kind: bridge.Call, ID: id, Head: head, Body: body}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	next := make([]int, writers)
	for range writers * each {
		f, err := in.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		var head struct{ N int }
		if err := json.Unmarshal(f.Head, &head); err != nil || head.N != next[f.ID] {
			t.Fatalf("writer %d: frame %d instead of %d, error %v", f.ID, head.N, next[f.ID], err)
		}
		if want := bytes.Repeat([]byte{byte(f.ID)}, head.N*bridge.MaxChunk/16); !bytes.Equal(f.Body, want) {
			t.Fatalf("writer %d: frame %d holds another's bytes", f.ID, head.N)
		}
		next[f.ID]++
	}
	wg.Wait()
}

// FuzzReadFrame holds that what was accepted can be sent again and is read as
// the same frame, and that a stream that broke the rules stays dead.
func FuzzReadFrame(f *testing.F) {
	var seed buffer
	seed.chunk(bridge.Run, 1, true, payload(`{"a":1}`, "body")[:6])
	seed.chunk(bridge.Call, 2, false, payload(`{}`, ""))
	seed.chunk(bridge.Run, 1, false, payload(`{"a":1}`, "body")[6:])
	f.Add(seed.Bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bridge.NewLimited(&buffer{*bytes.NewBuffer(data)}, 1<<20)
		for {
			got, err := in.ReadFrame()
			if err != nil {
				if _, again := in.ReadFrame(); !errors.Is(again, err) {
					t.Fatalf("error %v, then %v", err, again)
				}
				return
			}
			var wire buffer
			conn := bridge.NewLimited(&wire, 1<<20)
			if err := conn.WriteFrame(got); err != nil {
				t.Fatalf("an accepted frame cannot be sent: %v", err)
			}
			back, err := conn.ReadFrame()
			if err != nil {
				t.Fatalf("a sent frame cannot be read: %v", err)
			}
			assertSame(t, back, got)
		}
	})
}

func assertProtocolError(t *testing.T, conn bridge.Conn) {
	t.Helper()
	if f, err := conn.ReadFrame(); !errors.Is(err, bridge.ErrProtocol) {
		t.Errorf("frame %+v, error %v", f, err)
	}
}

func assertSame(t *testing.T, got, want bridge.Frame) {
	t.Helper()
	if got.Kind != want.Kind || got.ID != want.ID || !bytes.Equal(got.Head, want.Head) || !bytes.Equal(got.Body, want.Body) {
		t.Errorf("got kind %d, id %d, head %.80s, %d bytes; want kind %d, id %d, head %.80s, %d bytes",
			got.Kind, got.ID, got.Head, len(got.Body), want.Kind, want.ID, want.Head, len(want.Body))
	}
}

// buffer is a wire that holds what was written until it is read.
type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

func (w *buffer) header(version byte, kind bridge.Kind, flags uint16, id uint32, size int) {
	h := binary.BigEndian.AppendUint16([]byte{version, byte(kind)}, flags)
	h = binary.BigEndian.AppendUint32(h, id)
	w.Write(binary.BigEndian.AppendUint32(h, uint32(size)))
}

func (w *buffer) chunk(kind bridge.Kind, id uint32, more bool, data []byte) {
	var flags uint16
	if more {
		flags = 1
	}
	w.header(1, kind, flags, id, len(data))
	w.Write(data)
}

func payload(head, body string) []byte {
	p := binary.BigEndian.AppendUint32(nil, uint32(len(head)))
	return append(append(p, head...), body...)
}

// duplex is one end of a pair of pipes.
type duplex struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func (d duplex) Read(b []byte) (int, error)  { return d.r.Read(b) }
func (d duplex) Write(b []byte) (int, error) { return d.w.Write(b) }
func (d duplex) Close() error {
	var errs [2]error
	if d.r != nil {
		errs[0] = d.r.Close()
	}
	if d.w != nil {
		errs[1] = d.w.Close()
	}
	return errors.Join(errs[:]...)
}
