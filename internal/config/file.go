package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
)

// ReadFile reads one file. The error is every mistake in it, each a
// *[strictyaml.FileError], or wraps that of the system.
func (t Table) ReadFile(path string) (Layer, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	data, err := strictyaml.ReadFile(path)
	var irregular *strictyaml.FileError
	switch {
	case errors.As(err, &irregular):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	if err := private(path); err != nil {
		return nil, err
	}
	return t.Parse(path, data)
}

// private refuses a file that everybody may write: whoever does decides what code may do.
func private(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the configuration file: %w", err)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o002 != 0 { // which has no such bits
		return &strictyaml.FileError{File: path, Message: fmt.Sprintf("everybody may write it (mode %04o)", st.Mode().Perm()), Hint: "chmod o-w " + path}
	}
	return nil
}

// Parse reads the text of a file. Relative paths in it count from the file's directory.
func (t Table) Parse(path string, data []byte) (Layer, error) {
	p := &fileReader{Reader: strictyaml.New(path), table: t, path: path, dir: filepath.Dir(path), layer: Layer{}}
	p.Unknown = p.unknown
	p.section(p.Root(data), t.sections())
	return p.layer, p.Err()
}

type fileReader struct {
	*strictyaml.Reader

	table     Table
	path, dir string
	layer     Layer
}

func (p *fileReader) section(entries []*ast.MappingValueNode, s *section) {
	readers := map[string]func(ast.Node){}
	for name, setting := range s.settings {
		readers[name] = func(n ast.Node) { p.setting(n, setting) }
	}
	for name, below := range s.sections {
		readers[name] = func(n ast.Node) {
			switch n.(type) {
			case *ast.StringNode, *ast.LiteralNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.SequenceNode:
				p.Fail(n, "write its keys below it", "%s: %s where keys are expected", name, strictyaml.KindOf(n))
				return
			}
			p.section(p.Mapping(n), below)
		}
	}
	p.Fields(entries, readers)
}

// unknown is the hint for a key that is not known where it stands.
func (p *fileReader) unknown(name string, here []string) string {
	hint := strictyaml.DidYouMean(name, here)
	if strings.HasPrefix(hint, "did") {
		return hint
	}
	word := strings.ReplaceAll(name, "_", "-")
	for _, s := range p.table {
		last := s.Key[strings.LastIndexByte(s.Key, '.')+1:]
		switch {
		case s.Flag == word && s.Key == "":
			return "it is told by --" + s.Flag + " or " + s.Variable() + ", never in the file"
		case name == s.Key, name == last, s.Flag == word:
			return "did you mean " + strings.ReplaceAll(s.Key, ".", ": {") + strings.Repeat(" …}", strings.Count(s.Key, ".")) + "?"
		}
	}
	return hint
}

func (p *fileReader) setting(n ast.Node, s Setting) {
	e := Entry{From: p.at(n)}
	if !s.Value.list {
		if i, ok := p.item(n, s); ok {
			e.Items = []Item{i}
			p.layer[s.Flag] = e
		}
		return
	}
	switch n.(type) {
	case *ast.SequenceNode, *ast.NullNode:
	case *ast.MappingNode, *ast.MappingValueNode:
		if s.Value.inline {
			e.Items = []Item{{p.path, e.From}}
			p.layer[s.Flag] = e
			return
		}
		p.Fail(n, "write [value, …]", "%s: a mapping where a list is expected", s.Key)
		return
	default:
		p.Fail(n, "write [value, …]", "%s: %s where a list is expected", s.Key, strictyaml.KindOf(n))
		return
	}
	for _, one := range p.Sequence(n) {
		if i, ok := p.item(one, s); ok {
			e.Items = append(e.Items, i)
		}
	}
	p.layer[s.Flag] = e
}

func (p *fileReader) at(n ast.Node) Origin {
	o := Origin{Source: SourceFile, Name: p.path}
	if t := n.GetToken(); t != nil && t.Position != nil {
		o.Line, o.Column = t.Position.Line, t.Position.Column
	}
	return o
}

// item reads one value.
func (p *fileReader) item(n ast.Node, s Setting) (Item, bool) {
	text, ok := s.Value.form.text(n)
	if !ok {
		p.Fail(n, mend(n, s.Value.form), "%s: %s where %s is expected", s.Key, strictyaml.KindOf(n), s.Value.form)
		return Item{}, false
	}
	text, err := s.Value.accept(s.Value.placed(p.dir, text))
	if err != nil {
		p.Fail(n, "", "%s %v", s.Key, err)
		return Item{}, false
	}
	return Item{text, p.at(n)}, true
}

// text is what a node holds, if it is of the form.
func (f form) text(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, f == formText || f == formSize || f == formTime
	case *ast.LiteralNode:
		return strings.TrimRight(n.Value.Value, "\n"), f == formText
	case *ast.IntegerNode:
		return n.GetToken().Value, f == formNumber || f == formSize
	case *ast.BoolNode:
		return n.GetToken().Value, f == formTruth
	}
	return "", false
}

func mend(n ast.Node, f form) string {
	switch n.(type) {
	case *ast.NullNode:
		return "give it a value, or leave the key out"
	case *ast.StringNode:
		if t := n.GetToken().Type; t == token.SingleQuoteType || t == token.DoubleQuoteType {
			return "write it without quotes"
		}
		return ""
	case *ast.SequenceNode, *ast.MappingNode, *ast.MappingValueNode:
		return "write one value"
	}
	switch f {
	case formText:
		return "write it in quotes"
	case formTime:
		return "write a unit after it"
	case formNumber, formTruth, formSize:
	}
	return ""
}

// locate is the file to read and whether it has to be there.
func locate(dir func(string) (string, error), layers ...Layer) (path string, named bool, err error) {
	if e, ok := strongest(FlagFile, layers); ok {
		return e.Items[0].Text, true, nil
	}
	given := ""
	if e, ok := strongest(FlagDataDir, layers); ok {
		given = e.Items[0].Text
	}
	data, err := dir(given)
	if err != nil {
		return "", false, err
	}
	return filepath.Join(data, FileName), false, nil
}

// findFile reads the file that holds. Without a name one that is not there says nothing.
func (t Table) findFile(path string, named bool) (Layer, bool, error) {
	l, err := t.ReadFile(path)
	if !named && errors.Is(err, fs.ErrNotExist) {
		return Layer{}, false, nil
	}
	return l, err == nil, err
}
