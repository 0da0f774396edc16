//go:build linux && (amd64 || arm64)

package escape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/leveltest"
)

// openGear allows everything inside the sandbox.
const openGear = "description: no policy, only the wall\ndefault: allow\nisolation: sandbox\n"

// answer is what the test reads of the published answer.
type answer struct {
	Status    string `json:"status"`
	ExitCode  int    `json:"exit_code"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Signal    string `json:"signal"`
	Isolation string `json:"isolation"`
}

// attacker runs programs as one user of the host, where the kernel gives no more than
// one level of isolation.
type attacker struct {
	level  execution.Level
	name   string
	binary string
	home   string // data directory and gear file, owned by uid
	uid    uint32
}

// Unprivileged is an ordinary user without a name on the host.
const unprivileged = 54321

func TestMain(m *testing.M) {
	leveltest.MaybeShim()
	os.Exit(m.Run())
}

func TestAttacksAreHeld(t *testing.T) {
	binary := build(t)
	for _, a := range attackers(t, binary) {
		t.Run(string(a.level)+"/"+a.name, func(t *testing.T) {
			a.requireSandbox(t)
			files, err := filepath.Glob("attacks/*.py")
			if err != nil || len(files) == 0 {
				t.Fatalf("no attacks: %v", err)
			}
			for _, f := range files {
				t.Run(strings.TrimSuffix(filepath.Base(f), ".py"), func(t *testing.T) { a.attack(t, f) })
			}
			if left := processes(t, a.home); left != "" {
				t.Errorf("processes are left:\n%s", left)
			}
		})
	}
}

// build makes the real binary, readable by everybody.
func build(t *testing.T) string {
	t.Helper()
	dir := publicDir(t)
	binary := filepath.Join(dir, "gearbox")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/gearbox").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// publicDir is a temporary directory that another user can enter: t.TempDir's
// parent is private.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gearbox-escape-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func attackers(t *testing.T, binary string) []attacker {
	me := uint32(os.Geteuid())
	if me != 0 {
		t.Log("skipped as root and at levels no-proc and no-userns: this test does not run as root")
		return []attacker{newAttacker(t, execution.LevelFull, "unprivileged", binary, me)}
	}
	var out []attacker
	for _, level := range []execution.Level{execution.LevelFull, execution.LevelNoProc, execution.LevelNoUserns} {
		out = append(out, newAttacker(t, level, "root", binary, 0), newAttacker(t, level, "unprivileged", binary, unprivileged))
	}
	return out
}

func newAttacker(t *testing.T, level execution.Level, name, binary string, uid uint32) attacker {
	t.Helper()
	home := publicDir(t)
	gear := filepath.Join(home, "open.yaml")
	if err := os.WriteFile(gear, []byte(openGear), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(home, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, int(uid), int(uid)); err != nil {
		t.Fatal(err)
	}
	return attacker{level: level, name: name, binary: binary, home: home, uid: uid}
}

func (a attacker) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := a.plain(t, args...)
	switch {
	case a.level != execution.LevelFull:
		leveltest.Force(cmd, a.level, int(a.uid))
	case int(a.uid) != os.Geteuid():
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.uid}}
	}
	return cmd
}

// plain is a command of whoever runs the test.
func (a attacker) plain(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), a.binary, args...)
	cmd.Dir = a.home
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + a.home, "GEARBOX_DATA_DIR=" + filepath.Join(a.home, "data"), "HOST_SECRET=not for the sandbox"}
	return cmd
}

// requireSandbox skips, by name and reason, where the kernel gives no sandbox.
func (a attacker) requireSandbox(t *testing.T) {
	t.Helper()
	out, err := a.command(t, "doctor", "--json", "--minimum-isolation", string(execution.LevelNoUserns)).Output()
	var d struct {
		Isolation string `json:"isolation"`
		Checks    []struct {
			Name, Detail, Hint string
			OK                 bool
		} `json:"checks"`
	}
	if jsonErr := json.Unmarshal(out, &d); jsonErr != nil {
		t.Fatalf("doctor: %v, %v\n%s", err, jsonErr, out)
	}
	if d.Isolation != string(a.level) {
		t.Skipf("skipped: this machine gives %s no sandbox of level %s: %+v", a.name, a.level, d.Checks)
	}
}

// attack runs one program and compares its verdicts with what the level stops.
func (a attacker) attack(t *testing.T, file string) {
	r := a.run(t, filepath.Join(a.home, "open.yaml"), file)
	if r.Isolation != string(a.level) {
		t.Fatalf("ran at level %q", r.Isolation)
	}
	if a.level == execution.LevelNoUserns && r.Status == "disk_limit" {
		t.Log("ended by the host, which is how this level bounds the disk")
	} else if r.Status != "ok" || !strings.HasSuffix(r.Stdout, "END\t\t\n") {
		t.Fatalf("the attack did not get to its end: status %s, signal %s\n%s%s", r.Status, r.Signal, r.Stdout, r.Stderr)
	}
	tried := 0
	for line := range strings.Lines(r.Stdout) {
		verdict, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		attempt, detail, _ := strings.Cut(rest, "\t")
		if verdict != "HELD" && verdict != "BREACH" {
			continue
		}
		tried++
		reason := notStopped(a.level, a.name, attempt)
		switch {
		case verdict == "BREACH" && reason == "":
			t.Errorf("BREACH\t%s\t%s", attempt, detail)
		case verdict == "BREACH":
			t.Logf("not stopped at level %s: %s: %s", a.level, attempt, reason)
		case reason != "":
			t.Errorf("%s is listed as not stopped at level %s and was held", attempt, a.level)
		}
	}
	if tried == 0 {
		t.Errorf("nothing was tried:\n%s", r.Stdout)
	}
}

// run runs an attack under a gear, by name or file.
func (a attacker) run(t *testing.T, gear, file string) answer {
	t.Helper()
	prelude, err := os.ReadFile("prelude.py")
	if err != nil {
		t.Fatal(err)
	}
	attack, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code := fmt.Sprintf("LEVEL = %q\n%s\n%s\nreport(\"END\", \"\")\n", a.level, prelude, attack)
	cmd := a.command(t, "exec", "--json", "--minimum-isolation", string(execution.LevelNoUserns), "--gear", gear, "-")
	cmd.Stdin = strings.NewReader(code)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var r answer
	if jsonErr := json.Unmarshal(out, &r); jsonErr != nil {
		t.Fatalf("exec: %v, %v\n%s\n%s", err, jsonErr, out, stderr.String())
	}
	return r
}

// processes lists what still mentions the attacker's directory, by the host's /proc.
func processes(t *testing.T, home string) string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var left strings.Builder
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil && bytes.Contains(b, []byte(home)) {
			fmt.Fprintln(&left, p)
		}
	}
	return left.String()
}
