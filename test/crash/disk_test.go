//go:build linux

package crash

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace runs the test again in a mount namespace of its own, as root or as a user
// who passes for root there, and reports whether this is that run.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideEnv) != "" {
		return true
	}
	dataDir(t) // makes what is needed there, or skips
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), insideEnv+"="+shared.dir)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err = shared.start(c)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) {
		t.Skipf("skipped: no mount namespace can be made here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = shared.wait(c)
	if i := strings.Index(out.String(), "skipped: "); i >= 0 && err == nil {
		t.Skip(strings.SplitN(out.String()[i:], "\n", 2)[0])
	}
	t.Logf("within a mount namespace:\n%s", out.String())
	if err != nil {
		t.Error(err)
	}
	return false
}

// smallDisk is a data directory on a file system of its own with little room.
func smallDisk(t *testing.T) string {
	t.Helper()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("skipped: mounts cannot be made private here: %v", err)
	}
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=320m"); err != nil {
		t.Skipf("skipped: no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	dir := filepath.Join(disk, "data")
	fill(t, dir)
	return dir
}

// withoutInterpreter is a data directory beside another that has its records and has to
// unpack the interpreter again.
func withoutInterpreter(t *testing.T, beside string) string {
	t.Helper()
	dir := beside + "-bare"
	fill(t, dir)
	if _, errOut, exit := command(t, "exec", "--data-dir", dir, "-c", "1"); exit != 0 {
		t.Fatalf("exit code %d: %s", exit, errOut)
	}
	if err := os.RemoveAll(filepath.Join(dir, "python")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// useUp uses up the room beside a directory but for so many bytes. The function gives
// it back.
func useUp(t *testing.T, dir string, but int64) func() {
	t.Helper()
	name := filepath.Join(filepath.Dir(dir), fmt.Sprintf("filler%d", but))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // of this test
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(f, endlessZeros{})
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full after %d bytes: %v", n, err)
	}
	if err := errors.Join(f.Truncate(n-but), f.Close()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

type endlessZeros struct{}

func (endlessZeros) Read(p []byte) (int, error) { return len(p), nil }

func TestAFullDiskRefusesCallsAndLosesNothingAndIsOverWithoutARestart(t *testing.T) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	dir := smallDisk(t)
	servers := []*server{serve(t, dir, overHTTP), serve(t, dir, overStdio)}
	var told []answer
	for i, s := range servers {
		for n := range 3 {
			told = append(told, ok(t, s, 10*i+n))
		}
	}
	requireReady(t, servers[0])
	caught := servers[0].execute(t, call{Code: "import time\ntime.sleep(20)\nprint(1)", Timeout: 60, Wait: seconds(0)})
	underWay(t, dir, 1)

	bare := withoutInterpreter(t, dir)
	makeMost := useUp(t, dir, 2<<20) // enough to start with, and not for the interpreter
	late := serve(t, bare, overUnix)
	if a := late.execute(t, call{Code: "1"}); a.Error == nil || a.Error.Code != "UNAVAILABLE" || !strings.Contains(a.Stderr, "no room") {
		t.Errorf("a server that started on the full disk: %s", a.raw)
	}
	makeRoom := useUp(t, dir, 0)
	for _, s := range servers {
		// What room is left within the files of the records is used up first.
		eventually(t, "calls have to be refused", func() string {
			a := s.execute(t, call{Code: "print('" + strings.Repeat("x", 100_000) + "')"})
			if a.final() {
				told = append(told, a)
				return "it still runs programs: " + a.Status
			}
			requireRefusal(t, a)
			return ""
		})
	}
	eventually(t, "the server has to say that it is not ready", func() string {
		status, body, err := servers[0].web(t).get(t.Context(), "/readyz")
		if err != nil || status != http.StatusServiceUnavailable {
			return fmt.Sprint(status, body, err)
		}
		if !strings.Contains(body, "disk is full") {
			t.Errorf("/readyz gives no reason: %s", body)
		}
		return ""
	})
	for _, args := range [][]string{{"serve"}, {"serve", "--http", "127.0.0.1:0"}, {"exec", "-c", "1"}, {"token", "create", "late"}} {
		// A new one needs room: it says so, and ends.
		_, errOut, exit := command(t, append(args, "--data-dir", dir+"-new")...)
		if exit == 0 || !strings.Contains(errOut, "disk is full") || !strings.Contains(errOut, "then do this again") {
			t.Errorf("%v: exit code %d: %s", args, exit, errOut)
		}
	}
	for _, a := range told { // what was finished is there to be read all along
		if now := servers[1].outcome(t, a.Operation); !bytes.Equal(now.raw, a.raw) {
			t.Errorf("a client was told\n%s\nand with a full disk\n%s", a.raw, now.raw)
		}
	}
	eventually(t, "a program that ended meanwhile counts as running, with a warning", func() string {
		a := servers[0].use(t, "get_operation", query{Operation: caught.Operation, Wait: seconds(0)})
		if a.Status != "running" || a.Stdout != "" || !bytes.Contains(a.raw, []byte("could not be recorded yet")) {
			return string(a.raw)
		}
		return ""
	})

	makeRoom()
	makeMost()
	eventually(t, "what ended meanwhile has to be recorded", func() string {
		if a := servers[0].outcome(t, caught.Operation); a.Status != "ok" || a.Stdout != "1\n" {
			return string(a.raw)
		}
		return ""
	})
	for i, s := range servers {
		told = append(told, ok(t, s, 100+i))
	}
	requireReady(t, servers[0])
	requireReady(t, late)
	ok(t, late, 200)
	late.kill()
	for _, s := range servers {
		if s.transport == overStdio {
			s.close()
		} else {
			s.signal(t, unix.SIGTERM)
		}
		if exit := s.ended(t); exit != 0 {
			t.Errorf("exit code %d: %s", exit, s.log)
		}
	}
	for _, a := range told {
		requireKept(t, dir, a)
	}
	all := operations(t, dir)
	if why := unfinished(all); why != "" {
		t.Error(why)
	}
	requireNothingLeft(t, dir, all)
}

// ok runs a program that has to succeed.
func ok(t *testing.T, s *server, number int) answer {
	t.Helper()
	a := s.execute(t, call{Code: fmt.Sprintf("print(%d)", number)})
	if a.Status != "ok" || a.Stdout != fmt.Sprintf("%d\n", number) {
		t.Fatalf("over %s: %s\n%s", s.transport, a.raw, s.log)
	}
	return a
}

func requireReady(t *testing.T, s *server) {
	t.Helper()
	eventually(t, "the server has to be ready", func() string {
		status, body, err := s.web(t).get(t.Context(), "/readyz")
		if err != nil || status != http.StatusOK {
			return fmt.Sprint(status, body, err)
		}
		return ""
	})
}

// requireRefusal checks that an answer says why nothing could be recorded.
func requireRefusal(t *testing.T, a answer) {
	t.Helper()
	if a.Error == nil || a.Error.Code != "UNAVAILABLE" || !strings.Contains(a.Error.Message, "disk is full") {
		t.Errorf("no clear error: %s", a.raw)
	}
}

func TestADirectoryThatCannotBeWrittenIsRefusedAndLosesNothing(t *testing.T) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	dir := smallDisk(t)
	s := serve(t, dir, overStdio)
	told := ok(t, s, 1)
	s.close()
	if exit := s.ended(t); exit != 0 {
		t.Errorf("exit code %d: %s", exit, s.log)
	}
	disk := filepath.Dir(dir)
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{}, {"--http", "127.0.0.1:0"}} {
		_, errOut, exit := command(t, append([]string{"serve", "--data-dir", dir}, flags...)...)
		if exit == 0 || !strings.Contains(errOut, "read-only") || !strings.Contains(errOut, dir) {
			t.Errorf("serve %v: exit code %d: %s", flags, exit, errOut)
		}
	}
	_, errOut, exit := command(t, "operations", "delete", told.Operation, "--data-dir", dir)
	if exit == 0 || !strings.Contains(errOut, "cannot be written") || !strings.Contains(errOut, dir) {
		t.Errorf("delete: exit code %d: %s", exit, errOut)
	}
	for _, args := range [][]string{
		{"operations", "list"}, {"operations", "show", told.Operation}, {"audit", "list"}, {"audit", "show", "1"}, {"audit", "verify"}, {"audit", "export"}, {"audit", "anchor"},
	} {
		if out, errOut, exit := command(t, append(args, "--data-dir", dir)...); exit != 0 || errOut != "" || out == "" {
			t.Errorf("%v: exit code %d: %s%s", args, exit, out, errOut)
		}
	}
	requireKept(t, dir, told)
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	s = serve(t, dir, overHTTP)
	again := ok(t, s, 2)
	s.signal(t, unix.SIGTERM)
	if exit := s.ended(t); exit != 0 {
		t.Errorf("exit code %d: %s", exit, s.log)
	}
	requireKept(t, dir, told)
	requireKept(t, dir, again)
	requireNothingLeft(t, dir, operations(t, dir))
}
