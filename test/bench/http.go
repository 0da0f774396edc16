//go:build linux && (amd64 || arm64)

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// noopHTTPRole is as [noopRole], over HTTP.
const noopHTTPRole = "serve-noop-http"

// stateless is the era in which a call over HTTP stands for itself.
const stateless = "2026-07-28"

// answering is what a server says when it can be asked, in the form of gearbox's log.
type answering struct {
	Msg, Address string
}

const answeringMsg = "answering over HTTP"

// serveNoopHTTP answers on loopback until ctx ends, and says where.
func serveNoopHTTP(ctx context.Context, says io.Writer) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := noopServer()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	if err := json.NewEncoder(says).Encode(answering{answeringMsg, "http://" + l.Addr().String()}); err != nil {
		return err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: sidecarTimeout}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// connectHTTP starts a server and opens a session with it.
func connectHTTP(ctx context.Context, name string, args ...string) (*mcp.ClientSession, func(), error) {
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, name, args...)
	says, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	lines := bufio.NewReader(says)
	read := make(chan struct{})
	end := func() {
		stop()
		<-read
		_ = cmd.Wait() // it was killed
	}
	address, err := addressIn(lines)
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, lines)
	}()
	if err != nil {
		end()
		return nil, nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address + "/mcp"}, &mcp.ClientSessionOptions{ProtocolVersion: stateless})
	if err != nil {
		end()
		return nil, nil, err
	}
	return session, func() {
		_ = session.Close()
		end()
	}, nil
}

// addressIn reads the log up to where a server says that it answers.
func addressIn(lines *bufio.Reader) (string, error) {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return "", fmt.Errorf("the server ended without an address: %s", line)
		}
		var said answering
		if json.Unmarshal(line, &said) == nil && said.Msg == answeringMsg {
			return said.Address, nil
		}
	}
}

// executesHTTP is an entrant's open function for calls of execute over HTTP.
func executesHTTP(open func(context.Context) (*mcp.ClientSession, func(), error), code, want string) func(context.Context) (lap, func(), error) {
	return func(ctx context.Context) (lap, func(), error) {
		s, end, err := open(ctx)
		if err != nil {
			return nil, nil, err
		}
		return executeLap(s, code, want), end, nil
	}
}

func (b *bench) noopOverHTTP(ctx context.Context) (*mcp.ClientSession, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	return connectHTTP(ctx, self, noopHTTPRole)
}

func (b *bench) oursOverHTTP(ctx context.Context) (*mcp.ClientSession, func(), error) {
	return connectHTTP(ctx, b.gearbox, "serve", "--data-dir", b.data, "--http", "127.0.0.1:0")
}
