package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// page is where an operator has people decide.
const page = "https://ops.example/approve?team=a"

// needsAYes is a program that the default gear asks a person about.
const needsAYes = "import subprocess\nprint('it ran', subprocess.run(['mount', '--version'], capture_output=True).returncode)"

// mcpdo is the inspector's command line for agents: a daemon holds the connections, and each
// command is a process of its own.
type mcpdo struct {
	t             *testing.T
	node, dir, at string
	env           []string
}

func startMcpdo(t *testing.T) mcpdo {
	t.Helper()
	dir := node(t, "the MCP inspector")
	at, err := os.MkdirTemp("", "mcpdo") // short, for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(at) })
	m := mcpdo{t: t, node: filepath.Join(dir, "bin", "node"), dir: dir, at: at, env: []string{
		"HOME=" + at, "MCP_INSPECTOR_SECRET_STORE=file", "MCP_INSPECTOR_DAEMON_DIR=" + at, "MCP_INSPECTOR_DAEMON_TOKEN=" + filepath.Base(at) + "-a-daemon-of-this-test",
	}}
	t.Cleanup(m.stop)
	return m
}

// command is one command on the connection of the test.
func (m mcpdo) command(args ...string) *exec.Cmd {
	c := command(m.t, m.node, append([]string{filepath.Join(m.dir, "node_modules", ".bin", "mcpdo"), "--connection", "gearbox", "--format", "json"}, args...)...)
	c.Env = append(c.Env, m.env...)
	return c
}

// do runs a command and reads what it says.
func (m mcpdo) do(into any, args ...string) {
	m.t.Helper()
	m.begin(into, args...)()
}

// begin begins a command, and what it returns reads what it has said in the end.
func (m mcpdo) begin(into any, args ...string) func() {
	m.t.Helper()
	var out, errOut bytes.Buffer
	c := m.command(args...)
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	return func() {
		m.t.Helper()
		if err := errors.Join(c.Wait(), json.Unmarshal(out.Bytes(), into)); err != nil {
			m.t.Fatalf("mcpdo %s: %v\n%s\n%s", strings.Join(args, " "), err, &out, &errOut)
		}
	}
}

// stop ends the daemon and returns when it has ended, which breaks a connection to it.
func (m mcpdo) stop() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.t.Context()), limit)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(m.at, "mcpdod.sock"))
	if err != nil {
		m.t.Errorf("the daemon is not there: %v", err)
		return
	}
	defer func() { _ = c.Close() }() // nothing was written
	stop := exec.CommandContext(ctx, m.node, filepath.Join(m.dir, "node_modules", ".bin", "mcpdo"), "daemon", "stop")
	stop.Env = append(os.Environ(), m.env...)
	if out, err := stop.CombinedOutput(); err != nil {
		m.t.Errorf("mcpdo daemon stop: %v\n%s", err, out)
	}
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		m.t.Error(err)
	}
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		m.t.Errorf("the daemon goes on: %v", err)
	}
}

// asked is what the client is asked to show its user.
type asked struct {
	Pending struct {
		ID      string `json:"elicitationId"`
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
	} `json:"elicitationPending"`
}

// answered is a result of a tool.
type answered struct {
	Structured struct {
		Status    string `json:"status"`
		Operation string `json:"operation_id"`
		Stdout    string `json:"stdout"`
	} `json:"structuredContent"`
}

// inspectorShowsThePage: a client that can show pages is given the operator's own, with the
// operation and nothing else. What it answers decides nothing; what the operator decides
// brings the call, or the operation, to its end.
func (g gearbox) inspectorShowsThePage(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			m := startMcpdo(t)
			var connected struct{ ProtocolEra string }
			m.do(&connected, "connect", "--era", era, "--elicit", "url", "-e", "GEARBOX_DATA_DIR="+g.data, "-e", "GEARBOX_APPROVALS_PAGE="+page, "--", g.binary, "serve")
			if connected.ProtocolEra != era {
				t.Errorf("%+v", connected)
			}

			// The client says that its user has seen to it, before anybody has. With sessions its
			// call ends then; without, it calls again, gets a task, and asks about that to its end.
			first, id := g.asks(t, m)
			var still answered
			if early := m.begin(&still, "elicitation/respond", first.Pending.ID, "--done"); era == "legacy" {
				early()
				if still.Structured.Status != "pending_approval" || still.Structured.Operation != id {
					t.Errorf("after the client's word: %+v", still.Structured)
				}
				g.approves(t, id)
				m.do(&still, "tools/call", "get_operation", `{"operation_id":"`+id+`","wait_seconds":60}`)
			} else {
				g.approves(t, id)
				early()
			}
			if still.Structured.Status != "ok" || still.Structured.Stdout != "it ran 0\n" || still.Structured.Operation != id {
				t.Errorf("the operation ended as %+v", still.Structured)
			}
			g.decidedByTheOperator(t, id)

			second, id := g.asks(t, m)
			g.approves(t, id)
			var result answered
			m.do(&result, "elicitation/respond", second.Pending.ID, "--done")
			if result.Structured.Status != "ok" || result.Structured.Stdout != "it ran 0\n" || result.Structured.Operation != id {
				t.Errorf("the call ended as %+v", result.Structured)
			}
			g.decidedByTheOperator(t, id)
			m.do(&struct{}{}, "disconnect") // ends the server
		})
	}
}

// asks calls for what needs a yes, and is the elicitation and the operation that it names.
func (g gearbox) asks(t *testing.T, m mcpdo) (asked, string) {
	t.Helper()
	code, err := json.Marshal(map[string]string{"code": needsAYes})
	if err != nil {
		t.Fatal(err)
	}
	var a asked
	m.do(&a, "tools/call", "execute", string(code))
	u, err := url.Parse(a.Pending.URL)
	if err != nil || a.Pending.Mode != "url" {
		t.Fatalf("%v %+v", err, a)
	}
	q := u.Query()
	id := q.Get("operation_id")
	q.Del("operation_id")
	u.RawQuery = q.Encode()
	if u.String() != page || !strings.HasPrefix(id, "op_") {
		t.Errorf("the address is %s", a.Pending.URL)
	}
	// No more than anybody may know: neither the hash, without which nothing is decided, nor a credential.
	var open struct {
		Operation string `json:"operation_id"`
		Hash      string `json:"hash"`
	}
	if err := json.Unmarshal(run(t, command(t, g.binary, "approvals", "list", "--json", "--data-dir", g.data)), &open); err != nil || open.Operation != id || open.Hash == "" {
		t.Fatalf("%v %+v", err, open)
	}
	if said := a.Pending.URL + a.Pending.Message; strings.Contains(said, strings.TrimPrefix(open.Hash, "sha256:")) || strings.Contains(said, "gbx_") || !strings.Contains(said, "run(mount)") {
		t.Errorf("%+v", a.Pending)
	}
	return a, id
}

// approves is the operator, who says yes.
func (g gearbox) approves(t *testing.T, id string) {
	t.Helper()
	run(t, command(t, g.binary, "approvals", "approve", "--yes", id, "--data-dir", g.data))
}

// decidedByTheOperator finds one answer in the records, and that it came from the terminal.
func (g gearbox) decidedByTheOperator(t *testing.T, id string) {
	t.Helper()
	var by []string
	out := run(t, command(t, g.binary, "audit", "list", "--json", "--operation", id, "--type", "approval", "--data-dir", g.data))
	for line := range bytes.Lines(out) {
		var e struct {
			Decision string
			Details  struct{ By string }
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Details.By != "" {
			by = append(by, e.Decision+" "+e.Details.By)
		}
	}
	if len(by) != 1 || !strings.HasPrefix(by[0], "approved terminal") {
		t.Errorf("decided by %q: %s", by, out)
	}
}
