//go:build linux && (amd64 || arm64)

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
)

// forker is a fork server without isolation. Any number of programs may be asked
// of it at once.
type forker struct {
	w *worker

	mu      sync.Mutex // guards what follows, and writing to w
	next    int
	waiting map[int]chan string
	gone    error
}

// startForker starts one with the interpreter and the modules of the real fork
// server, and waits until it is warm.
func (b *bench) startForker(ctx context.Context) (*forker, error) {
	w, err := startWorker(ctx, b.scratch, b.python.Executable, "-I", "-S", "-B", filepath.Join(b.here, "python", "forkonly.py"), b.guest)
	if err != nil {
		return nil, err
	}
	if ready, err := w.out.ReadString('\n'); err != nil || ready != "ready\n" {
		w.stop()
		return nil, errors.New(reason(fmt.Errorf("the fork server without isolation did not start\n%s", w.stderr.String())))
	}
	f := &forker{w: w, waiting: map[int]chan string{}}
	go f.read(w.out)
	return f, nil
}

// read hands answers to those who wait for them, until there are no more.
func (f *forker) read(r *bufio.Reader) {
	for {
		line, err := r.ReadBytes('\n')
		var answer [2]any
		if err == nil {
			err = json.Unmarshal(line, &answer)
		}
		f.mu.Lock()
		if err != nil {
			f.gone = err
			for _, c := range f.waiting {
				close(c)
			}
			f.waiting = nil
			f.mu.Unlock()
			return
		}
		number, _ := answer[0].(float64)
		text, _ := answer[1].(string)
		if c := f.waiting[int(number)]; c != nil {
			delete(f.waiting, int(number))
			c <- text
		}
		f.mu.Unlock()
	}
}

// program forks once and returns what the program printed.
func (f *forker) program(code string) (string, error) {
	answer, err := f.send(code)
	if err != nil {
		return "", err
	}
	text, ok := <-answer
	if !ok {
		return "", errors.New("the fork server without isolation ended")
	}
	return text, nil
}

func (f *forker) send(code string) (chan string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone != nil {
		return nil, f.gone
	}
	f.next++
	line, err := json.Marshal([2]any{f.next, code})
	if err != nil {
		return nil, err
	}
	answer := make(chan string, 1)
	f.waiting[f.next] = answer
	_, err = f.w.in.Write(append(line, '\n'))
	return answer, err
}
