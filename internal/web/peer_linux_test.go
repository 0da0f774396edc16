package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// socketKey makes this binary, started again, one that asks at a socket: the kernel
// vouches for processes.
const socketKey = "GEARBOX_TEST_SOCKET"

func TestMain(m *testing.M) {
	path := os.Getenv(socketKey)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := tell(os.Stdout, path); err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
	}
	os.Exit(0)
}

// tell asks at a socket and writes the status of the answer.
func tell(out io.Writer, path string) error {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	res, err := tr.RoundTrip(&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "gearbox", Path: "/healthz"}, Header: http.Header{}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, res.StatusCode)
	return errors.Join(err, res.Body.Close())
}

func TestAProcessOfAnotherUserIsRefusedThoughTheSocketWasOpened(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can start a process of another user")
	}
	dir := private(t)
	path := filepath.Join(dir, "s.sock")
	s := both(t, path)
	for name, mode := range map[string]os.FileMode{dir: 0o755, path: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	for want, as := range map[string]*syscall.SysProcAttr{
		"403": {Credential: &syscall.Credential{Uid: 65534, Gid: 65534}},
		"200": nil,
	} {
		c := exec.CommandContext(t.Context(), "/proc/self/exe")
		c.Env, c.Dir, c.SysProcAttr = []string{socketKey + "=" + path}, "/", as
		out, err := c.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("not %s: %s %v", want, out, err)
		}
	}
	if !strings.Contains(s.book.String(), "65534") {
		t.Error("nobody is told")
	}
}
