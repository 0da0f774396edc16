//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/guest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// bench is one run: what it measures with, and what it found.
type bench struct {
	options
	report *report
	stderr io.Writer
	root   string // of the repository
	here   string // this package's folder
	place  string // everything that is built or installed
	// scratch is the working directory of programs that have no sandbox.
	scratch string
	data    string // the data directory of every Gearbox of this run

	python  cpython.Installation
	guest   string // a folder with the guest's Python
	gearbox string // the binary
}

// group is one part of the run, to be chosen by name.
type group struct {
	name, about string
	run         func(context.Context, *bench) error
}

func groupNames() string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return strings.Join(names, ", ")
}

// open builds the binary and unpacks the interpreter. Without these there is nothing to measure.
func open(ctx context.Context, o options, stdout, stderr io.Writer) (*bench, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	place := filepath.Join(root, ".cache", "bench")
	b := &bench{
		options: o, stderr: stderr, root: root, here: filepath.Join(root, "test", "bench"), place: place,
		data: filepath.Join(place, "data"), report: newReport(describeMachine(ctx, root), stdout),
	}
	if err := os.MkdirAll(b.data, 0o700); err != nil {
		return nil, err
	}
	if b.scratch, err = os.MkdirTemp("", "gearbox-bench-"); err != nil {
		return nil, err
	}
	b.guest = filepath.Join(b.scratch, "guest")
	if err := errors.Join(os.CopyFS(b.guest, guest.Files), b.build(ctx), b.unpack(ctx)); err != nil {
		b.close()
		return nil, err
	}
	m := &b.report.Machine
	m.Python, m.Gearbox = b.python.Version, said(ctx, b.gearbox, "version")
	m.Gearbox, _, _ = strings.Cut(m.Gearbox, "\n")
	if o.commit != "" {
		m.Commit = o.commit
	}
	return b, nil
}

// repository is the folder above the current one that holds this module.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "test", "bench", "setup.sh")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run it inside the repository: it builds the binary that it measures")
		}
	}
}

func (b *bench) build(ctx context.Context) error {
	if b.options.gearbox != "" {
		b.gearbox = b.options.gearbox
		return nil
	}
	b.gearbox = filepath.Join(b.place, "gearbox")
	b.say("build gearbox")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", b.gearbox, "./cmd/gearbox")
	c.Dir = b.root
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build gearbox: %w\n%s", err, out)
	}
	return nil
}

// unpack makes the interpreter ready as it is after a first start: byte-compiled.
func (b *bench) unpack(ctx context.Context) error {
	c := cpython.Config{Dir: b.data, Progress: func(s string) { b.say("%s", s) }}
	plain, err := cpython.Ensure(ctx, c)
	if err != nil {
		return fmt.Errorf("the embedded interpreter: %w", err)
	}
	if plain.Compiled {
		b.python = plain
		return nil
	}
	defer plain.Release()
	b.python, err = cpython.Compile(ctx, c)
	return err
}

// interpreter is the embedded one, as backends need it.
func (b *bench) interpreter() sandbox.Interpreter {
	return sandbox.Interpreter{
		Digest: b.python.Digest, Version: b.python.Version, Embedded: true, Executable: b.python.Executable, Root: b.python.Root,
	}
}

func (b *bench) close() {
	b.python.Release()
	_ = os.RemoveAll(b.scratch)
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.stderr, "bench: "+format+"\n", args...)
}

// laps is a part of the laps that were asked for, at least three.
func (b *bench) laps(part int) int { return max(b.n/part, 3) }

// program reads one of the programs that are run.
func (b *bench) program(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(b.here, "programs", name))
	return string(text), err
}

// tool is what setup.sh prints for a name. The error is its reason.
func (b *bench) tool(ctx context.Context, name string) (string, error) {
	b.say("look for %s", name)
	c := exec.CommandContext(ctx, filepath.Join(b.here, "setup.sh"), name)
	var out, why bytes.Buffer
	c.Stdout, c.Stderr = &out, &why
	if err := c.Run(); err != nil {
		return "", errors.New(reason(fmt.Errorf("%w\n%s", err, why.String())))
	}
	return strings.TrimSpace(out.String()), nil
}

// places are the paths of this machine, which no document should name, by what is
// written instead.
func (b *bench) places() *strings.Replacer {
	return strings.NewReplacer(b.scratch, "SCRATCH", b.place, ".cache/bench", b.root+"/", "", os.TempDir()+"/", "TMPDIR/")
}

// finish writes what was asked for.
func (b *bench) finish() error {
	b.report.Machine.After = loadAverage()
	b.report.add(section{Title: "The machine", Columns: []string{"", ""}, Rows: b.report.Machine.rows()})
	b.report.Sections = b.report.Sections[:len(b.report.Sections)-1] // the document has it at its head
	if b.save != "" {
		if err := b.report.save(b.save); err != nil {
			return err
		}
	}
	before, err := read(filepath.Join(b.here, "testdata", "before.json"))
	if err != nil {
		return err
	}
	bars := barsSection(b.report, before, b.out == "")
	bars.print(b.report.out)
	if b.out == "" {
		return nil
	}
	return b.report.write(filepath.Join(b.root, b.out), bars, before, b.places())
}
