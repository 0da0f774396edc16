package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// website is a running gearbox serve over HTTP.
type website struct {
	t         *testing.T
	cmd       *exec.Cmd
	addresses []string
	log       chan string // gets the whole log when the process has closed it
}

// startHTTP starts it with nothing on its standard input, and waits until it answers.
func startHTTP(t *testing.T, listeners int, flags ...string) *website {
	t.Helper()
	w := &website{t: t, log: make(chan string, 1)}
	w.cmd = exec.CommandContext(t.Context(), "gearbox", append([]string{"serve", "--data-dir", t.TempDir()}, flags...)...)
	w.cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	errOut, err := w.cmd.StderrPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(errOut)
	var text strings.Builder
	for len(w.addresses) < listeners {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended: %s%s", &text, line)
		}
		text.WriteString(line)
		var said struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "answering over HTTP" {
			w.addresses = append(w.addresses, said.Address)
		}
	}
	go func() {
		rest, _ := io.ReadAll(lines)
		w.log <- text.String() + string(rest)
	}()
	return w
}

// stop ends the process as a service manager does, and expects an orderly end.
func (w *website) stop(sig os.Signal) string {
	w.t.Helper()
	if err := w.cmd.Process.Signal(sig); err != nil {
		w.t.Fatal(err)
	}
	log := <-w.log
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("%v\n%s", err, log)
	}
	return log
}

func TestServeAnswersOverHTTPAndOverASocketUntilItIsStopped(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		path := filepath.Join(t.TempDir(), "s.sock")
		w := startHTTP(t, 2, "--http", "127.0.0.1:0", "--unix", path)
		overSocket := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}
		for url, tr := range map[string]*http.Transport{w.addresses[0]: {}, "http://gearbox": overSocket} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := tr.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", url, res.Status)
			}
		}
		log := w.stop(sig)
		for line := range strings.Lines(log) {
			if !json.Valid([]byte(line)) {
				t.Errorf("the log has the line %q", line)
			}
		}
		if _, err := os.Lstat(path); err == nil {
			t.Error("the socket is left behind")
		}
	}
}
