package instance_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/instance"
)

// canBeLong: directories are reached by a descriptor.
const canBeLong = true

// A peer has to be another process for the kernel to vouch for it: this binary,
// started again in a role. It needs no path of the file system that another user
// could not reach.
const (
	roleKey  = "GEARBOX_TEST_ROLE"
	placeKey = "GEARBOX_TEST_PLACE"
)

func TestMain(m *testing.M) {
	var role func(place string, out io.Writer) error
	switch os.Getenv(roleKey) {
	case "ask":
		role = ask
	case "answer":
		role = answer
	case "leave":
		role = func(socket string, _ io.Writer) error {
			_, err := connect(socket)
			return err
		}
	default:
		os.Exit(m.Run())
	}
	if err := role(os.Getenv(placeKey), os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// connect connects with a socket. It changes the directory, for a short address.
func connect(socket string) (net.Conn, error) {
	if err := os.Chdir(filepath.Dir(socket)); err != nil {
		return nil, err
	}
	return net.Dial("unix", filepath.Base(socket))
}

// ask writes HTTP status and body of the answer at a socket.
func ask(socket string, out io.Writer) error {
	c, err := connect(socket)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "GET /word HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d %s", r.StatusCode, text)
	return err
}

// answer is an instance until its standard input ends. It tells its id, and on
// standard error whom it refused.
func answer(dir string, out io.Writer) error {
	i, err := instance.Join(dir)
	if err != nil {
		return err
	}
	if err := i.Answer(context.Background(), says("here"), slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, i.ID())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, i.Leave())
}

// again is this binary in a role, as another user or in another namespace.
func again(t *testing.T, role, place string, as *syscall.SysProcAttr) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{roleKey + "=" + role, placeKey + "=" + place}
	cmd.Dir = "/"
	cmd.SysProcAttr = as
	return cmd
}

// asked is what a peer was told. It skips where such a peer cannot be made.
func asked(t *testing.T, socket string, as *syscall.SysProcAttr) (string, error) {
	t.Helper()
	out, err := again(t, "ask", socket, as).CombinedOutput()
	if ended := new(exec.ExitError); err != nil && !errors.As(err, &ended) {
		t.Skipf("skipped: no such process can be started here: %v", err)
	}
	return string(out), err
}

// other is an instance in another process.
type other struct {
	cmd    *exec.Cmd
	id     instance.ID
	socket string
	stderr bytes.Buffer
	end    func()
}

func startOther(t *testing.T, dir string, as *syscall.SysProcAttr) *other {
	t.Helper()
	o := &other{cmd: again(t, "answer", dir, as)}
	o.cmd.Stderr = &o.stderr
	stdin, err := o.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := o.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err, line)
	}
	o.id = instance.ID(strings.TrimSpace(line))
	o.socket = filepath.Join(dir, "instances", string(o.id)+".sock")
	o.end = sync.OnceFunc(func() {
		_ = stdin.Close()
		_ = o.cmd.Wait()
	})
	return o
}

func TestAnInstanceThatWasKilledIsSweptAway(t *testing.T) {
	dir := t.TempDir()
	o := startOther(t, dir, nil)
	all := live(t, dir)
	if len(all) != 1 || all[0].ID != o.id || all[0].ID.PID() != o.cmd.Process.Pid {
		t.Fatalf("%+v, want %s of process %d", all, o.id, o.cmd.Process.Pid)
	}
	var got word
	if err := all[0].Get(t.Context(), "/word", &got); err != nil || got.Word != "here" {
		t.Fatalf("%q, %v", got.Word, err)
	}
	if err := o.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	o.end()
	if names := left(t, dir); len(names) != 2 {
		t.Fatalf("a killed process removed its own files: %v", names)
	}
	if all := live(t, dir); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if names := left(t, dir); len(names) != 0 {
		t.Errorf("%v", names)
	}
}

// anotherUserNamespace is what a sandbox or a rootless container has: the same user
// outside, root inside.
func anotherUserNamespace() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
}

func TestAPeerOfAnotherUserNamespaceIsRefusedAndLogged(t *testing.T) {
	dir := t.TempDir()
	o := startOther(t, dir, nil)
	if told, err := asked(t, o.socket, nil); err != nil || !strings.HasPrefix(told, "200 ") {
		t.Fatalf("%q, %v", told, err)
	}
	defer o.end()
	told, err := asked(t, o.socket, anotherUserNamespace())
	o.end()
	if err != nil || !strings.HasPrefix(told, "403 ") || !strings.Contains(told, "another user namespace") || strings.Contains(told, "here") {
		t.Errorf("%q, %v", told, err)
	}
	if log := o.stderr.String(); strings.Count(log, "was refused") != 1 || !strings.Contains(log, "another user namespace") {
		t.Errorf("%s", log)
	}
}

func TestAPeerThatHasEndedIsRefused(t *testing.T) {
	dir := t.TempDir()
	l, err := instance.Listen(t.Context(), dir, "x.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if out, err := again(t, "leave", filepath.Join(dir, "x.sock"), nil).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	c, err := l.Accept() // only now, when it is gone and its number free
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := instance.CheckPeer(c); err == nil {
		t.Error("it may ask")
	} else {
		t.Log(err)
	}
}

// nobody is a user that owns nothing.
const nobody = 65534

func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can play another user")
	}
}

// public is a directory that other users can reach.
func public(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil { //nolint:gosec // other users are the point
			t.Fatal(err)
		}
	}
	return dir
}

// openFiles lets everybody reach the socket, so that only the check is left.
func (o *other) openFiles(t *testing.T) {
	t.Helper()
	for path, mode := range map[string]os.FileMode{filepath.Dir(o.socket): 0o755, o.socket: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPeerOfAnotherUserIsRefusedThoughTheFilesWereOpened(t *testing.T) {
	needsRoot(t)
	dir := public(t)
	o := startOther(t, dir, nil)
	if told, err := asked(t, o.socket, asNobody()); err == nil || !strings.Contains(told, "permission denied") {
		t.Errorf("the directory let another user in: %q, %v", told, err)
	}
	o.openFiles(t)
	told, err := asked(t, o.socket, asNobody())
	o.end()
	if err != nil || !strings.HasPrefix(told, "403 ") || !strings.Contains(told, "of uid 65534") {
		t.Errorf("%q, %v", told, err)
	}
	if log := o.stderr.String(); !strings.Contains(log, "of uid 65534") {
		t.Errorf("%s", log)
	}
}

func TestRootMayAskAnInstanceOfAnotherUser(t *testing.T) {
	needsRoot(t)
	dir := public(t)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	o := startOther(t, dir, asNobody())
	defer o.end()
	var got word
	if all := live(t, dir); len(all) != 1 {
		t.Errorf("%+v", all)
	} else if err := all[0].Get(t.Context(), "/word", &got); err != nil || got.Word != "here" {
		t.Errorf("%q, %v", got.Word, err)
	}
	o.openFiles(t) // root of another namespace is nobody there
	told, err := asked(t, o.socket, anotherUserNamespace())
	if err != nil || !strings.HasPrefix(told, "403 ") || !strings.Contains(told, "another user namespace") {
		t.Errorf("root of another user namespace was told %q, %v", told, err)
	}
}
