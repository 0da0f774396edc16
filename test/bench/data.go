//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// frameAnswer is what frame.py prints.
const frameAnswer = "{'a': 90, 'b': 45, 'c': 55}\n"

// tables measures a data frame in an environment of the operator's own.
func tables(ctx context.Context, b *bench) error {
	era := eras[len(eras)-1]
	frame, err := b.program("frame.py")
	if err != nil {
		return err
	}
	venv, err := b.tool(ctx, "data")
	if err != nil {
		return err
	}
	python := filepath.Join(venv, "bin", "python")
	slow := max(b.n/10, 1)
	with := func(args ...string) func(context.Context) (*mcp.ClientSession, int, error) {
		return func(ctx context.Context) (*mcp.ClientSession, int, error) {
			if err := b.hasFlags(ctx, args); err != nil {
				return nil, 0, err
			}
			return b.gearboxSession(ctx, era, args...)
		}
	}
	err = b.run(ctx, race{
		title: "A data frame",
		about: "A program of " + lines(frame) + " lines that imports pandas, makes a frame and groups it, in a virtual environment with pandas from PyPI: over MCP with `--python VENV`, " +
			"with and without `--preload pandas`, and by the environment's own interpreter.",
		turns: b.n, pace: pace,
		entrants: []entrant{
			{key: "data.import", name: "bare `python -c 'import pandas'`", every: slow, open: b.command("", python, "-c", "import pandas")},
			{key: "data.bare", name: "bare, the program", every: slow, open: b.command(frameAnswer, python, "-c", frame)},
			{key: "data.plain", name: "`execute`, pandas not preloaded", every: slow, open: executes(with("--python", venv), frame, frameAnswer)},
			{key: "data.preload", name: "`execute`, `--preload pandas`", open: executes(with("--python", venv, "--preload", "pandas"), frame, frameAnswer)},
		},
	})
	b.report.compare("data.import", "data.preload")
	return err
}

// hasFlags is an error if the binary does not know one of the flags.
func (b *bench) hasFlags(ctx context.Context, args []string) error {
	help := said(ctx, b.gearbox, "serve", "--help")
	for _, a := range args {
		if strings.HasPrefix(a, "--") && !strings.Contains(help, a+" ") {
			return errors.New("not there yet: this gearbox has no " + a)
		}
	}
	return nil
}
