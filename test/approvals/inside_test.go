//go:build linux

package approvals

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// target is what hostile code is told of the outside: more than it could find out.
type target struct {
	Data    string   `json:"data"`
	Sockets []string `json:"sockets"`
	Hosts   []string `json:"hosts"`
	Port    int      `json:"port"`
	PID     int      `json:"pid"`
	Mark    string   `json:"mark"`   // stands in the source that is asked about
	Secret  string   `json:"secret"` // in the environment of the server
}

// The code is what the default gear lets run: it comes by the input, where no analysis
// sees it, so that only the wall is left.
func TestCodeInTheSandboxFindsNoWayToADecision(t *testing.T) {
	dir := dataDir(t)
	const secret, mark = "a-secret-of-the-operator", "a-mark-in-the-source"
	s := serve(t, dir, options{http: true, env: []string{"GEARBOX_TEST_SECRET=" + secret}})
	pending := s.ask(call{Code: "'" + mark + "'\n" + asking})
	d := openDesk(t, dir)

	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	to := target{Data: dir, PID: s.cmd.Process.Pid, Mark: mark, Secret: secret, Hosts: addresses(t)}
	if to.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	if to.Sockets, err = filepath.Glob(filepath.Join(dir, "instances", "*.sock")); err != nil || len(to.Sockets) == 0 {
		t.Fatalf("%v, %v", to.Sockets, err)
	}
	told, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]call{
		"python": {
			Code: "import sys, json\nTARGET = json.loads(sys.stdin.readline())\nexec(sys.stdin.read())", Timeout: 60,
			Stdin: string(told) + "\n" + read(t, "testdata/inside.py"),
		},
		"bash": {
			Code: `read -r words; set -- $words; eval "$(cat)"`, Language: "bash", Timeout: 60,
			Stdin: fmt.Sprintf("%s %d %d %s\n", dir, to.Port, to.PID, secret) + read(t, "testdata/inside.sh"),
		},
	} {
		a := s.execute(c)
		if !strings.HasSuffix(a.Stdout, "tried\n") || strings.Contains(a.Stdout, "breach") {
			t.Errorf("%s: %s", name, a.raw)
		}
		d.undecided(pending.Operation)
	}
	d.approve(pending.Operation)
	ran(t, s.outcome(pending.Operation))
	verify(t, dir)
}

// addresses are those of this machine.
func addresses(t *testing.T) []string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			out = append(out, n.IP.String())
		}
	}
	return out
}
