package gear

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
)

// maxDepth is how many gears may stand on each other.
const maxDepth = 8

// Registry finds gears by name: the built-in ones, and NAME.yaml in one
// directory. What a file extends may also lie in the file's own directory. It reads the files anew each time, so that a change counts from the
// next call on. It is safe for concurrent use.
type Registry struct {
	dir     string
	home    string
	builtin func() []Gear
}

// OpenRegistry makes a Registry over a directory, which need not exist.
func OpenRegistry(dir string) *Registry {
	// Without a home directory a pattern that begins with ~ is an error of its file.
	home, _ := os.UserHomeDir()
	return &Registry{dir: dir, home: home, builtin: sync.OnceValue(Builtin)}
}

// Entry is one gear of a list. A file that cannot be read has an Err and nothing
// but its name and origin in Gear.
type Entry struct {
	Gear Gear
	Err  error
}

// Get finds a gear by its name. The error wraps [ErrUnknown] when there is none.
func (r *Registry) Get(name string) (Gear, error) { return r.get(name, nil, r.dir) }

// get resolves one gear; below are the names that lead to it through extends. It
// looks in the directories in their order. No file can be named like a built-in
// gear, so those may come first.
func (r *Registry) get(name string, below []string, dirs ...string) (Gear, error) {
	for _, g := range r.builtin() {
		if g.Name == name {
			return g.clone(), nil
		}
	}
	if !validName(name) {
		return Gear{}, unknown(name, dirs)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name+".yaml")
		data, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Gear{}, err
		}
		return r.resolve(path, data, below)
	}
	return Gear{}, unknown(name, dirs)
}

// unknown names the nearest gear. It only looks at the names of files: reading
// them here could lead to another unknown gear, and so on without an end.
func unknown(name string, dirs []string) error {
	names := builtinNames()
	for _, dir := range dirs {
		paths, _ := paths(dir) // a directory that cannot be read has no names to offer
		for _, p := range paths {
			if n := nameOf(p); validName(n) && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return fmt.Errorf("%w %q: %s", ErrUnknown, name, strictyaml.DidYouMean(name, names))
}

// List is every gear, the built-in ones first, then those of the directory by name.
func (r *Registry) List() []Entry {
	var out []Entry
	for _, g := range r.builtin() {
		out = append(out, Entry{Gear: g.clone()})
	}
	paths, err := paths(r.dir)
	if err != nil {
		return append(out, Entry{Gear: Gear{Name: "?", Origin: r.dir}, Err: fmt.Errorf("list gears: %w", err)})
	}
	for _, p := range paths {
		g, err := r.LoadFile(p)
		if err != nil {
			g = Gear{Name: nameOf(p), Origin: p}
		}
		out = append(out, Entry{Gear: g, Err: err})
	}
	return out
}

// paths are the gear files of a directory, sorted.
func paths(dir string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".yaml") {
			out = append(out, filepath.Join(dir, f.Name()))
		}
	}
	return out, err
}

// LoadFile reads the gear in one file. Its name is the file's.
func (r *Registry) LoadFile(path string) (Gear, error) {
	data, err := readFile(path)
	if err != nil {
		return Gear{}, err
	}
	return r.resolve(path, data, nil)
}

// resolve parses a file and lays it over what it extends.
func (r *Registry) resolve(path string, data []byte, below []string) (Gear, error) {
	rd := newReader(path, r.home)
	name := nameOf(path)
	switch {
	case slices.Contains(builtinNames(), name):
		rd.Fail(nil, "rename the file; it may say extends: "+name, "%s is the name of a built-in gear", name)
	case !validName(name):
		rd.Fail(nil, "name the file with small letters, digits, _ and -", "%q cannot be the name of a gear", name)
	}
	d := rd.read(data)
	if err := rd.Err(); err != nil {
		return Gear{}, err
	}
	base := blank(name, path)
	if d.extends != "" {
		var err error
		if base, err = r.base(rd, d, append(below, name)); err != nil {
			return Gear{}, err
		}
	}
	g := d.over(base)
	g.Name, g.Origin = name, path
	rd.check(d, g)
	if err := rd.Err(); err != nil {
		return Gear{}, err
	}
	return g, nil
}

// base finds the gear that a document extends. chain are the names up to and
// with the document's own.
func (r *Registry) base(rd *reader, d document, chain []string) (Gear, error) {
	switch {
	case slices.Contains(chain, d.extends):
		rd.Fail(d.extendsNode, "let one of them extend something else", "gears extend each other in a circle: %s",
			strings.Join(append(chain, d.extends), " → "))
		return Gear{}, rd.Err()
	case len(chain) >= maxDepth:
		rd.Fail(d.extendsNode, "extend a gear nearer to the built-in ones", "more than %d gears extend each other", maxDepth)
		return Gear{}, rd.Err()
	}
	dirs := []string{filepath.Dir(rd.File())}
	if dirs[0] != filepath.Clean(r.dir) {
		dirs = append(dirs, r.dir)
	}
	g, err := r.get(d.extends, slices.Clone(chain), dirs...)
	if errors.Is(err, ErrUnknown) {
		rd.Fail(d.extendsNode, "", "extends: %v", err)
		return Gear{}, rd.Err()
	}
	if err != nil {
		return Gear{}, err
	}
	g = g.clone()
	g.Extends = append([]string{g.Name}, g.Extends...)
	return g, nil
}

// readFile reads a regular file of bounded size.
func readFile(path string) ([]byte, error) {
	data, err := strictyaml.ReadFile(path)
	var irregular *FileError
	if err != nil && !errors.As(err, &irregular) {
		err = fmt.Errorf("read policy: %w", err)
	}
	return data, err
}
