package instance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"

	"github.com/gearbox-mcp/gearbox/internal/socket"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 4 << 20

var (
	// ErrRefused is wrapped by the error of asking an instance that does not answer
	// this process: another user's, or one outside the sandbox or container that
	// this process is in.
	ErrRefused = errors.New("it refuses to answer this process")
	// ErrNoSocket is wrapped by the error of asking an instance that cannot be asked:
	// it is just starting, or it could not make a socket and has logged why.
	ErrNoSocket = errors.New("it has no socket to be asked by")
	// ErrGone is wrapped by the error of asking an instance that has ended.
	ErrGone = errors.New("it has ended")
)

// Get asks the instance for path and decodes its answer into v. How long it waits is
// the context's business.
func (m Member) Get(ctx context.Context, path string, v any) error {
	return m.ask(ctx, http.MethodGet, path, nil, v)
}

// Post sends the instance a question as JSON and decodes its answer into v. How long it
// waits is the context's business.
func (m Member) Post(ctx context.Context, path string, question, v any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	return m.ask(ctx, http.MethodPost, path, text, v)
}

func (m Member) ask(ctx context.Context, method, path string, question []byte, v any) error {
	err := m.exchange(ctx, method, path, question, v)
	if err == nil || errors.Is(err, ErrRefused) {
		return err
	}
	if alive, failed := m.alive(); failed == nil && !alive {
		return ErrGone
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return ErrNoSocket
	}
	return err
}

func (m Member) exchange(ctx context.Context, method, path string, question []byte, v any) error {
	// The host's name plays no part: there is one instance at the socket.
	r, err := http.NewRequestWithContext(ctx, method, "http://instance"+path, bytes.NewReader(question))
	if err != nil {
		return err
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return socket.Dial(ctx, m.dir, m.ID.socket())
		},
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer: %w", err)
	case len(text) > maxAnswer:
		return fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	case answer.StatusCode != http.StatusOK:
		return said(answer.StatusCode, text)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// said is the instance's own reason for not answering.
func said(status int, text []byte) error {
	var f failure
	if err := json.Unmarshal(text, &f); err != nil || f.Error == "" {
		f.Error = http.StatusText(status)
	}
	if status == http.StatusForbidden {
		return fmt.Errorf("%w: %s", ErrRefused, f.Error)
	}
	return fmt.Errorf("it answers with HTTP status %d: %s", status, f.Error)
}
