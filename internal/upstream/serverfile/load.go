package serverfile

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// The bounds of what may be configured. Each server can be a process.
const (
	maxServers = 256
	maxKeys    = 1000 // of one server, and variables or headers of it
)

// Options are what the world outside the files says.
type Options struct {
	// Lookup is the environment; nil for none.
	Lookup func(name string) (string, bool)
	// EnvFiles are files of further variables, NAME=value a line. The environment is
	// stronger than they are, and a later one than an earlier one.
	EnvFiles []string
	// Home is the home directory and Workspace the working directory, both absolute.
	Home, Workspace string
	// Self is the path of this program, which no server may be.
	Self string
}

// Config is what the files say.
type Config struct {
	// Servers are in the order of the files, each name once.
	Servers  []upstream.Spec
	Warnings []Warning
}

// Load reads the servers of some files, with everything expanded. The error joins one
// *[FileError] for each file that could not be read; the Config holds the servers of the
// others. A server with anything wrong about it is in there too, with its Fault.
func Load(files []string, o Options) (Config, error) {
	entries, warnings, err := Read(files, o)
	x := expander{options: o, env: map[string]string{}}
	more, envErr := x.load(o.EnvFiles)
	c := Config{Warnings: append(warnings, more...)}
	for _, e := range entries {
		spec, w := x.spec(e)
		c.Servers, c.Warnings = append(c.Servers, spec), append(c.Warnings, w...)
	}
	return c, errors.Join(err, envErr)
}

// Read reads the servers of some files as they are written, each name once. Errors are
// those of [Load].
func Read(files []string, o Options) ([]Entry, []Warning, error) {
	var entries []Entry
	var warnings []Warning
	var errs []error
	for _, path := range unique(files) {
		r, err := readOne(path, o)
		errs = append(errs, err)
		warnings = append(warnings, r.warnings...)
		for _, e := range r.entries {
			entries = add(entries, e)
		}
	}
	if len(entries) > maxServers {
		errs = append(errs, fmt.Errorf("%d servers are configured: at most %d can be", len(entries), maxServers))
		entries = entries[:maxServers]
	}
	shareNoAlias(entries)
	return entries, warnings, errors.Join(errs...)
}

// unique leaves out files that are named twice.
func unique(files []string) []string {
	var out []string
	for _, f := range files {
		if abs, err := filepath.Abs(f); err == nil {
			f = abs
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// add adds an entry unless it is there. Two that differ under one name are one that cannot
// be used: nobody could say which of them runs.
func add(entries []Entry, e Entry) []Entry {
	i := slices.IndexFunc(entries, func(known Entry) bool { return known.Spec.Name == e.Spec.Name })
	if i < 0 {
		return append(entries, e)
	}
	if known := entries[i]; !known.Same(e) && !(known.Self && e.Self) {
		entries[i].fault(fmt.Sprintf("it is configured in two ways, at %s and at %s: keep one, or give one another name", known.Place(), e.Place()))
	}
	return entries
}

// Same reports whether two entries say the same, wherever they stand, and can be used.
func (e Entry) Same(other Entry) bool {
	return e.Spec.Fault == "" && other.Spec.Fault == "" && bytes.Equal(canonical(e), canonical(other))
}

func canonical(e Entry) []byte {
	b, err := marshal(writtenOf(e))
	if err != nil {
		panic(err) // text, numbers and truth can be written
	}
	return b
}

// shareNoAlias finds servers that programs would import by the same name.
func shareNoAlias(entries []Entry) {
	by := map[string]int{}
	for i := range entries {
		alias := entries[i].Spec.Alias
		if alias == "" {
			continue
		}
		first, taken := by[alias]
		if !taken {
			by[alias] = i
			continue
		}
		what := fmt.Sprintf("the alias %s is that of %q (%s) and of %q (%s): give one another", alias,
			entries[first].Spec.Name, entries[first].Place(), entries[i].Spec.Name, entries[i].Place())
		entries[i].fault(what)
		entries[first].fault(what)
	}
}

// fileReader reads one file.
type fileReader struct {
	path     string
	project  string // the one that the file belongs to; empty for none
	options  Options
	entries  []Entry
	warnings []Warning
}

func readOne(path string, o Options) (*fileReader, error) {
	r := &fileReader{path: path, project: projectOf(path, o.Home), options: o}
	tree, err := readTree(path)
	if err != nil {
		return r, err
	}
	return r, r.read(tree)
}

// read reads the servers of a tree.
func (r *fileReader) read(tree node) error {
	found, err := tables(r.path, tree, r.options.Workspace)
	var at *FileError
	if errors.As(err, &at) {
		at.File = r.path
		return err
	}
	if len(found) == 0 {
		r.warn(Warning{File: r.path, Message: noServers(tree)})
	}
	inputs, count := inputsOf(tree), 0
	for _, t := range found {
		if count += len(t.servers); count > maxServers {
			return &FileError{File: r.path, Message: fmt.Sprintf("%d servers are configured: at most %d can be", count, maxServers)}
		}
		for _, f := range t.servers {
			e := r.server(t, f, inputs)
			e.Spec.Disabled = e.Spec.Disabled || t.off(f.key)
			r.entries = add(r.entries, e)
		}
	}
	return nil
}

func (r *fileReader) server(t table, f field, inputs map[string]string) Entry {
	e := Entry{File: r.path, Line: f.line, inputs: inputs}
	e.Spec.Name = f.key
	e.Spec.Origin = fmt.Sprintf("%s: %s.%s", e.Place(), t.key, f.key)
	s := serverReader{file: r, dialect: t.dialect, entry: &e, said: map[string]field{}}
	s.read(f)
	return e
}

func (r *fileReader) warn(w Warning) { r.warnings = append(r.warnings, w) }

// base is what relative paths of the file count from.
func (r *fileReader) base() string {
	if r.project != "" {
		return r.project
	}
	return filepath.Dir(r.path)
}
