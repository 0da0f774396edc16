package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"
)

// checked remembers the first failure of a stream, so that commands can print
// line by line and look once. A reader that went away, as head does, is no
// failure: there is nobody left to tell.
type checked struct {
	io.Writer

	mu  sync.Mutex
	err error
}

func (c *checked) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = err
		}
	}
	return n, err
}

// lost says which output could not be written.
func (s Streams) lost() error {
	var errs []error
	for _, stream := range []struct {
		name string
		w    io.Writer
	}{{"standard output", s.Out}, {"standard error", s.Err}} {
		c, ok := stream.w.(*checked)
		if !ok {
			continue
		}
		c.mu.Lock()
		if c.err != nil {
			errs = append(errs, fmt.Errorf("%s is not complete: %w", stream.name, c.err))
		}
		c.mu.Unlock()
	}
	return errors.Join(errs...)
}

// silent is the log of commands that a person runs: what matters of it is in
// their own messages, and the rest would mix with a program's output.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// heldLog keeps failures until it is known whether a person needs them. The
// engine writes while a command waits.
type heldLog struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (h *heldLog) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heldLog) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// logger writes into h what happened, without when: a command is short.
func (h *heldLog) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(h, &slog.HandlerOptions{
		Level: slog.LevelError,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}
