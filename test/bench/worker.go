//go:build linux && (amd64 || arm64)

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// worker is a long-lived process that answers each line with a line.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func startWorker(ctx context.Context, dir, name string, args ...string) (*worker, error) {
	w := &worker{cmd: exec.CommandContext(ctx, name, args...)}
	w.cmd.Dir, w.cmd.Stderr = dir, &w.stderr
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewReader(out)
	return w, w.cmd.Start()
}

// ask sends a line and waits for the answer.
func (w *worker) ask(line string) (string, error) {
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		return "", err
	}
	answer, err := w.out.ReadString('\n')
	if err != nil {
		w.stop()
		return "", fmt.Errorf("%w: %s", err, reason(errors.New("no answer\n"+w.stderr.String())))
	}
	return strings.TrimSuffix(answer, "\n"), nil
}

// program runs a program in a worker that takes JSON strings and answers what was printed.
func (w *worker) program(code string) (string, error) {
	line, err := json.Marshal(code)
	if err != nil {
		return "", err
	}
	answer, err := w.ask(string(line))
	if err != nil {
		return "", err
	}
	var printed string
	err = json.Unmarshal([]byte(answer), &printed)
	return printed, err
}

// stop lets the worker end: it does when its input has.
func (w *worker) stop() {
	_ = w.in.Close()
	_ = w.cmd.Wait()
}

// workerLap is an entrant's open function for a program in such a worker.
func workerLap(dir, code, want, name string, args ...string) func(context.Context) (lap, func(), error) {
	return func(ctx context.Context) (lap, func(), error) {
		w, err := startWorker(ctx, dir, name, args...)
		if err != nil {
			return nil, nil, err
		}
		return timed(func(context.Context) error {
			got, err := w.program(code)
			return expect(got, want, err)
		}), w.stop, nil
	}
}
