package upstream

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/tool"
)

func TestACallReachesAnHonestServer(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{Version: "test"}, spec(t, "honest", "honest"))
	known := f.Known(bounded(t), true)
	if len(known) != 1 || known[0].Instructions != "Be kind." || len(known[0].Tools) != 5 {
		t.Fatalf("%+v, %+v", known, status(t, f))
	}
	r, err := f.Call(bounded(t), "honest", "echo", []byte(`{"text":"hello"}`))
	if err != nil || len(r.Blocks) != 1 || r.Blocks[0].Kind != tool.Text || r.Blocks[0].Text != "hello" {
		t.Errorf("%+v, %v", r, err)
	}
	if s := status(t, f); s.State != Ready || s.Protocol != "2026-07-28" || s.Title != "honest" || s.Version != "1.2.3" {
		t.Errorf("%+v", s)
	}
	if r, err := f.Call(bounded(t), "honest", "fail", nil); err != nil || !r.IsError || r.Blocks[0].Text != "no luck today" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := f.Read(bounded(t), "honest", "test://note"); err != nil || r.Blocks[0].Text != "a note" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := f.Call(bounded(t), "other", "echo", nil); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func TestTwentyMegabytesPassAndMoreThanIsAcceptedFailsThatCallAlone(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{MaxMessage: 21 << 20}, spec(t, "honest", "large"))
	r, err := f.Call(bounded(t), "honest", "large", fmt.Appendf(nil, `{"bytes":%d}`, 20<<20))
	if err != nil || len(r.Blocks[0].Text) != 20<<20 {
		t.Fatal(err)
	}
	_, err = f.Call(bounded(t), "honest", "large", fmt.Appendf(nil, `{"bytes":%d}`, 22<<20))
	var refused *ProtocolError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "longer than is accepted") {
		t.Errorf("%v", err)
	}
	if r, err := f.Call(bounded(t), "honest", "one", []byte(`{"bytes":5}`)); err != nil || r.Blocks[0].Text != "xxxxx" {
		t.Errorf("%+v, %v", r, err)
	}
	if s := status(t, f); s.Restarts != 0 {
		t.Errorf("the session ended: %+v", s)
	}
}

func TestAServerThatExitsSaysWhyWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "exits", "exits"))
	_, err := f.Server(bounded(t), "exits")
	var gone *UnavailableError
	if !errors.As(err, &gone) || gone.State != Failed {
		t.Fatal(err)
	}
	for _, want := range []string{"exit status 3", "cannot read settings"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if s := fmt.Sprintf("%+v %v", status(t, f), err); strings.Contains(s, "abcdefghij") {
		t.Errorf("a key is in %s", s)
	}
}

func TestAServerThatHangsFailsAloneAtItsTimeout(t *testing.T) {
	t.Parallel()
	hangs := spec(t, "hangs", "hangs")
	hangs.StartupTimeout = 300 * time.Millisecond
	f := fleetOf(t, Options{}, hangs, spec(t, "honest", "honest"))
	if _, err := f.Call(bounded(t), "honest", "echo", []byte(`{"text":"hello"}`)); err != nil {
		t.Error(err)
	}
	_, err := f.Server(bounded(t), "hangs")
	if err == nil || !strings.Contains(err.Error(), "300ms") {
		t.Error(err)
	}
}

func TestAServerThatDoesNotBearTheProbeIsReachedByTheOlderProtocol(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"dies at the probe", "silent at the probe", "refuses"} {
		s := spec(t, "old", mode)
		s.StartupTimeout = 4 * time.Second
		f := fleetOf(t, Options{}, s)
		v, err := f.Server(bounded(t), "old")
		if err != nil || len(v.Tools) != 1 {
			t.Errorf("%s: %+v, %v", mode, v, err)
		}
		if s := status(t, f); s.Protocol != sessionful {
			t.Errorf("%s: %s", mode, s.Protocol)
		}
	}
}

func TestACallThatKillsItsServerFailsAndTheNextOneWaitsForTheRestart(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "mortal", "dies in mid-call"))
	_, err := f.Call(bounded(t), "mortal", "one", []byte(`{"how":"die"}`))
	var gone *UnavailableError
	if !errors.As(err, &gone) || !gone.Sent || !strings.Contains(err.Error(), "exit status 9") || !strings.Contains(err.Error(), "out of cheese") {
		t.Fatal(err)
	}
	r, err := f.Call(bounded(t), "mortal", "one", nil)
	if err != nil || r.Blocks[0].Text != "ok" {
		t.Errorf("%+v, %v", r, err)
	}
	if s := status(t, f); s.Restarts != 1 {
		t.Errorf("%+v", s)
	}
}

func TestAReplyThatIsLostEndsTheCallAtItsTimeoutAndTheServerIsTold(t *testing.T) {
	t.Parallel()
	s := spec(t, "lossy", "loses replies")
	s.Timeout = 200 * time.Millisecond
	f := fleetOf(t, Options{}, s)
	_, err := f.Call(bounded(t), "lossy", "one", nil)
	var late *TimeoutError
	if !errors.As(err, &late) || late.Tool != "one" {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		text, err := os.ReadFile(s.Dir + "/cancelled")
		return err == nil && strings.Contains(string(text), "requestId")
	})
}
