package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the import path of the repository's own module.
const module = "github.com/gearbox-mcp/gearbox"

// root is the repository's top directory as seen from this package.
const root = "../.."

// skippedFolders hold nothing that the project wrote: generated, downloaded or
// another module's.
var skippedFolders = []string{".git", ".cache", "node_modules", "testdata", "bin", "__pycache__", ".mypy_cache", ".ruff_cache"}

// file is one Go file of the repository.
type file struct {
	path    string // from the root, with slashes
	test    bool
	syntax  *ast.File
	imports []string
	lines   int
}

// pkg is one folder of Go files. Files of every platform belong to it, so that
// a rule holds for the builds that this machine does not make.
type pkg struct {
	folder string // from the root, "." for the root itself
	files  []file
}

// importPath is what other packages write to import p.
func (p pkg) importPath() string { return path.Join(module, p.folder) }

// room is the first folder below internal, or "cmd", or "" for anything else.
func (p pkg) room() string {
	parts := strings.Split(p.folder, "/")
	switch {
	case parts[0] == "cmd":
		return "cmd"
	case parts[0] == "internal" && len(parts) > 1:
		return parts[1]
	default:
		return ""
	}
}

// imports lists what the package's own files import, tests left out, sorted.
func (p pkg) imports() []string {
	var all []string
	for _, f := range p.files {
		if !f.test {
			all = append(all, f.imports...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// walk calls visit for each file of the project below the root.
func walk(visit func(name string) error) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(skippedFolders, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel))
	})
}

// files lists the project's files with one of the endings.
func files(t *testing.T, endings ...string) []string {
	t.Helper()
	var names []string
	err := walk(func(name string) error {
		if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(name, e) }) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("walk the repository: %v", err)
	}
	return names
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return string(b)
}

// packages gives every Go package of the main module, sorted by folder.
func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parsed reads the tree once for all tests, which only look at it.
var parsed = sync.OnceValues(func() ([]pkg, error) {
	byFolder := map[string]*pkg{}
	fset := token.NewFileSet()
	err := walk(func(name string) error {
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "tools/") {
			return nil
		}
		f, err := parse(fset, name)
		if err != nil {
			return err
		}
		folder := path.Dir(name)
		if byFolder[folder] == nil {
			byFolder[folder] = &pkg{folder: folder}
		}
		byFolder[folder].files = append(byFolder[folder].files, f)
		return nil
	})
	var all []pkg
	for _, p := range byFolder {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b pkg) int { return strings.Compare(a.folder, b.folder) })
	return all, err
})

func parse(fset *token.FileSet, name string) (file, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return file{}, err
	}
	syntax, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	f := file{path: name, test: strings.HasSuffix(name, "_test.go"), syntax: syntax, lines: bytes.Count(text, []byte{'\n'})}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// calls lists the qualified names ("time.Now") that f uses from the package
// with the given import path.
func calls(f file, imported string) []string {
	name := localName(f, imported)
	if name == "" {
		return nil
	}
	var found []string
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
			found = append(found, path.Base(imported)+"."+sel.Sel.Name)
		}
		return true
	})
	return found
}

// localName is the name under which f knows an imported package, "" if it does not.
func localName(f file, imported string) string {
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(imported)
	}
	return ""
}
