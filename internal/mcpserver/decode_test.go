package mcpserver

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestArgumentsAreReadAsTheyStand(t *testing.T) {
	var a execution.Arguments
	err := decode([]byte(` {"code":"print(1)","language":"PY","timeout_seconds":2.5,"wait_seconds":0,"stdin":"é\u0000","gear":"g",
		"variables":{"a":null,"b":[1, null,{"c":null}],"d":1e400},"files":[{"path":"a","text":""},{"path":"b","base64":"AA=="}]} `), &a)
	if err != nil {
		t.Fatal(err)
	}
	if a.Code != "print(1)" || a.Language != "PY" || *a.TimeoutSeconds != 2.5 || *a.WaitSeconds != 0 || a.Stdin != "é\x00" || a.Gear != "g" {
		t.Errorf("read %+v", a)
	}
	// Python reads numbers that Go cannot hold, so values pass through untouched.
	if string(a.Variables["a"]) != "null" || string(a.Variables["d"]) != "1e400" || !strings.Contains(string(a.Variables["b"]), "null") {
		t.Errorf("variables %s", a.Variables)
	}
	if len(a.Files) != 2 || *a.Files[0].Text != "" || *a.Files[1].Base64 != "AA==" {
		t.Errorf("files %+v", a.Files)
	}
}

// TestLookalikeNamesAreRefused: CVE-2026-27896 was a decoder that took them.
func TestLookalikeNamesAreRefused(t *testing.T) {
	for _, name := range []string{"Code", "CODE", "code ", "ſtdin", "lan\u0261uage", "c\u006fde\u0000", "timeoutSeconds"} {
		b := mustJSON(t, map[string]string{"code": "1", name: "2"})
		if err := decode(b, new(execution.Arguments)); err == nil || !strings.Contains(err.Error(), "unknown argument") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestInvalidUTF8IsRefused(t *testing.T) {
	for _, raw := range []string{"{\"code\":\"\xff\"}", `{"code":"\ud800"}`, `{"code":"\udc00x"}`, "{\"variables\":{\"a\":\"\xed\xa0\x80\"}}", `{"variables":{"a":["\ud83d"]}}`} {
		if err := decode([]byte(raw), new(execution.Arguments)); err == nil {
			t.Errorf("%q was read", raw)
		}
	}
}

// FuzzDecode: what is refused is refused as the caller's fault; what is read is
// what the standard library reads, without its leniency.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"code":"print(1)"}`, `{"code":"1","files":[{"path":"a","text":"b"}],"variables":{"x":{"y":[null]}}}`, `null`, ``, `[]`, `{"code":null}`,
		`{"Code":"1"}`, `{"code":"1","code":"2"}`, `{"timeout_seconds":1e999}`, `{"a/b~c":{"0":1}}`, `{"code":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var strict execution.Arguments
		if err := decode(raw, &strict); err != nil {
			var rejected *execution.RejectedError
			if !errors.As(err, &rejected) || rejected.Code != execution.CodeInvalidArgument || rejected.Message == "" {
				t.Fatalf("refused with %v", err)
			}
			if !utf8.ValidString(rejected.Field) || len(rejected.Field) > 4*maxField {
				t.Fatalf("the field is %q", rejected.Field)
			}
			return
		}
		var lenient execution.Arguments
		if len(strings.TrimSpace(string(raw))) > 0 {
			if err := json.Unmarshal(raw, &lenient); err != nil {
				t.Fatalf("the standard library refuses it: %v", err)
			}
		}
		if !reflect.DeepEqual(strict, lenient) && !sameJSON(strict, lenient) {
			t.Fatalf("read %+v, the standard library %+v", strict, lenient)
		}
	})
}

func sameJSON(a, b execution.Arguments) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
