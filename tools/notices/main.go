// Command notices writes THIRD_PARTY_NOTICES.md: every Go module that any build
// of the binary contains and every part of the embedded CPython, each with its
// licence and the text that the licence asks to pass on.
//
//	go run -C tools ./notices          write the file
//	go run -C tools ./notices -check   fail if the file is behind
//
// It reads licence files from the module cache, so it needs no network once the
// modules are there. A licence that it does not know is an error: a person has
// to look at it before it ships.
package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// output is the file, seen from the tools folder in which go run -C starts.
const output = "../THIRD_PARTY_NOTICES.md"

// cpythonParts are the libraries inside the embedded CPython. Its distribution
// leaves their licence texts out, so they are kept here.
//
//go:embed cpython/*.txt
var cpythonParts embed.FS

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	modules, err := shippedModules()
	if err != nil {
		return err
	}
	works, err := moduleWorks(modules)
	if err != nil {
		return err
	}
	parts, err := partWorks()
	if err != nil {
		return err
	}
	python, err := cpythonWork(modules)
	if err != nil {
		return err
	}
	parts = append([]work{python}, parts...)
	text := render(works, parts)
	if !check {
		return os.WriteFile(output, []byte(text), 0o644)
	}
	have, err := os.ReadFile(output)
	if err != nil {
		return err
	}
	if string(have) != text {
		return errors.New("THIRD_PARTY_NOTICES.md is behind the modules in use: run go run -C tools ./notices")
	}
	return nil
}

// embedder is the module that carries CPython.
const embedder = "github.com/kluctl/go-embed-python"

// cpythonWork is CPython itself, whose licence text its distribution does carry.
func cpythonWork(modules []module) (work, error) {
	i := slices.IndexFunc(modules, func(m module) bool { return m.Path == embedder })
	if i < 0 {
		return work{}, fmt.Errorf("the binary does not link %s", embedder)
	}
	found, err := filepath.Glob(filepath.Join(modules[i].Dir, "python/internal/data/linux-amd64/lib/python3.*/LICENSE.txt"))
	if err != nil {
		return work{}, err
	}
	if len(found) != 1 {
		return work{}, fmt.Errorf("licence of CPython in %s: found %v", modules[i].Dir, found)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		return work{}, err
	}
	return work{
		name: "CPython", licence: "PSF-2.0", source: "https://www.python.org/",
		texts: []notice{{title: "LICENSE.txt", body: string(b)}},
	}, nil
}

// partWorks reads the embedded texts: lines of "key: value", an empty line, the text.
func partWorks() ([]work, error) {
	entries, err := cpythonParts.ReadDir("cpython")
	if err != nil {
		return nil, err
	}
	var parts []work
	for _, e := range entries {
		b, err := cpythonParts.ReadFile(path.Join("cpython", e.Name()))
		if err != nil {
			return nil, err
		}
		head, text, ok := strings.Cut(string(b), "\n\n")
		if !ok {
			return nil, fmt.Errorf("%s: no empty line after the head", e.Name())
		}
		fields := map[string]string{}
		for _, line := range strings.Split(head, "\n") {
			key, value, _ := strings.Cut(line, ": ")
			fields[key] = value
		}
		parts = append(parts, work{
			name: fields["name"], licence: fields["licence"], source: fields["source"],
			texts: []notice{{title: "licence", body: text}},
		})
	}
	return parts, nil
}
