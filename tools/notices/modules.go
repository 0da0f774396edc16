package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is what go list says of one.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// work is one thing that somebody else wrote.
type work struct {
	name, version, licence, source string
	texts                          []notice
}

// notice is one text to pass on.
type notice struct{ title, body string }

// platforms are the builds that are released or compiled; their modules differ.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// shippedModules lists the modules of the packages that the binary links.
func shippedModules() ([]module, error) {
	byPath := map[string]module{}
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/gearbox")
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", platform, err)
		}
		if err := collect(out, byPath); err != nil {
			return nil, fmt.Errorf("go list for %s: %w", platform, err)
		}
	}
	var all []module
	for _, m := range byPath {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

func collect(out []byte, byPath map[string]module) error {
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct{ Module *module }
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if p.Module != nil && !p.Module.Main {
			byPath[p.Module.Path] = *p.Module
		}
	}
}

func moduleWorks(modules []module) ([]work, error) {
	var works []work
	for _, m := range modules {
		texts, err := legalTexts(m.Dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		licence, err := classify(texts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		works = append(works, work{
			name: m.Path, version: m.Version, licence: licence,
			source: "https://pkg.go.dev/" + m.Path + "@" + m.Version, texts: texts,
		})
	}
	return works, nil
}

// legalTexts reads the licence and notice files at the top of a module.
func legalTexts(dir string) ([]notice, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts []notice
	for _, e := range entries {
		if e.IsDir() || !isLegal(e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, notice{title: e.Name(), body: strings.ReplaceAll(string(b), "\r\n", "\n")})
	}
	if len(texts) == 0 {
		return nil, errors.New("no licence file")
	}
	return texts, nil
}

func isLegal(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	return false
}

// phrases name a licence by words that only it has, most telling first.
var phrases = []struct{ licence, words string }{
	{"MPL-2.0", "mozilla public license"},
	{"Apache-2.0", "apache license"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any"},
	{"MIT", "permission is hereby granted, free of charge"},
	{"BSD-3-Clause", "endorse or promote products"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms"},
}

// classify names the licences in texts, in the order of phrases.
func classify(texts []notice) (string, error) {
	var found []string
	for _, t := range texts {
		words := strings.ToLower(strings.Join(strings.Fields(t.body), " "))
		for _, p := range phrases {
			if !strings.Contains(words, p.words) {
				continue
			}
			if p.licence == "BSD-2-Clause" && slices.Contains(found, "BSD-3-Clause") {
				continue
			}
			if !slices.Contains(found, p.licence) {
				found = append(found, p.licence)
			}
		}
	}
	if len(found) == 0 {
		return "", errors.New("unknown licence: add its words to phrases once its terms are known to be acceptable")
	}
	return strings.Join(found, " and "), nil
}
