package bridge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
)

func TestACallWithinItsBoundsIsRead(t *testing.T) {
	for name, c := range map[string]struct{ head, body, want string }{
		"arguments":      {`{"want":"call","server":"s","tool":"t"}`, `{"a":1}`, `{"a":1}`},
		"no arguments":   {`{"want":"call"}`, "", "{}"},
		"spaces":         {`{"want":"call"}`, "\n {} ", "{} "},
		"the most":       {`{"want":"call"}`, `{"a":"` + strings.Repeat("x", bridge.MaxArguments-8) + `"}`, `{"a":"` + strings.Repeat("x", bridge.MaxArguments-8) + `"}`},
		"a search":       {`{"want":"search","query":"q","limit":5}`, "", ""},
		"unknown fields": {`{"want":"module","new":1}`, "", ""},
		"a long head":    {`{"want":"search","query":"` + strings.Repeat("x", bridge.MaxCallHead-28) + `"}`, "", ""},
	} {
		_, body, err := bridge.ReadCall(bridge.Frame{Kind: bridge.Call, Head: []byte(c.head), Body: []byte(c.body)})
		if err != nil || string(body) != c.want {
			t.Errorf("%s: %.80q, %v", name, body, err)
		}
	}
}

func TestACallThatTheGuestDoesNotWriteBreaksTheProtocol(t *testing.T) {
	for name, f := range map[string]bridge.Frame{
		"another kind":      {Kind: bridge.Ask, Head: []byte(`{"want":"call"}`)},
		"a longer head":     {Head: []byte(`{"want":"search","query":"` + strings.Repeat("x", bridge.MaxCallHead-27) + `"}`)},
		"more arguments":    {Head: []byte(`{"want":"call"}`), Body: []byte(`{"a":"` + strings.Repeat("x", bridge.MaxArguments-7) + `"}`)},
		"no want":           {Head: []byte(`{}`)},
		"an unknown want":   {Head: []byte(`{"want":"all"}`)},
		"a list":            {Head: []byte(`{"want":"call"}`), Body: []byte(`[]`)},
		"no JSON":           {Head: []byte(`{"want":"call"}`), Body: []byte(`{"a":}`)},
		"two values":        {Head: []byte(`{"want":"call"}`), Body: []byte(`{}{}`)},
		"no UTF-8":          {Head: []byte(`{"want":"call"}`), Body: []byte("{\"a\":\"\xff\"}")},
		"a body of a read":  {Head: []byte(`{"want":"read","uri":"u"}`), Body: []byte(`{}`)},
		"a negative limit":  {Head: []byte(`{"want":"search","limit":-1}`)},
		"a negative wait":   {Head: []byte(`{"want":"call","timeout":-1}`)},
		"an endless wait":   {Head: []byte(`{"want":"call","timeout":1e300}`)},
		"a name that is no": {Head: []byte(`{"want":"call","tool":{}}`)},
		"very many names":   {Head: []byte(`{"want":"describe","names":[` + strings.Repeat(`"a",`, 1000) + `"a"]}`)},
	} {
		if f.Kind == 0 {
			f.Kind = bridge.Call
		}
		if head, _, err := bridge.ReadCall(f); !errors.Is(err, bridge.ErrProtocol) {
			t.Errorf("%s: %+v, %v", name, head, err)
		}
	}
}

func FuzzReadCall(f *testing.F) {
	f.Add([]byte(`{"want":"call","server":"s","tool":"t","timeout":1.5}`), []byte(`{"a":[1,"é",null]}`))
	f.Add([]byte(`{"want":"describe","names":["a.b"],"detail":"full"}`), []byte{})
	f.Add([]byte(`{"WANT":"search","limit":3}`), []byte{})
	f.Fuzz(func(t *testing.T, head, body []byte) {
		got, arguments, err := bridge.ReadCall(bridge.Frame{Kind: bridge.Call, Head: head, Body: body})
		if err != nil {
			if !errors.Is(err, bridge.ErrProtocol) {
				t.Fatal(err)
			}
			return
		}
		if calls := got.Want == bridge.WantCall; calls != (arguments != nil) {
			t.Fatalf("%+v with %q", got, arguments)
		}
		var object map[string]json.RawMessage
		if arguments != nil && json.Unmarshal(arguments, &object) != nil {
			t.Fatalf("arguments that are no object: %q", arguments)
		}
		again, err := bridge.NewFrame(bridge.Call, 1, got, arguments)
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Head) > bridge.MaxCallHead {
			return // what JSON of ours escapes takes more room
		}
		back, same, err := bridge.ReadCall(again)
		if len(got.Names) == 0 {
			got.Names = nil
		}
		if err != nil || !bytes.Equal(same, arguments) || !reflect.DeepEqual(back, got) {
			t.Fatalf("%+v, then %+v, %v", got, back, err)
		}
	})
}
