package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLinesThatAreNoMessagesAreCountedAndIgnored(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "noisy", "noise"))
	if r, err := f.Call(bounded(t), "noisy", "one", nil); err != nil || r.Blocks[0].Text != "ok" {
		t.Errorf("%+v, %v", r, err)
	}
	if s := status(t, f); s.Ignored != 50 || s.Noise != "loading 0…\n" {
		t.Errorf("%d, %q", s.Ignored, s.Noise)
	}
}

func TestAProgramThatIsNoServerFailsWithAReason(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"babble":       "an option that makes it an MCP server",
		"endless line": "longer than is accepted",
	} {
		s := spec(t, "other", mode)
		s.StartupTimeout = 30 * time.Second
		f := fleetOf(t, Options{MaxMessage: 1 << 20}, s)
		if _, err := f.Server(bounded(t), "other"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

func TestOnlyTheEndOfStandardErrorIsKept(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "talks", "stderr"))
	for range 3 {
		if _, err := f.Call(bounded(t), "talks", "one", nil); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { return len(status(t, f).Stderr) > maxTail/2 })
	if s := status(t, f); len(s.Stderr) > maxTail || !strings.HasPrefix(s.Stderr, "line ") {
		t.Errorf("%d bytes: %.40q", len(s.Stderr), s.Stderr)
	}
}

func TestAResponseCountsOnceAndForItsOwnRequest(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "forges", "forges"))
	for range 3 {
		r, err := f.Call(bounded(t), "forges", "one", nil)
		if err != nil || r.Blocks[0].Text != "first" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if s := status(t, f); s.Ignored < 6 || !strings.Contains(s.Noise, "no request waits") {
		t.Errorf("%d, %q", s.Ignored, s.Noise)
	}
}

func TestWhatAServerAsksOfUsIsDeclinedInWords(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "asks", "asks"))
	r, err := f.Call(bounded(t), "asks", "one", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"folders", "model", "person"} {
		if !strings.Contains(r.Blocks[0].Text, want) {
			t.Errorf("%q lacks %q", r.Blocks[0].Text, want)
		}
	}
}

func TestAServerThatAsksWithoutEndIsEnded(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "asks", "floods with questions"))
	_, err := f.Call(bounded(t), "asks", "one", nil)
	if err == nil || !strings.Contains(err.Error(), "without taking an answer") {
		t.Error(err)
	}
}

func TestTheListOfToolsIsBounded(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct {
		tools int
		note  string
	}{
		"a hundred thousand tools": {MaxTools, "more than 10000 tools"},
		"endless pages":            {maxPages, "does not end"},
		"bad tools":                {2, "6 tools were not taken"},
	} {
		s := spec(t, "many", mode)
		s.StartupTimeout = 60 * time.Second
		f := fleetOf(t, Options{}, s)
		v, err := f.Server(bounded(t), "many")
		if err != nil || len(v.Tools) != want.tools {
			t.Errorf("%s: %d tools, %v", mode, len(v.Tools), err)
		}
		if s := status(t, f); len(s.Notes) != 1 || !strings.Contains(s.Notes[0], want.note) || s.Tools != want.tools {
			t.Errorf("%s: %+v", mode, s)
		}
	}
}

func TestASchemaIsKeptAsTheServerWroteIt(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "many", "bad tools"))
	v, err := f.Server(bounded(t), "many")
	if err != nil {
		t.Fatal(err)
	}
	if have := string(v.Tools[0].Input); have != `{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"string"}}}` {
		t.Error(have)
	}
}

func TestChangesThatComeTogetherAreAskedForOnce(t *testing.T) {
	t.Parallel()
	changes := make(chan string, 100)
	f := fleetOf(t, Options{OnChange: func(name string) { changes <- name }}, spec(t, "changes", "changes"))
	if _, err := f.Call(bounded(t), "changes", "version1", nil); err != nil {
		t.Fatal(err)
	}
	<-changes // ready
	<-changes // the changes
	v, err := f.Server(bounded(t), "changes")
	if err != nil || v.Tools[0].Name != "version2" {
		t.Errorf("%+v, %v", v.Tools, err)
	}
}

func TestANumberIsNotRounded(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "answers", "answers"))
	r, err := f.Call(bounded(t), "answers", "one", []byte(`{"result":{"content":[],"structuredContent":{"id":9007199254740993}}}`))
	if err != nil || string(r.Structured) != `{"id":9007199254740993}` {
		t.Errorf("%s, %v", r.Structured, err)
	}
}

func TestAnswersThatAreNoneAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "answers", "answers"))
	for result, want := range map[string]string{
		`{"resultType":"task","taskId":"x"}`:                                   "task",
		`{"task":{"taskId":"x","status":"working"}}`:                           "task",
		`{"resultType":"input_required","inputRequests":{}}`:                   "asks back",
		`{"resultType":"other","content":[]}`:                                  "not known",
		`{"content":[{"type":"image","data":"!","mimeType":"image/png"}]}`:     "base64",
		`{"content":"text"}`:                                                   "no result",
		`[]`:                                                                   "no result",
		`{"content":[{"type":"resource"}]}`:                                    "without the resource",
		`{"content":[{"type":"text","text":"a"},{"type":"audio","data":"%"}]}`: "part 2",
	} {
		_, err := f.Call(bounded(t), "answers", "one", []byte(`{"result":`+result+`}`))
		var answer *AnswerError
		if !errors.As(err, &answer) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", result, err)
		}
	}
	// What a later version adds is passed on as it came.
	r, err := f.Call(bounded(t), "answers", "one", []byte(`{"result":{"content":[{"type":"hologram","depth":3}]}}`))
	if err != nil || r.Blocks[0].Text != `{"type":"hologram","depth":3}` {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestARefusalIsInTheServersOwnWords(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "refuses", "refuses"))
	_, err := f.Call(bounded(t), "refuses", "one", nil)
	var refusal *ProtocolError
	if !errors.As(err, &refusal) || refusal.Code != -32602 || refusal.Message != "missing the colour" {
		t.Error(err)
	}
}

func TestNoMoreCallsThanConfiguredAreAtAServerAtOnce(t *testing.T) {
	t.Parallel()
	s := spec(t, "counts", "counts")
	s.Concurrency = 3
	f := fleetOf(t, Options{}, s)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if _, err := f.Call(bounded(t), "counts", "one", []byte(`{"hold":3}`)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most, err := os.ReadFile(s.Dir + "/most"); err != nil || string(most) != "3" {
		t.Errorf("%s, %v", most, err)
	}
}

func TestWhatTheListsExcludeIsNeitherSeenNorCalled(t *testing.T) {
	t.Parallel()
	s := spec(t, "honest", "honest")
	s.Allow, s.Deny = []string{"e*", "fail"}, []string{"env*"}
	f := fleetOf(t, Options{}, s)
	v, err := f.Server(bounded(t), "honest")
	if err != nil || len(v.Tools) != 2 {
		t.Fatalf("%+v, %v", v.Tools, err)
	}
	for _, name := range []string{"environment", "large"} {
		if _, err := f.Call(bounded(t), "honest", name, nil); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAServerGetsTheEnvironmentThatIsDeclaredForIt(t *testing.T) {
	t.Parallel()
	s := spec(t, "honest", "honest")
	s.Env["GREETING"], s.Env["SERVICE_API_KEY"] = "hello", "k-0123456789"
	f := fleetOf(t, Options{Environ: func() []string {
		return append(os.Environ(), "ANTHROPIC_API_KEY=sk-ours", "LD_PRELOAD=/x", "HOME=/home/of/user", "HTTPS_PROXY=http://proxy:1")
	}}, s)
	r, err := f.Call(bounded(t), "honest", "environment", nil)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Variables []string }
	if err := json.Unmarshal(r.Structured, &out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(out.Variables, "\n")
	for _, want := range []string{"GREETING=hello", "HOME=/home/of/user", "HTTPS_PROXY=http://proxy:1", "PATH="} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	for _, none := range []string{"sk-ours", "LD_PRELOAD", "k-0123456789"} {
		if strings.Contains(text, none) || strings.Contains(fmt.Sprintf("%+v", r.Blocks), none) {
			t.Errorf("%s is in %s", none, text)
		}
	}
}

func TestProgressOfACallIsPassedOn(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "honest", "honest"))
	steps := make(chan Progress, 3)
	if _, err := f.Call(WithProgress(bounded(t), func(p Progress) { steps <- p }), "honest", "progress", nil); err != nil {
		t.Fatal(err)
	}
	if p := <-steps; p != (Progress{1, 3, "step"}) {
		t.Errorf("%+v", p)
	}
}

func TestALazyServerStartsWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	s := spec(t, "lazy", "honest")
	s.Lazy = true
	f := fleetOf(t, Options{}, s)
	if known := f.Known(bounded(t), false); len(known) != 0 || status(t, f).State != Lazy {
		t.Fatalf("%+v", known)
	}
	if _, err := f.Call(bounded(t), "lazy", "echo", []byte(`{"text":"x"}`)); err != nil {
		t.Error(err)
	}
	if s := status(t, f); s.State != Ready || s.Restarts != 0 {
		t.Errorf("%+v", s)
	}
}

func TestServersThatCannotBeUsedAreListedWithTheReason(t *testing.T) {
	t.Parallel()
	off := spec(t, "off", "honest")
	off.Disabled = true
	f := fleetOf(t, Options{}, off,
		Spec{Name: "fault", Fault: "ACME_TOKEN is not set"}, Spec{Name: "empty", Transport: Stdio},
		Spec{Name: "address", Transport: HTTP, URL: "ftp://x"}, spec(t, "honest", "honest"))
	if known := f.Known(bounded(t), true); len(known) != 1 {
		t.Errorf("%+v", known)
	}
	for i, want := range []string{"disabled", "ACME_TOKEN is not set", "no command", "http or https"} {
		if s := f.Servers()[i]; !strings.Contains(s.Reason, want) {
			t.Errorf("%+v lacks %q", s, want)
		}
	}
	if _, err := New([]Spec{off, off}, Options{}); err == nil {
		t.Error("two servers have one name")
	}
}

func TestClosingEndsStubbornProgramsAndWhatTheyStarted(t *testing.T) {
	t.Parallel()
	s := spec(t, "stubborn", "stubborn")
	f := fleetOf(t, Options{}, s)
	if _, err := f.Server(bounded(t), "stubborn"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.Dir + "/pids")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return !runs(n) }) // whoever adopts it waits for it
	}
	if _, err := f.Call(bounded(t), "stubborn", "one", nil); err == nil {
		t.Error("a closed fleet takes calls")
	}
}

func TestFloodsOfNotificationsAreTakenNoFasterThanTheyAreHandled(t *testing.T) {
	t.Parallel()
	s := spec(t, "floods", "floods with notices")
	s.Timeout = 300 * time.Millisecond
	f := fleetOf(t, Options{}, s)
	_, err := f.Call(bounded(t), "floods", "one", nil)
	var late *TimeoutError
	if !errors.As(err, &late) {
		t.Fatal(err)
	}
	// It has written no more than what was taken and what its pipe holds.
	sent, err := os.ReadFile(s.Dir + "/sent")
	if n, e := strconv.Atoi(string(sent)); err != nil || e != nil || n > 100_000 {
		t.Errorf("%s, %v, %v", sent, err, e)
	}
}

func TestArgumentsThatAreNoObjectAreNotSent(t *testing.T) {
	t.Parallel()
	f := fleetOf(t, Options{}, spec(t, "honest", "honest"))
	for _, a := range []string{"null", "[]", "1", "{", `"x"`} {
		if _, err := f.Call(bounded(t), "honest", "echo", []byte(a)); !errors.Is(err, ErrArguments) {
			t.Errorf("%s: %v", a, err)
		}
	}
}
