//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// judgeMounts is the file system of go-judge's containers: that of the host's
// programs, and the interpreter.
const judgeMounts = `mount:
  - {type: bind, source: /lib, target: /lib, readonly: true}
  - {type: bind, source: /lib64, target: /lib64, readonly: true}
  - {type: bind, source: /usr, target: /usr, readonly: true}
  - {type: bind, source: %q, target: /python, readonly: true}
  - {type: bind, source: /dev/null, target: /dev/null}
  - {type: bind, source: /dev/urandom, target: /dev/urandom}
  - {type: tmpfs, target: /w, data: "size=64m,nr_inodes=4k"}
  - {type: tmpfs, target: /tmp, data: "size=64m,nr_inodes=4k"}
proc: true
workDir: /w
uid: 1536
gid: 1536
`

// judge starts go-judge's service on the loopback address.
func (b *bench) judge(ctx context.Context) (lap, func(), error) {
	tool, err := b.tool(ctx, "go-judge")
	if err != nil {
		return nil, nil, err
	}
	mounts := filepath.Join(b.scratch, "mount.yaml")
	if err := os.WriteFile(mounts, fmt.Appendf(nil, judgeMounts, b.python.Root), 0o600); err != nil {
		return nil, nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, nil, err
	}
	service := exec.CommandContext(ctx, tool, "-http-addr", address, "-silent", "-mount-conf", mounts)
	service.Cancel = func() error { return service.Process.Signal(os.Interrupt) } // so that its containers end too
	service.WaitDelay = settle
	if err := service.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() {
		_ = service.Process.Signal(os.Interrupt)
		_ = service.Wait()
	}
	inside, err := filepath.Rel(b.python.Root, b.python.Executable)
	if err != nil {
		return nil, stop, err
	}
	client := &http.Client{Timeout: sidecarTimeout}
	if err := answers(ctx, client, "http://"+address+"/version"); err != nil {
		return nil, stop, err
	}
	request := judgeRequest("/python/" + inside)
	return timed(func(ctx context.Context) error {
		got, err := post(ctx, client, "http://"+address+"/run", request)
		return expect(got, printAnswer, err)
	}), stop, nil
}

// freeAddress is one on which nobody listens.
func freeAddress(ctx context.Context) (string, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// answers waits until the service is there.
func answers(ctx context.Context, client *http.Client, url string) error {
	var err error
	const tries = 50
	for range tries {
		var request *http.Request
		if request, err = http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody); err != nil {
			return err
		}
		var r *http.Response
		if r, err = client.Do(request); err == nil {
			return r.Body.Close()
		}
		rest(ctx, settle/2)
	}
	return err
}

// judgeRequest asks for one run with the limits that Gearbox has by default.
func judgeRequest(python string) []byte {
	const limit, memory, stream = 10 * time.Second, 512 << 20, 1 << 20
	text, err := json.Marshal(map[string]any{"cmd": []any{map[string]any{
		"args": []string{python, "-I", "-S", "-c", printCode},
		"files": []any{
			map[string]any{"content": ""}, map[string]any{"name": "stdout", "max": stream}, map[string]any{"name": "stderr", "max": stream},
		},
		"cpuLimit": limit.Nanoseconds(), "clockLimit": limit.Nanoseconds(), "memoryLimit": memory, "procLimit": 16,
	}}})
	if err != nil {
		panic(err) // there is nothing in it that JSON cannot hold
	}
	return text
}

// post runs a request and returns what the program printed.
func post(ctx context.Context, client *http.Client, url string, body []byte) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	r, err := client.Do(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return "", err
	}
	var results []struct {
		Status string            `json:"status"`
		Error  string            `json:"error"`
		Files  map[string]string `json:"files"`
	}
	if err := json.Unmarshal(text, &results); err != nil || len(results) != 1 {
		return "", fmt.Errorf("the service answered %.100q", text)
	}
	if results[0].Status != "Accepted" {
		return "", fmt.Errorf("status %s: %s", results[0].Status, results[0].Error)
	}
	return results[0].Files["stdout"], nil
}
