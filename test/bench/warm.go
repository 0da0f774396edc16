//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// pace is the rest between laps: long enough for a pool to be full again, so that
// it is the idle case that is measured.
const pace = 25 * time.Millisecond

// warm compares what has an interpreter ready. Below the engine: what a checkout,
// an analysis and a run cost, without protocol and record.
func warm(ctx context.Context, b *bench) error {
	s, err := b.boxes()
	if err != nil {
		return err
	}
	script, err := b.program("script.py")
	if err != nil {
		return err
	}
	python, folder := b.python.Executable, filepath.Join(b.here, "python")
	inProcess := filepath.Join(folder, "inprocess.py")
	err = b.run(ctx, race{
		title: "A warm interpreter",
		about: "From the request to the answer, one at a time, with a rest of 25 ms before each. The rows of Gearbox are the sandbox without engine and protocol: " +
			"a child with full isolation is taken, the source is analysed, the limits are armed, the program runs, and the child is killed. " +
			"“Fork only” is the same interpreter with the same modules, forked without any isolation, analysis or limits: what a fork costs here.",
		turns: b.n, pace: pace,
		entrants: []entrant{
			{key: "echo", name: "floor: `print(1)` sent to an idle Python process and back, over a pair of sockets", open: b.echo},
			{key: "inprocess", name: "`exec()` in one long-lived process, no isolation", open: workerLap(b.scratch, printCode, printAnswer, python, "-I", inProcess)},
			{key: "inprocess-script", name: "the same, a script of 20 lines", open: workerLap(b.scratch, script, scriptAnswer, python, "-I", inProcess)},
			{key: "forkonly", name: "fork only, no isolation", open: b.forkOnly},
			{key: "ondemand", name: "Gearbox, pool empty: fork on demand", inside: true, open: s.onDemand(printCode, printAnswer)},
			{key: "pool", name: "Gearbox, from the pool", inside: true, open: s.pooled(printCode, printAnswer)},
			{key: "pool-script", name: "Gearbox, from the pool, a script of 20 lines", inside: true, open: s.pooled(script, scriptAnswer)},
		},
	})
	b.report.compare("pool", "echo")
	b.report.differ("isolation", "ondemand", "forkonly")
	return err
}

// scriptAnswer is what script.py prints.
const scriptAnswer = "3457.5\n"

// echo speaks with an idle interpreter as the host does with a child: over a pair
// of sockets.
func (b *bench) echo(ctx context.Context) (lap, func(), error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	near, far := os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
	defer func() { _ = far.Close() }()
	if err := unix.SetNonblock(fds[1], false); err != nil {
		return nil, func() { _ = near.Close() }, err
	}
	c := exec.CommandContext(ctx, b.python.Executable, "-I", filepath.Join(b.here, "python", "echo.py"))
	c.ExtraFiles = []*os.File{far}
	if err := c.Start(); err != nil {
		return nil, func() { _ = near.Close() }, err
	}
	answer := make([]byte, len(printCode))
	return timed(func(context.Context) error {
			if _, err := near.WriteString(printCode); err != nil {
				return err
			}
			_, err := io.ReadFull(near, answer)
			return expect(string(answer), printCode, err)
		}), func() {
			_ = near.Close()
			_ = c.Wait()
		}, nil
}

func (b *bench) forkOnly(ctx context.Context) (lap, func(), error) {
	f, err := b.startForker(ctx)
	if err != nil {
		return nil, nil, err
	}
	return timed(func(context.Context) error {
		got, err := f.program(printCode)
		return expect(got, printAnswer, err)
	}), f.w.stop, nil
}
