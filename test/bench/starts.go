//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	printCode   = "print(1)"
	printAnswer = "1\n"
	// sidecarTimeout is the time limit of the plain subprocess, far from what it needs.
	sidecarTimeout = 10 * time.Second
)

// starts compares what begins with a new process.
func starts(ctx context.Context, b *bench) error {
	python := b.python.Executable
	return b.run(ctx, race{
		title: "A process for each run",
		about: "`print(1)` in a process that is started for it, in turns. All use the same interpreter, the embedded one.",
		turns: b.laps(5), pace: pace,
		entrants: []entrant{
			{key: "bare", name: "bare interpreter, `-c 'print(1)'`", open: b.command(printAnswer, python, "-c", printCode)},
			{key: "bare-IS", name: "bare interpreter, `-I -S -c pass`", open: b.command("", python, "-I", "-S", "-c", "pass")},
			{key: "subprocess", name: "plain subprocess as a script runner has it: temporary file, pipes, time limit", open: b.script(python)},
			{key: "uv", name: "`uv run` of a script", open: b.uv},
			{key: "bwrap", name: "bubblewrap and the interpreter: own namespaces, read-only root", open: b.bubblewrap},
		},
	})
}

// command runs a program from its start to its end.
func (b *bench) command(want, name string, args ...string) func(context.Context) (lap, func(), error) {
	return func(context.Context) (lap, func(), error) {
		return timed(func(ctx context.Context) error { return b.output(ctx, want, name, args...) }), nil, nil
	}
}

func (b *bench) output(ctx context.Context, want, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = b.scratch
	out, err := c.Output()
	return expect(string(out), want, err)
}

// script runs a file that is written for each lap with a command.
func (b *bench) script(name string, args ...string) func(context.Context) (lap, func(), error) {
	return func(context.Context) (lap, func(), error) {
		return timed(func(ctx context.Context) error {
			f, err := os.CreateTemp(b.scratch, "run-*.py")
			if err != nil {
				return err
			}
			defer func() { _ = os.Remove(f.Name()) }()
			if _, err := f.WriteString(printCode + "\n"); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, sidecarTimeout)
			defer cancel()
			return b.output(ctx, printAnswer, name, append(args, f.Name())...)
		}), nil, nil
	}
}

func (b *bench) uv(ctx context.Context) (lap, func(), error) {
	uv, err := b.tool(ctx, "uv")
	if err != nil {
		return nil, nil, err
	}
	return b.script(uv, "run", "--quiet", "--offline", "--no-project", "--no-config", "--cache-dir", filepath.Join(b.place, "uv-cache"), "--python", b.python.Executable)(ctx)
}

func (b *bench) bubblewrap(ctx context.Context) (lap, func(), error) {
	bwrap, err := b.tool(ctx, "bwrap")
	if err != nil {
		return nil, nil, err
	}
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--ro-bind", b.python.Root, b.python.Root}
	for _, link := range []string{"/lib", "/lib64", "/bin"} {
		if target, err := os.Readlink(link); err == nil {
			args = append(args, "--symlink", target, link)
		} else {
			args = append(args, "--ro-bind-try", link, link)
		}
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp", b.python.Executable, "-I", "-c", printCode)
	return b.command(printAnswer, bwrap, args...)(ctx)
}
