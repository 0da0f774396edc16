package connect

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// each runs a test in both eras of the protocol.
func each(t *testing.T, f func(*testing.T, string)) {
	t.Helper()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) { f(t, era) })
	}
}

func TestAServerMayDieAndComeBackBetweenCalls(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		path := socketIn(t)
		s := serve(t, home(t), "--unix", path)
		c := connect(t, era, nil, path)
		c.works()
		s.kill(t)
		c.unavailable(path)
		serve(t, home(t), "--unix", path)
		c.works()
	})
}

func TestACallInFlightIsAnsweredWhenTheServerDies(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		path := socketIn(t)
		s := serve(t, home(t), "--unix", path)
		c := connect(t, era, nil, path)
		c.works()
		inFlight := c.begin("execute", map[string]any{"code": "import time\ntime.sleep(600)", "timeout_seconds": 300, "wait_seconds": 600})
		s.running(t, 1)
		s.kill(t)
		res := <-inFlight
		if text := textOf(res); !res.IsError || !strings.Contains(text, "went away while this call was under way") || !strings.Contains(text, "It may have run") {
			t.Fatalf("%q", text)
		}
		serve(t, home(t), "--unix", path)
		c.works()
	})
}

func TestAServerThatFallsSilentIsNotWaitedForForEver(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		path := socketIn(t)
		s := serve(t, home(t), "--unix", path)
		c := connect(t, era, nil, path)
		c.works()
		s.freeze(t)
		res, _ := c.call("execute", map[string]any{"code": "1"})
		if text := textOf(res); !res.IsError || !strings.Contains(text, "takes connections and does not answer") {
			t.Fatalf("%q", text)
		}
		c.unavailable(path)
		s.thaw(t)
		c.works()
	})
}

func TestAServerThatComesLaterIsWaitedForAndItsToolsAreAnnounced(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		path := socketIn(t)
		c := connect(t, era, nil, "--start-timeout", "100ms", path)
		if got := c.tools(); !slices.Equal(got, []string{"execute", "get_operation", "cancel_operation", "list_packages"}) {
			t.Fatalf("%v", got)
		}
		c.unavailable(path)
		serve(t, home(t), "--unix", path, "--compat", "python-interpreter")
		<-c.changed
		if got := c.tools(); !slices.Contains(got, "run_script") {
			t.Fatalf("%v", got)
		}
		c.works()
	})
}

func TestWithTheSameToolsNothingIsAnnounced(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		path := socketIn(t)
		c := connect(t, era, nil, "--start-timeout", "100ms", path)
		before := c.tools()
		s := serve(t, home(t), "--unix", path)
		c.works()
		if after := c.tools(); !slices.Equal(before, after) {
			t.Fatalf("%v, then %v", before, after)
		}
		s.kill(t)
		serve(t, home(t), "--unix", path, "--compat", "python-interpreter")
		<-c.changed
		if len(c.changed) != 0 {
			t.Error("the list of tools was announced before it changed")
		}
	})
}

func TestSomethingThatAcceptsAndNeverAnswersIsUnavailable(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // the kernel accepts, and nobody reads
		c := connect(t, era, nil, "--start-timeout", "100ms", "http://"+l.Addr().String())
		c.unavailable(l.Addr().String())
	})
}

func TestAWrongTokenTellsHowToMendItAndIsReadAgain(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		dir := t.TempDir()
		out, err := gearbox(t, "token", "create", "ci", "--data-dir", dir).Output()
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, dir, "--http", "127.0.0.1:0")
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte("gbx_wrong\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := connect(t, era, nil, "--token-file", file, s.address(t))
		text := c.unavailable(s.address(t))
		for _, want := range []string{"does not let this client in", "401", "gearbox token create", "--token-file", "GEARBOX_TOKEN"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %q", want, text)
			}
		}
		if strings.Contains(text+c.log.String(), "gbx_wrong") {
			t.Error("the token is told")
		}
		if err := os.WriteFile(file, out, 0o600); err != nil {
			t.Fatal(err)
		}
		c.reaches()
	})
}

func TestTheTokenOfTheEnvironmentLetsIn(t *testing.T) {
	dir := t.TempDir()
	out, err := gearbox(t, "token", "create", "ci", "--data-dir", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir, "--http", "127.0.0.1:0")
	connect(t, eras[0], []string{"GEARBOX_TOKEN=" + strings.TrimSpace(string(out))}, s.address(t)).reaches()
}

func TestPrincipalsBehindConnectSeeNothingOfEachOther(t *testing.T) {
	dir := t.TempDir()
	var secrets []string
	for _, name := range []string{"anna", "berta"} {
		out, err := gearbox(t, "token", "create", name, "--data-dir", dir).Output()
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, "GEARBOX_TOKEN="+strings.TrimSpace(string(out)))
	}
	s := serve(t, dir, "--http", "127.0.0.1:0")
	each(t, func(t *testing.T, era string) {
		anna, berta := connect(t, era, secrets[:1], s.address(t)), connect(t, era, secrets[1:], s.address(t))
		anna.works()
		_, mine := anna.call("execute", map[string]any{"code": "import time\nprint('of anna')\ntime.sleep(600)", "timeout_seconds": 300, "wait_seconds": 0})
		for _, tool := range []string{"get_operation", "cancel_operation"} {
			res, theirs := berta.call(tool, map[string]any{"operation_id": mine.OperationID})
			none, unknown := berta.call(tool, map[string]any{"operation_id": "op_none"})
			if theirs.Error == nil || unknown.Error == nil || theirs.Error.Code != "NOT_FOUND" ||
				strings.ReplaceAll(textOf(res), mine.OperationID, "ID") != strings.ReplaceAll(textOf(none), "op_none", "ID") {
				t.Errorf("%s: %s, and for what is not there %s", tool, textOf(res), textOf(none))
			}
		}
		if _, again := anna.call("get_operation", map[string]any{"operation_id": mine.OperationID, "wait_seconds": 0}); again.Status != "running" {
			t.Errorf("its own: %+v", again)
		}
		if _, ended := anna.call("cancel_operation", map[string]any{"operation_id": mine.OperationID}); ended.Status != "cancelled" {
			t.Errorf("%+v", ended)
		}
	})
}

func TestTheEndOfTheClientCancelsNothing(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		for name, end := range map[string]func(*connected){
			"killed": func(c *connected) { c.kill() },
			"closed": func(c *connected) {
				if err := c.stdin.Close(); err != nil {
					c.t.Fatal(err)
				}
				<-c.ended
				if code := c.cmd.ProcessState.ExitCode(); code != 0 {
					c.t.Errorf("exit code %d\n%s", code, c.log)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				path := socketIn(t)
				s := serve(t, home(t), "--unix", path)
				c := connect(t, era, nil, path)
				c.works()
				_ = c.begin("execute", map[string]any{"code": "import time\ntime.sleep(600)", "timeout_seconds": 300, "wait_seconds": 600})
				s.running(t, 1)
				end(c)
				other := connect(t, era, nil, path)
				if era == eras[1] { // the server sees the end of the connection
					s.log.await(t, s.ended, `"tool":"execute"`, `"status":"running"`)
				}
				other.works()
				s.running(t, 1)
			})
		}
	})
}

func TestACallThatTheClientGivesUpIsCancelled(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		path := socketIn(t)
		s := serve(t, home(t), "--unix", path)
		c := connect(t, era, nil, path)
		c.works()
		ctx, giveUp := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": "import time\ntime.sleep(600)", "timeout_seconds": 300, "wait_seconds": 600}})
			ended <- err
		}()
		s.running(t, 1)
		giveUp()
		if err := <-ended; err == nil {
			t.Error("the call ended well")
		}
		s.running(t, 0)
		c.works()
	})
}

func TestWithoutAnArgumentTheServersOfTheDataDirectoryAreFound(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		dir := t.TempDir()
		serve(t, dir, "--http", "127.0.0.1:0")
		path := socketIn(t)
		s := serve(t, dir, "--unix", path)
		c := connect(t, era, nil, "--data-dir", dir)
		c.reaches()
		c.log.await(t, c.ended, "reached the server", path) // a socket comes first
		s.kill(t)
		c.reaches() // at the other one
		c.log.await(t, c.ended, "reached the server", "http://127.0.0.1:")
	})
}

func TestWithoutAServerItSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	cmd := gearbox(t, "connect", "--data-dir", dir)
	var told tail
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err == nil || len(out) != 0 || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v, stdout %q", err, out)
	}
	for _, want := range []string{"no Gearbox answers over HTTP or a socket", dir, "gearbox serve --unix PATH", "gearbox connect URL", "--data-dir"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("%q is not in %q", want, told.String())
		}
	}
}

func TestWhatIsNoAddressIsRefusedWithAWayToMendIt(t *testing.T) {
	for arg, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "ftp://x/": "no URL of http", "http://": "names no host",
		"http://u:p@127.0.0.1/": "give the token in a file", "http://127.0.0.1/mcp?token=x": "no query",
	} {
		out, err := gearbox(t, "connect", arg).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "hint: ") {
			t.Errorf("%s: %v, %s", arg, err, out)
		}
	}
}

func TestResourcesPass(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		path := socketIn(t)
		serve(t, home(t), "--unix", path)
		c := connect(t, era, nil, path)
		list, err := c.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) == 0 {
			t.Fatalf("%+v, %v", list, err)
		}
		res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "env://info"})
		if err != nil || len(res.Contents) != 1 || !strings.Contains(res.Contents[0].Text, "Python") {
			t.Fatalf("%+v, %v", res, err)
		}
	})
}

// standing is what these tests read of gearbox status.
type standing struct {
	Instances []struct {
		PID    int `json:"pid"`
		Status struct {
			Addresses []string `json:"addresses"`
			Load      struct {
				Running int `json:"running"`
			} `json:"load"`
		} `json:"status"`
	} `json:"instances"`
}

// running waits until a server runs as many programs at least, or none.
func (s *server) running(t *testing.T, n int) {
	t.Helper()
	for {
		out, err := gearbox(t, "status", "--json", "--data-dir", s.dir).Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var st standing
		if err := json.Unmarshal(out, &st); err != nil {
			t.Fatal(err)
		}
		for _, i := range st.Instances {
			if i.PID == s.cmd.Process.Pid && (n == 0) == (i.Status.Load.Running == 0) && i.Status.Load.Running >= n {
				return
			}
		}
	}
}

// result is what a call came to.
type result = mcp.CallToolResult

// begin makes a call whose answer comes later.
func (c *connected) begin(name string, args map[string]any) <-chan *result {
	answer := make(chan *result, 1)
	go func() {
		res, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			res = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "no answer: " + err.Error()}}}
		}
		answer <- res
	}()
	return answer
}

func (c *connected) tools() (names []string) {
	c.t.Helper()
	list, err := c.ListTools(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}
