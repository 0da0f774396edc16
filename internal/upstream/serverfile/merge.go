package serverfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Merged says what became of each entry, by name, in the order in which they came.
type Merged struct {
	Added, Replaced, Unchanged []string
	// Kept are those whose name has another server in the file, which stays.
	Kept []string
}

// Merge puts entries into the text of one of our own files at path, which may be empty, and
// keeps everything else in it, comments too. An entry whose name another server has is put
// in its place only with replace; one that has a fault is left out. Where there is nothing
// to do the text stays as it is. The error is a *[FileError] for a file that cannot be read or edited.
func Merge(path string, old []byte, entries []Entry, replace bool) ([]byte, Merged, error) {
	var m Merged
	f := &fileReader{path: path}
	old = bytes.TrimPrefix(old, byteOrderMark)
	tree, err := decode(format{maxJSON, parseJSON}, old)
	if err == nil {
		err = f.read(tree)
	}
	if err != nil {
		return nil, m, named(err, path)
	}
	doc, err := document(old)
	if err != nil {
		return nil, m, named(err, path)
	}
	under := rootOf(tree)
	if _, ok := tree.get(under); !ok {
		err = patch(&doc, "/"+under, struct{}{})
	}
	for _, e := range entries {
		if err == nil && e.Spec.Fault == "" && m.note(f.entries, e, replace) {
			err = patch(&doc, "/"+under+"/"+pointer(e.Spec.Name), writtenOf(e))
		}
	}
	if err != nil {
		return nil, m, named(err, path)
	}
	if len(m.Added)+len(m.Replaced) == 0 {
		return old, m, nil
	}
	text, err := laidOut(doc)
	return text, m, err
}

// laidOut is a document with its white space in order: as Export does it, unless it has
// comments.
func laidOut(doc hujson.Value) ([]byte, error) {
	if !doc.IsStandard() {
		doc.Format()
		return doc.Pack(), nil
	}
	var b bytes.Buffer
	err := json.Indent(&b, bytes.TrimSpace(doc.Pack()), "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}

// note decides on one entry and tells whether it is to be written.
func (m *Merged) note(there []Entry, e Entry, replace bool) bool {
	name := e.Spec.Name
	i := slices.IndexFunc(there, func(known Entry) bool { return known.Spec.Name == name })
	switch {
	case i < 0:
		m.Added = append(m.Added, name)
		return true
	case there[i].Same(e):
		m.Unchanged = append(m.Unchanged, name)
	case replace:
		m.Replaced = append(m.Replaced, name)
		return true
	default:
		m.Kept = append(m.Kept, name)
	}
	return false
}

// rootOf is the key below which servers are to stand in a file: the one that has some.
func rootOf(tree node) string {
	for _, key := range rootKeys() {
		if n, ok := tree.get(key); ok && n.shape == object && key != "mcp" {
			return key
		}
	}
	return root
}

func document(old []byte) (hujson.Value, error) {
	if strings.TrimSpace(string(old)) == "" {
		return hujson.Value{Value: &hujson.Object{}}, nil
	}
	v, err := hujson.Parse(slices.Clone(old)) // the value aliases its input
	if err != nil {
		return v, jsonError(err)
	}
	return v, nil
}

// pointer is a key in a JSON pointer (RFC 6901).
func pointer(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// patch adds a value, or puts it in the place of the one that is there.
func patch(doc *hujson.Value, path string, value any) error {
	text, err := marshal([]map[string]any{{"op": "add", "path": path, "value": value}})
	if err != nil {
		return err
	}
	if err := doc.Patch(text); err != nil {
		return fmt.Errorf("put %s into it: %w", path, err)
	}
	return nil
}

// named says which file an error is about.
func named(err error, path string) error {
	if at, ok := err.(*FileError); ok { //nolint:errorlint // made just before, and not wrapped
		at.File = path
		return at
	}
	return &FileError{File: path, Message: "cannot be edited", Err: err}
}
