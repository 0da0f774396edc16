//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// fresh measures what is waited for after a start.
func fresh(ctx context.Context, b *bench) error {
	s, err := b.boxes()
	if err != nil {
		return err
	}
	era := eras[len(eras)-1]
	err = b.run(ctx, race{
		title: "A fresh server",
		about: "From the start of the process: until it has answered that it is there, and until the first result. The interpreter is unpacked. " +
			"Below that, the sandbox alone: a new fork server, its first child and a run.",
		turns: b.laps(20), pace: settle, unrelated: true,
		entrants: []entrant{
			{key: "fresh.initialize", name: "`gearbox serve`, connected", open: b.freshly(era, b.kept, "")},
			{key: "fresh.result", name: "`gearbox serve`, first `execute` of `print(1)`", open: b.freshly(era, b.kept, printCode)},
			{key: "fresh.sandbox", name: "cold path: fork server, child, `print(1)`", inside: true, open: s.cold(printCode, printAnswer)},
		},
	})
	if err != nil {
		return err
	}
	return b.run(ctx, race{
		title: "The first start ever",
		about: "The data directory is empty: the interpreter is unpacked first.",
		turns: 2, cold: true, pace: settle, unrelated: true,
		entrants: []entrant{
			{key: "first.initialize", name: "`gearbox serve`, connected", open: b.freshly(era, b.emptied, "")},
			{key: "first.result", name: "`gearbox serve`, first `execute` of `print(1)`", open: b.freshly(era, b.emptied, printCode)},
		},
	})
}

// kept is the data directory of this run, and nothing to clear up.
func (b *bench) kept() (string, func(), error) { return b.data, func() {}, nil }

// emptied is a new data directory on the same disk.
func (b *bench) emptied() (string, func(), error) {
	dir, err := os.MkdirTemp(b.place, "first-")
	return filepath.Join(dir, "data"), func() { _ = os.RemoveAll(dir) }, err
}

// freshly starts a server for each lap. Without code it is over once the session stands.
func (b *bench) freshly(era string, data func() (string, func(), error), code string) func(context.Context) (lap, func(), error) {
	return func(context.Context) (lap, func(), error) {
		return func(ctx context.Context) (time.Duration, error) {
			dir, clear, err := data()
			if err != nil {
				return 0, err
			}
			defer clear()
			start := time.Now()
			s, _, err := connect(ctx, era, b.gearbox, "serve", "--data-dir", dir)
			if err != nil {
				return 0, err
			}
			defer func() { _ = s.Close() }()
			if code != "" {
				_, err = execute(ctx, s, code, printAnswer)
			}
			return time.Since(start), err
		}, nil, nil
	}
}
