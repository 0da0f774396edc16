package cli

import (
	"context"
	"io"
	"os"
)

// readFile reads a file, or standard input for -, until ctx ends. What is read may
// be a terminal, a pipe or a FIFO that nobody writes to, and neither opening nor
// reading one can be called off, so both happen beside the caller. After an
// interrupt they are left behind: the process is about to end.
func (a *app) readFile(ctx context.Context, path string, most int64) (string, error) {
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		text, err := a.readAll(path, most)
		done <- outcome{text, err}
	}()
	select {
	case o := <-done:
		return o.text, o.err
	case <-ctx.Done():
		return "", failed(exitCancelled, errCancelled)
	}
}

// readAll reads at most one byte more than is accepted: the check of the request
// then names the bound.
func (a *app) readAll(path string, most int64) (string, error) {
	in := a.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return "", usage("", "%w", err)
		}
		defer func() { _ = file.Close() }() // nothing was written that closing could lose
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return "", usage("", "read %s: %w", path, err)
	}
	return string(data), nil
}
