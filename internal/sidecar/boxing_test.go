//go:build linux

package sidecar_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// looking is a server in a sandbox that tells what it sees; sandbox is the key of that name.
func looking(t *testing.T, sandbox any, more ...string) map[string]any {
	t.Helper()
	args := append([]string{"-c", read(t, "testdata/looking.py")}, more...)
	return map[string]any{"command": "python3", "args": args, "sandbox": sandbox}
}

// withServers is a sidecar with configured servers, and the file they stand in.
func withServers(t *testing.T, o sidecar.Options, servers map[string]any) (s *sidecar.Sidecar, file string) {
	t.Helper()
	text, err := json.MarshalIndent(map[string]any{"servers": servers}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	o.MCPServers = []string{file}
	return open(t, o), file
}

// ask calls a tool of a server and is the text that it answers.
func ask(t *testing.T, s *sidecar.Sidecar, server, tool, of string) string {
	t.Helper()
	r, err := s.Fleet().Call(t.Context(), server, tool, fmt.Appendf(nil, `{"of": %q}`, of))
	if err != nil {
		if strings.Contains(err.Error(), "no sandbox can be built here") {
			t.Skipf("skipped: %v", err)
		}
		t.Fatal(err)
	}
	return r.Blocks[0].Text
}

func TestAServerInASandboxSeesWhatItsRulesAllowAndNothingElse(t *testing.T) {
	t.Setenv("GEARBOX_TEST_GRANTED", "granted")
	t.Setenv("GEARBOX_TEST_KEPT", "kept")
	dir := hostFiles(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	probe := looking(t, map[string]any{"allow": []string{"read(" + dir + "/tree/**)", "env(GEARBOX_TEST_GRANTED)"}})
	probe["env"] = map[string]string{"DECLARED": "it's declared"}
	s, _ := withServers(t, sidecar.Options{}, map[string]any{"probe": probe})

	if got := ask(t, s, "probe", "read", dir+"/tree/deep/c.txt"); got != "three" {
		t.Errorf("what it may read: %s", got)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{dir + "/a.txt", "/etc/shadow", home, "/var/tmp/.."} {
		if got := ask(t, s, "probe", "read", absent); !strings.Contains(got, "Error: ") {
			t.Errorf("%s: %s", absent, got)
		}
	}
	if got, host := ask(t, s, "probe", "read", "/etc/passwd"), read(t, "/etc/passwd"); got == host || !strings.Contains(got, "sandbox:") {
		t.Errorf("it sees the users of the host: %s", got)
	}
	if got := ask(t, s, "probe", "write", dir+"/tree/new"); !strings.Contains(got, "Error: ") {
		t.Errorf("it wrote to the host: %s", got)
	}
	if got := ask(t, s, "probe", "write", "/workspace/own"); got != "1" {
		t.Errorf("its own scratch: %s", got)
	}
	seen := ask(t, s, "probe", "environment", "")
	for what, want := range map[string]bool{"GEARBOX_TEST_GRANTED": true, `"DECLARED"`: true, "GEARBOX_TEST_KEPT": false, home + `"`: false} {
		if strings.Contains(seen, what) != want {
			t.Errorf("%s: %v is not so in %s", what, want, seen)
		}
	}
}

func TestAServerInASandboxHasNoNetwork(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s, _ := withServers(t, sidecar.Options{}, map[string]any{"probe": looking(t, true)})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if got := ask(t, s, "probe", "connect", port); !strings.Contains(got, "Error: ") {
		t.Errorf("it reached the host: %s", got)
	}
}

func TestAServerInASandboxOutlastsRunsAndTakesNoneOfTheirPlaces(t *testing.T) {
	one := 1
	s, _ := withServers(t, sidecar.Options{Pool: sidecar.PoolOptions{Concurrency: &one}}, map[string]any{"probe": looking(t, true)})
	seconds, err := strconv.ParseInt(ask(t, s, "probe", "processor", ""), 10, 64)
	if err != nil || seconds != -1 && seconds < 10*365*24*60*60 {
		t.Errorf("it may compute for %d seconds, %v", seconds, err)
	}
	if r := run(t, s, execution.Request{Code: "print(6*7)"}); r.Stdout != "42\n" {
		t.Errorf("%+v", r)
	}
	if got := ask(t, s, "probe", "list", "/workspace"); got != "" {
		t.Errorf("after a run: %s", got)
	}
}

func TestAServerInASandboxEndsWithTheFleetAndAllThatItStarted(t *testing.T) {
	mark := fmt.Sprintf("gearbox-boxed-%d", os.Getpid())
	s, _ := withServers(t, sidecar.Options{}, map[string]any{"probe": looking(t, true, mark)})
	ask(t, s, "probe", "list", "/")
	if n := len(processesWith(t, mark)); n != 1 {
		t.Errorf("%d processes", n)
	}
	if err := s.Fleet().Close(); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(t, mark); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// processesWith are the processes of this machine that have a word among their arguments.
func processesWith(t *testing.T, word string) (found []string) {
	t.Helper()
	lists, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		if text, err := os.ReadFile(l); err == nil && strings.Contains(string(text), "\x00"+word+"\x00") {
			found = append(found, l)
		}
	}
	return found
}

func TestAServerThatHoldsMoreThanItsGearAllowsEndsAndSaysSo(t *testing.T) {
	s, _ := withServers(t, sidecar.Options{}, map[string]any{"probe": looking(t, true)})
	ask(t, s, "probe", "list", "/")
	_, err := s.Fleet().Call(t.Context(), "probe", "hold", []byte(`{"of": "2000000000"}`))
	if err == nil || !strings.Contains(err.Error(), "more memory than the 512 MiB of its gear") {
		t.Errorf("%v", err)
	}
}

func TestWhatAServerInASandboxMayHaveIsRecordedWhenItStarts(t *testing.T) {
	s, _ := withServers(t, sidecar.Options{}, map[string]any{"probe": looking(t, map[string]any{"allow": []string{"env(LANGUAGE)"}})})
	ask(t, s, "probe", "list", "/")
	for entry, err := range s.Records().Latest(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := entry.Event()
		if err != nil {
			t.Fatal(err)
		}
		d := e.Details
		if e.Type != audit.Config || d["server"] == "" {
			continue
		}
		if d["server"] != "probe" || e.Gear != "restricted" || d["allow"] != "run(python3) env(LANGUAGE)" || d["isolation"] == "" {
			t.Errorf("%+v", e)
		}
		return
	}
	t.Error("nothing is recorded")
}

func TestAServerThatCannotHaveItsSandboxIsNotStartedAndSaysWhereThatIsWritten(t *testing.T) {
	dir := hostFiles(t)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "tree"), link); err != nil {
		t.Fatal(err)
	}
	named := func(command string, sandbox any) map[string]any {
		return map[string]any{"command": command, "sandbox": sandbox}
	}
	s, file := withServers(t, sidecar.Options{}, map[string]any{
		"no wall":    named("python3", map[string]any{"gear": "full_trust"}),
		"no runs":    named("python3", map[string]any{"gear": "read_only"}),
		"no gear":    named("python3", map[string]any{"gear": "nowhere"}),
		"network":    named("python3", map[string]any{"allow": []string{"net(*)"}}),
		"through it": named("python3", map[string]any{"allow": []string{"read(" + link + "/**)"}}),
		"everything": named("python3", map[string]any{"allow": []string{"read(/**)"}}),
		"absent":     named("no-such-program-at-all", true),
		"relative":   named("./server", true),
		"pattern":    named("/usr/bin/py*", true),
		"two":        named("/usr/bin/python3, /usr/bin/node", true),
		"slip":       named("python3", map[string]any{"alow": []string{}}),
	})
	for name, want := range map[string]string{
		"no wall": "has no isolation", "no runs": "runs nothing", "no gear": "nowhere", "network": "has no network", "through it": "is a link",
		"everything": "cannot be carried out", "absent": "is not in /usr/bin", "relative": "does not begin with /", "pattern": "names no single program",
		"two": "cannot stand in a rule", "slip": `"alow" is unknown`,
	} {
		i := indexOf(s.Fleet().Servers(), name)
		if got := s.Fleet().Servers()[i]; got.State != upstream.Failed || !strings.HasPrefix(got.Reason, file+":") || !strings.Contains(got.Reason, want) {
			t.Errorf("%s: %s, %s", name, got.State, got.Reason)
		}
	}
}

func indexOf(all []upstream.Status, name string) int {
	for i, s := range all {
		if s.Name == name {
			return i
		}
	}
	return -1
}

func TestWhereThereIsNoSandboxAServerThatNeedsOneIsNotStarted(t *testing.T) {
	s, _ := withServers(t, sidecar.Options{Backend: sidecar.BackendOCI}, map[string]any{"probe": looking(t, true)})
	if got := s.Fleet().Servers()[0]; got.State != upstream.Failed || !strings.Contains(got.Reason, "no backend oci") {
		t.Errorf("%s, %s", got.State, got.Reason)
	}
}
