package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Whatever a program writes, reading it ends, and each message that comes out stands in a
// line of its own or in a batch.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"", "\n", "\ufeff", "\ufeff\n", "{", "[]\n", "hello\n", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
		`[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"m"}}]` + "\r\n", `{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}` + "\n",
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

func TestAResponseThatCannotBeReadIsAnErrorToWhomItAnswers(t *testing.T) {
	deep := strings.Repeat("[", 1500) + strings.Repeat("]", 1500)
	for line, answers := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}`:       true,
		`{"jsonrpc":"2.0","id":7,"result":` + deep + `}`:    true,
		`{"id":7,"jsonrpc":"2.0","error":{"code":"text"}}`:  true,
		`{"jsonrpc":"2.0","result":{"x":NaN},"id":7}`:       false, // whose it is nobody can tell
		`{"jsonrpc":"2.0","id":7,"method":"m","result":NaN`: false,
		`{"jsonrpc":"2.0","id":7,"resu`:                     false,
		`{"id":7,"result":NaN}`:                             false,
		`{"jsonrpc":"2.0","id":[7],"result":NaN}`:           false,
	} {
		n := &noise{}
		m, err := newLines(strings.NewReader(line+"\n"), 1<<20, n).next()
		r, _ := m.(*jsonrpc.Response)
		if answers != (err == nil && r != nil && r.ID.Raw() == int64(7) && r.Error != nil) {
			t.Errorf("%.60s: %T, %v", line, m, err)
		}
	}
}

func TestALineThatIsTooLongFailsWhoeverItAnswersAndTheNextIsRead(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for line, answers := range map[string]any{
		`{"jsonrpc":"2.0","id":7,"result":"` + long + `"}`:                         int64(7),
		`{"result":{"text":"` + long + `"},"jsonrpc":"2.0","id":7}`:                int64(7),
		`{ "result" : "` + long + `" , "jsonrpc" : "2.0" , "id" : "seven" }` + " ": "seven",
		`{"result":{"text":"` + long + `","jsonrpc":"2.0","id":7}}`:                nil,
		`{"jsonrpc":"2.0","method":"x","params":{"text":"` + long + `"}}`:          nil,
		long: nil,
		`{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", 900_000): nil, // it goes on for too long
	} {
		l := newLines(strings.NewReader(line+"\n"+`{"jsonrpc":"2.0","id":8,"result":{}}`+"\n"), 100_000, &noise{})
		m, err := l.next()
		if answers == nil {
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("%.60s: %T, %v", line, m, err)
			}
			continue
		}
		r, _ := m.(*jsonrpc.Response)
		if err != nil || r == nil || r.ID.Raw() != answers || r.Error == nil || !strings.Contains(r.Error.Error(), "longer than is accepted") {
			t.Errorf("%.60s: %T, %v", line, m, err)
		}
		if m, err := l.next(); err != nil || m.(*jsonrpc.Response).ID.Raw() != int64(8) {
			t.Errorf("after %.60s: %T, %v", line, m, err)
		}
	}
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
