//go:build linux && (amd64 || arm64)

package escape

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/leveltest"
)

// TestWithoutAMechanismOfTheKernelNothingRunsUnsaid: where one is missing nothing runs, or
// what runs says at which level; and nothing below the minimum that was asked for.
func TestWithoutAMechanismOfTheKernelNothingRunsUnsaid(t *testing.T) {
	binary := build(t)
	users := map[string]int{"unprivileged": os.Geteuid()}
	if os.Geteuid() == 0 {
		users = map[string]int{"root": 0, "unprivileged": unprivileged}
	}
	attackers := map[string]attacker{}
	for name, uid := range users {
		attackers[name] = newAttacker(t, execution.LevelFull, name, binary, uint32(uid))
		attackers[name].requireSandbox(t)
	}
	const weakest, weaker = "no-userns", "Isolation level no-userns:"
	for name, c := range map[string]struct {
		without []string
		level   execution.Level // that the kernel gives at most
		minimum string
		runs    string // the level at which it does, empty if it does not
		says    []string
	}{
		"everything is there":           {nil, execution.LevelFull, "full", "full", nil},
		"no seccomp":                    {[]string{"seccomp"}, execution.LevelFull, weakest, "", []string{"UNAVAILABLE"}},
		"no landlock":                   {[]string{"landlock"}, execution.LevelFull, weakest, "", []string{"andlock"}},
		"neither":                       {[]string{"landlock", "seccomp"}, execution.LevelFull, weakest, "", []string{"UNAVAILABLE"}},
		"no mounts":                     {[]string{"mount"}, execution.LevelFull, "no-proc", "", []string{"below the minimum of no-proc"}},
		"no mounts, and that will do":   {[]string{"mount"}, execution.LevelFull, weakest, weakest, []string{weaker}},
		"no root of its own":            {[]string{"pivot_root"}, execution.LevelFull, "no-proc", "", []string{"below the minimum of no-proc"}},
		"no root of its own, will do":   {[]string{"pivot_root"}, execution.LevelFull, weakest, weakest, []string{weaker}},
		"no proc":                       {nil, execution.LevelNoProc, "no-proc", "no-proc", []string{"Isolation level no-proc:"}},
		"no proc, and that will not do": {nil, execution.LevelNoProc, "full", "", []string{"below the minimum of full"}},
		"no namespaces":                 {nil, execution.LevelNoUserns, "no-proc", "", []string{"below the minimum of no-proc"}},
		"no namespaces and no landlock": {[]string{"landlock"}, execution.LevelNoUserns, weakest, "", []string{"user namespaces"}},
		"no namespaces and no seccomp":  {[]string{"seccomp"}, execution.LevelNoUserns, weakest, "", []string{"user namespaces"}},
		"no mounts and no landlock":     {[]string{"mount", "landlock"}, execution.LevelFull, weakest, "", []string{"mounts"}},
		"privileges cannot be given up": {[]string{"no_new_privs"}, execution.LevelFull, weakest, "", []string{"UNAVAILABLE"}},
	} {
		for user := range users {
			t.Run(name+"/"+user, func(t *testing.T) {
				cmd := attackers[user].plain(t, "exec", "--json", "-c", "print('it ran')", "--minimum-isolation", c.minimum)
				leveltest.Force(cmd, c.level, users[user], c.without...)
				out, err := cmd.Output()
				var r answer
				if jsonErr := json.Unmarshal(out, &r); jsonErr != nil {
					t.Fatalf("exec: %v, %v\n%s", err, jsonErr, out)
				}
				if r.Isolation != c.runs || (r.Stdout == "it ran\n") != (c.runs != "") || (r.Status == "ok") != (c.runs != "") {
					t.Errorf("%s", out)
				}
				for _, text := range c.says {
					if !strings.Contains(string(out), text) {
						t.Errorf("no %q in %s", text, out)
					}
				}
			})
		}
	}
}

// TestWeakestLevelIsAskedForOnAHostAndNamedInAContainer: nothing is weakened silently.
func TestWeakestLevelIsAskedForOnAHostAndNamedInAContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: forcing the level for an ordinary user takes root")
	}
	a := newAttacker(t, execution.LevelNoUserns, "unprivileged", build(t), unprivileged)
	a.requireSandbox(t)
	for name, c := range map[string]struct {
		variable string
		args     []string
		status   string
		says     []string
	}{
		"host":              {"A=1", nil, "rejected", []string{"below the minimum of no-proc", "max_user_namespaces", "--minimum-isolation no-userns"}},
		"host that asks":    {"A=1", []string{"--minimum-isolation", "no-userns"}, "ok", []string{"Isolation level no-userns:"}},
		"container":         {"container=docker", nil, "ok", []string{"Isolation level no-userns:"}},
		"strict, container": {"container=docker", []string{"--minimum-isolation", "full"}, "rejected", []string{"below the minimum of full"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "host" && linux.InContainer() {
				t.Skip("skipped: this machine is a container itself")
			}
			cmd := a.command(t, append([]string{"exec", "--json", "-c", "1 + 1"}, c.args...)...)
			cmd.Env = append(cmd.Env, c.variable)
			out, err := cmd.Output()
			var r answer
			if jsonErr := json.Unmarshal(out, &r); jsonErr != nil {
				t.Fatalf("exec: %v, %v\n%s", err, jsonErr, out)
			}
			if r.Status != c.status {
				t.Errorf("status %q: %s", r.Status, out)
			}
			for _, text := range c.says {
				if !strings.Contains(string(out), text) {
					t.Errorf("no %q in %s", text, out)
				}
			}
		})
	}
}

// TestAServerInASandboxStartsBehindTheWallThatWasAskedForOrNotAtAll: what holds for programs
// holds for the servers whose tools they call.
func TestAServerInASandboxStartsBehindTheWallThatWasAskedForOrNotAtAll(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: forcing the level for an ordinary user takes root")
	}
	binary := build(t)
	for _, c := range []struct {
		level   execution.Level
		minimum execution.Level
		says    string
	}{
		{execution.LevelNoProc, execution.LevelNoProc, "has no tool and ended"},
		{execution.LevelNoProc, execution.LevelFull, "below the minimum of full"},
		{execution.LevelNoUserns, execution.LevelNoUserns, "has no tool and ended"},
		{execution.LevelNoUserns, execution.LevelNoProc, "below the minimum of no-proc"},
	} {
		t.Run(string(c.level)+" where "+string(c.minimum)+" is asked for", func(t *testing.T) {
			a := newAttacker(t, c.level, "unprivileged", binary, unprivileged)
			a.requireSandbox(t)
			file := filepath.Join(a.home, "servers.json")
			text := `{"servers": {"boxed": {"command": "python3", "args": ["-c", "import sys; sys.exit('has no tool and ended')"], "sandbox": true}}}`
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := a.command(t, "upstream", "test", "--mcp-servers", file)
			cmd.Env = append(cmd.Env, "GEARBOX_MINIMUM_ISOLATION="+string(c.minimum))
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.says) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
