package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
)

// gearboxIn runs a command on a data directory.
func gearboxIn(t *testing.T, dir string, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "gearbox", append(args, "--data-dir", dir)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the exit code is checked instead
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// start has the holder of a token begin a program that runs for long, and returns its
// operation and how to ask for it.
func start(t *testing.T, w *website, secret string) (id string, status func() string) {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: w.addresses[0] + "/mcp", HTTPClient: &http.Client{Transport: bearer(secret)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	call := func(name string, arguments map[string]any) map[string]any {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return res.StructuredContent.(map[string]any)
	}
	a := call("execute", map[string]any{"code": "import time\ntime.sleep(600)", "timeout_seconds": 300, "wait_seconds": 0})
	if a["status"] != "running" {
		t.Skipf("skipped: nothing runs on this machine: gearbox doctor says why: %v", a["stderr"])
	}
	id, _ = a["operation_id"].(string)
	return id, func() string {
		s, _ := call("get_operation", map[string]any{"operation_id": id})["status"].(string)
		return s
	}
}

func TestTheOperatorCancelsAProgramOfAnyPrincipal(t *testing.T) {
	dir := t.TempDir()
	secret, _, _ := gearboxIn(t, dir, "token", "create", "ci")
	w := startHTTP(t, 1, "--http", "127.0.0.1:0", "--data-dir", dir)
	id, status := start(t, w, strings.TrimSpace(secret))

	if _, errOut, exit := gearboxIn(t, dir, "operations", "delete", id); exit != 1 || !strings.Contains(errOut, "gearbox operations cancel "+id) {
		t.Errorf("delete: exit code %d: %s", exit, errOut)
	}
	for _, want := range []string{id + " ended: cancelled\n", id + " had ended: cancelled\n"} {
		if out, errOut, exit := gearboxIn(t, dir, "operations", "cancel", id); out != want || exit != 0 || errOut != "" {
			t.Errorf("exit code %d: %s%s, not %s", exit, out, errOut, want)
		}
	}
	if s := status(); s != "cancelled" {
		t.Errorf("its client is told %s", s)
	}
	_, _, unknown := gearboxIn(t, dir, "operations", "show", "op_nothing")
	if _, errOut, exit := gearboxIn(t, dir, "operations", "cancel", "op_nothing"); exit != unknown || !strings.Contains(errOut, `no operation "op_nothing"`) {
		t.Errorf("an unknown one: exit code %d: %s", exit, errOut)
	}
	requireAsked(t, dir, id, "cancelled")
	w.stop(unix.SIGTERM)
}

func TestCancellingTheProgramOfADeadServerEndsItAsInterrupted(t *testing.T) {
	dir := t.TempDir()
	secret, _, _ := gearboxIn(t, dir, "token", "create", "ci")
	w := startHTTP(t, 1, "--http", "127.0.0.1:0", "--data-dir", dir)
	id, _ := start(t, w, strings.TrimSpace(secret))
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Wait()
	if out, errOut, exit := gearboxIn(t, dir, "operations", "cancel", id); out != id+" ended: interrupted\n" || exit != 0 {
		t.Errorf("exit code %d: %s%s", exit, out, errOut)
	}
	requireAsked(t, dir, id, "interrupted")
}

// requireAsked checks that the record has who asked for the end of an operation before
// it has the end.
func requireAsked(t *testing.T, dir, id, end string) {
	t.Helper()
	out, _, _ := gearboxIn(t, dir, "audit", "list", "--operation", id, "--json")
	type event struct{ Type, Principal, Client, Status string }
	var all []event
	for line := range strings.Lines(out) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if len(all) < 2 {
		t.Fatalf("%s", out)
	}
	asked, ended := all[len(all)-2], all[len(all)-1]
	if asked.Type != "config" || asked.Principal != "local" || asked.Client != "gearbox operations cancel" {
		t.Errorf("who asked: %+v", asked)
	}
	if ended.Type != "finished" || ended.Principal != "token:ci" || ended.Status != end {
		t.Errorf("the end: %+v", ended)
	}
	if _, errOut, exit := gearboxIn(t, dir, "audit", "verify"); exit != 0 {
		t.Error(errOut)
	}
}
