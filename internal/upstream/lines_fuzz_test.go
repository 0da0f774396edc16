package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Whatever a program writes, reading it ends, and each message that comes out stands in a
// line of its own or in a batch.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"", "\n", "\ufeff", "\ufeff\n", "{", "[]\n", "hello\n", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
		`[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"m"}}]` + "\r\n", `{"jsonrpc":"2.0","id":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n := &noise{}
		l := newLines(bytes.NewReader(data), 1<<10, n)
		for count := 0; ; count++ {
			m, err := l.next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, ErrTooLarge) {
					t.Fatal(err)
				}
				return
			}
			if _, err := jsonrpc.EncodeMessage(m); err != nil || count > len(data) {
				t.Fatalf("message %d: %v", count, err)
			}
		}
	})
}

// Whatever a server answers is a result or an error, and a result keeps what it was given.
func FuzzResult(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `[]`, `{"content":null}`, `{"content":[null]}`, `{"content":[{"type":"image","data":"AA=="}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"a:b","blob":"AA"}}],"structuredContent":[1e400]}`, `{"structuredContent":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return // the transport takes nothing else
		}
		r, err := result(data)
		if err == nil && len(r.Structured) > 0 && !json.Valid(r.Structured) {
			t.Errorf("%q", r.Structured)
		}
		_, _ = contents(data)
		_, _ = definition("s", data)
	})
}
