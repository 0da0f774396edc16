//go:build linux

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

// attacker runs programs as one user of the host.
type attacker struct {
	name   string
	binary string
	home   string // data directory and gear file, owned by uid
	uid    uint32
}

// Unprivileged is an ordinary user without a name on the host.
const unprivileged = 54321

func TestAttacksAreHeld(t *testing.T) {
	binary := build(t)
	for _, a := range attackers(t, binary) {
		t.Run(a.name, func(t *testing.T) {
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
		t.Log("skipped as root: this test does not run as root")
		return []attacker{newAttacker(t, "unprivileged", binary, me)}
	}
	return []attacker{newAttacker(t, "root", binary, 0), newAttacker(t, "unprivileged", binary, unprivileged)}
}

func newAttacker(t *testing.T, name, binary string, uid uint32) attacker {
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
	return attacker{name: name, binary: binary, home: home, uid: uid}
}

func (a attacker) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), a.binary, args...)
	cmd.Dir = a.home
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + a.home, "GEARBOX_DATA_DIR=" + filepath.Join(a.home, "data"), "HOST_SECRET=not for the sandbox"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.uid}}
	if int(a.uid) == os.Geteuid() {
		cmd.SysProcAttr = nil
	}
	return cmd
}

// requireSandbox skips, by name and reason, where the kernel gives no sandbox.
func (a attacker) requireSandbox(t *testing.T) {
	t.Helper()
	out, err := a.command(t, "doctor", "--json").Output()
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
	if d.Isolation != "full" {
		t.Skipf("skipped: this machine gives %s no full sandbox: %+v", a.name, d.Checks)
	}
}

// attack runs one program and reads its verdicts.
func (a attacker) attack(t *testing.T, file string) {
	r := a.run(t, file)
	if r.Isolation != "full" {
		t.Fatalf("ran at level %q", r.Isolation)
	}
	if r.Status != "ok" || !strings.HasSuffix(r.Stdout, "END\t\t\n") {
		t.Fatalf("the attack did not get to its end: status %s, signal %s\n%s%s", r.Status, r.Signal, r.Stdout, r.Stderr)
	}
	held := 0
	for line := range strings.Lines(r.Stdout) {
		switch {
		case strings.HasPrefix(line, "BREACH"):
			t.Errorf("%s", line)
		case strings.HasPrefix(line, "HELD"):
			held++
		}
	}
	if held == 0 {
		t.Errorf("nothing was tried:\n%s", r.Stdout)
	}
}

func (a attacker) run(t *testing.T, file string) answer {
	t.Helper()
	prelude, err := os.ReadFile("prelude.py")
	if err != nil {
		t.Fatal(err)
	}
	attack, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code := fmt.Sprintf("%s\n%s\nreport(\"END\", \"\")\n", prelude, attack)
	cmd := a.command(t, "exec", "--json", "--gear", filepath.Join(a.home, "open.yaml"), "-")
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
