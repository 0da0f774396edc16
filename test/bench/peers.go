//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// peers compares with other projects that run Python for agents, each by what it
// is made for. None is needed for anything else.
func peers(ctx context.Context, b *bench) error {
	s, err := b.boxes()
	if err != nil {
		return err
	}
	return b.run(ctx, race{
		title: "Other projects",
		about: "`print(1)` again. Monty is an interpreter of its own for a part of Python, asked for a fresh session of its pool; go-judge starts the embedded interpreter in a " +
			"container that it keeps ready; Docker starts a container for it; mcp-run-python runs Pyodide in Deno and is asked over MCP.",
		turns: b.laps(5), pace: pace,
		entrants: []entrant{
			{key: "peer.bare", name: "bare interpreter, `-I -S -c 'print(1)'`", open: b.command(printAnswer, b.python.Executable, "-I", "-S", "-c", printCode)},
			{key: "peer.pool", name: "Gearbox, from the pool", inside: true, open: s.pooled(printCode, printAnswer)},
			{key: "peer.monty", name: "pydantic-monty", open: b.monty},
			{key: "peer.judge", name: "go-judge", open: b.judge},
			{key: "peer.docker", name: "`docker run`", open: b.docker},
			{key: "peer.pyodide", name: "mcp-run-python", open: b.pyodide},
		},
	})
}

func (b *bench) monty(ctx context.Context) (lap, func(), error) {
	python, err := b.tool(ctx, "monty")
	if err != nil {
		return nil, nil, err
	}
	return workerLap(b.scratch, printCode, printAnswer, python, filepath.Join(b.here, "python", "monty.py"))(ctx)
}

// image is what docker starts, if it is there: nothing is pulled.
const image = "python:3-slim"

func (b *bench) docker(ctx context.Context) (lap, func(), error) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, nil, errors.New("docker is not here")
	}
	if out, err := exec.CommandContext(ctx, docker, "image", "inspect", image).CombinedOutput(); err != nil {
		return nil, nil, errors.New(reason(fmt.Errorf("%w\n%s", err, out)))
	}
	return b.command(printAnswer, docker, "run", "--rm", "--network", "none", image, "python", "-I", "-c", printCode)(ctx)
}

func (b *bench) pyodide(ctx context.Context) (lap, func(), error) {
	tool, err := b.tool(ctx, "mcp-run-python")
	if err != nil {
		return nil, nil, err
	}
	if err := os.Setenv("DENO_DIR", filepath.Join(b.place, "deno")); err != nil {
		return nil, nil, err
	}
	s, _, err := connect(ctx, eras[0], tool, "stdio")
	if err != nil {
		return nil, nil, err
	}
	call := &mcp.CallToolParams{Name: "run_python_code", Arguments: map[string]any{"python_code": printCode}}
	return timed(func(ctx context.Context) error {
		r, err := s.CallTool(ctx, call)
		if err == nil && r.IsError {
			err = errors.New("the tool failed")
		}
		return err
	}), func() { _ = s.Close() }, nil
}
