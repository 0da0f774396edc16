package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "codemode:", err)
		os.Exit(1) //nolint:forbidigo // this is main, and everything was closed
	}
}

func command(ctx context.Context, stdout io.Writer) (err error) {
	binary := flag.String("gearbox", "", "ask this `BINARY` instead of one built from the source")
	out := flag.String("o", "docs/benchmarks-code-mode.md", "write the document to `FILE`, from the root of the repository")
	flag.Parse()
	if flag.NArg() > 0 {
		return errors.New("there are no arguments, only flags: see -help")
	}
	root, err := repository()
	if err != nil {
		return err
	}
	place, err := os.MkdirTemp("", "gearbox-codemode-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(place)) }()
	if *binary == "" {
		*binary = filepath.Join(place, "gearbox")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", *binary, "./cmd/gearbox")
		build.Dir = root
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build gearbox: %w\n%s", err, text)
		}
	}
	w, err := newWorld(ctx, root, place)
	if err != nil {
		return err
	}
	rows, err := w.all(ctx, *binary)
	if err != nil {
		return err
	}
	text := document(rows, w.facts(ctx, *binary))
	if _, err := io.WriteString(stdout, text); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, *out), []byte(text), 0o644) //nolint:gosec // a document
}

// repository is the folder above the current one that holds this module.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "test", "codemode", "node")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run it inside the repository")
		}
	}
}

// result is one task done in both ways.
type result struct {
	name         string
	answer       string
	direct, code tally
}

// all does every task directly, then by programs, each time from the same start. The error
// names the first task of which the results differ.
func (w *world) all(ctx context.Context, binary string) ([]result, error) {
	rows, err := w.directly(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.anew(); err != nil {
		return nil, err
	}
	sessions, shut, err := w.gearbox(ctx, binary, filepath.Join(w.place, "data"))
	if err != nil {
		return nil, err
	}
	defer shut()
	definitions, err := defined(ctx, sessions[""])
	if err != nil {
		return nil, err
	}
	for i, one := range tasks() {
		t := begin(ctx, w, sessions, definitions)
		answer, err := one.code(t)
		if err != nil {
			return nil, fmt.Errorf("%s, by a program: %w", one.name, err)
		}
		if answer != rows[i].answer {
			return nil, fmt.Errorf("%s: directly %s, by a program %s", one.name, rows[i].answer, answer)
		}
		rows[i].code = t.tally
	}
	return rows, nil
}

func (w *world) directly(ctx context.Context) ([]result, error) {
	if err := w.anew(); err != nil {
		return nil, err
	}
	sessions, shut, err := w.direct(ctx)
	if err != nil {
		return nil, err
	}
	defer shut()
	definitions := 0
	for _, s := range sessions {
		n, err := defined(ctx, s)
		if err != nil {
			return nil, err
		}
		definitions += n
	}
	var rows []result
	for _, one := range tasks() {
		t := begin(ctx, w, sessions, definitions)
		v, err := one.direct(t)
		if err != nil {
			return nil, fmt.Errorf("%s, directly: %w", one.name, err)
		}
		answer, err := plainJSON(v)
		if err != nil {
			return nil, err
		}
		rows = append(rows, result{name: one.name, answer: answer, direct: t.tally})
	}
	return rows, nil
}

// facts are what the figures were counted with.
func (w *world) facts(ctx context.Context, binary string) []string {
	said := func(args ...string) string {
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		out, _ := c.Output() // what cannot be told is left out
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return line
	}
	return []string{
		said(binary, "version") + ", commit " + said("git", "rev-parse", "--short", "HEAD"),
		"@modelcontextprotocol/server-everything, server-filesystem and server-memory " + w.versions + ", Node " + w.node,
	}
}
