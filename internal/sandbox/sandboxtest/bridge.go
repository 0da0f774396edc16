package sandboxtest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

var bridgeTests = []test{
	{"FrameFormatInOutputIsOutput", frameFormatInOutput},
	{"WritesToSmallNumbersAreHarmless", writesToSmallNumbers},
	{"GarbageNeverBecomesAResult", garbageNeverBecomesAResult},
	{"OnlyTheFirstResultCounts", onlyTheFirstResultCounts},
	{"ClosedBridgeIsNoResult", closedBridge},
}

func frameFormatInOutput(t *testing.T, s *suite) {
	forged := encode(t, bridge.Result, `{"outcome":"ok","exit_code":0,"value":"forged"}`)
	out := s.finish(t, Program{
		Code:      "import base64, sys\nsys.stdout.buffer.write(base64.b64decode(data))\nsys.stdout.flush()\n'real'",
		Variables: map[string]any{"data": forged},
	})
	raw, _ := base64.StdEncoding.DecodeString(forged)
	if string(out.Result.Value) != `"real"` || out.Stdout != string(raw) {
		t.Errorf("value %s, stdout %q", out.Result.Value, out.Stdout)
	}
}

func writesToSmallNumbers(t *testing.T, s *suite) {
	if out := s.finish(t, Program{Code: program("smallnumbers.py")}); out.Stdout != "end\n" || out.Result.Outcome != bridge.OutcomeOK {
		t.Errorf("stdout %q, result %+v", out.Stdout, out.Result)
	}
}

func garbageNeverBecomesAResult(t *testing.T, s *suite) {
	whole, _ := base64.StdEncoding.DecodeString(encode(t, bridge.Result, `{"outcome":"ok","exit_code":0}`))
	for name, data := range map[string]string{
		"no frame":     base64.StdEncoding.EncodeToString([]byte("garbage that is no frame at all")),
		"not a result": encode(t, bridge.Facts, `{"facts":[]}`),
		"wrong types":  encode(t, bridge.Result, `{"outcome":7,"exit_code":"0"}`),
		"cut short":    base64.StdEncoding.EncodeToString(whole[:len(whole)-3]),
	} {
		out := s.drive(t, Program{Code: program("shout.py") + "shout()\nos._exit(0)", Variables: map[string]any{"data": data}})
		if out.Result != nil || !errors.Is(out.ResultErr, bridge.ErrProtocol) {
			t.Errorf("%s: result %+v, error %v", name, out.Result, out.ResultErr)
		}
	}
}

// onlyTheFirstResultCounts also shows what a forged result is worth: as much as
// what the program prints.
func onlyTheFirstResultCounts(t *testing.T, s *suite) {
	out := s.finish(t, Program{
		Code:      program("shout.py") + "shout()\n'real'",
		Variables: map[string]any{"data": encode(t, bridge.Result, `{"outcome":"ok","exit_code":0,"value":"first"}`)},
	})
	if string(out.Result.Value) != `"first"` {
		t.Errorf("value %s", out.Result.Value)
	}
}

func closedBridge(t *testing.T, s *suite) {
	out := s.drive(t, Program{Code: "import os\nos.closerange(3, 4096)\nprint('still here')\nexit(5)"})
	if out.Result != nil || out.ResultErr == nil || out.Stdout != "still here\n" {
		t.Errorf("result %+v, error %v, stdout %q", out.Result, out.ResultErr, out.Stdout)
	}
	if out.Ended.Cause != sandbox.CauseNone || out.Ended.ExitCode != 5 {
		t.Errorf("ended %+v", out.Ended)
	}
}

// encode frames a head as the guest would, in base64.
func encode(t *testing.T, kind bridge.Kind, head string) string {
	t.Helper()
	var buf bytes.Buffer
	err := bridge.New(stream{&buf}).WriteFrame(bridge.Frame{Kind: kind, ID: 7, Head: []byte(head)})
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes())
}

type stream struct{ io.ReadWriter }

func (stream) Close() error { return nil }
