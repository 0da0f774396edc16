package cpython

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// manifestFormat changes when a manifest of an older build cannot be read any
// more; such a tree is then unpacked anew.
const manifestFormat = 1

// manifest seals one tree.
type manifest struct {
	Format   int     `json:"format"`
	Tree     string  `json:"tree"`
	Version  string  `json:"version"`
	Compiled bool    `json:"compiled"`
	Content  string  `json:"content"`
	Entries  []entry `json:"entries"`
}

// entry is one file, directory or link of a tree, with what the quick check
// compares.
type entry struct {
	Path     string      `json:"path"` // relative, with slashes
	Mode     fs.FileMode `json:"mode"`
	Size     int64       `json:"size,omitempty"`
	Sum      string      `json:"sha256,omitempty"`
	Link     string      `json:"link,omitempty"`
	Modified int64       `json:"mtime,omitempty"`
	Changed  int64       `json:"ctime,omitempty"`
	Inode    uint64      `json:"inode,omitempty"`
}

// isByteCode tells what the compiler adds to a tree.
func (e entry) isByteCode() bool {
	return path.Base(e.Path) == cacheDir || strings.Contains(e.Path, "/"+cacheDir+"/")
}

const cacheDir = "__pycache__"

// digestOf covers path, mode and content of entries, which are sorted by path.
func digestOf(entries []entry, byteCode bool) execution.Digest {
	var parts [][]byte
	for _, e := range entries {
		if byteCode || !e.isByteCode() {
			parts = append(parts, []byte(e.Path), []byte(e.Mode.String()), []byte(e.Sum+e.Link))
		}
	}
	return execution.DigestOf(parts...)
}

// readManifest returns [ErrNotUnpacked] when there is none that this build can
// read, and a [TamperedError] when there is one that contradicts itself.
func readManifest(file string, p pin) (manifest, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return manifest{}, ErrNotUnpacked
	}
	if err != nil {
		return manifest{}, fmt.Errorf("read the manifest: %w", err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return manifest{}, &TamperedError{Path: file, What: fmt.Sprintf("cannot be read: %v", err), Hint: repairHint}
	}
	if m.Format != manifestFormat || m.Content != p.Content {
		return manifest{}, ErrNotUnpacked
	}
	if !strings.HasPrefix(m.Tree, treePrefix) || m.Tree != filepath.Base(m.Tree) {
		return manifest{}, &TamperedError{Path: file, What: fmt.Sprintf("names a tree %q", m.Tree), Hint: repairHint}
	}
	if digestOf(m.Entries, false).String() != p.Content {
		return manifest{}, &TamperedError{Path: file, What: "lists other sources than the embedded ones", Hint: repairHint}
	}
	return m, nil
}

// write puts m in place by rename, after it and the tree that it names are on disk.
func (m manifest) write(file string) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(m); err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	next := file + ".next"
	if err := writeSynced(next, b.Bytes()); err != nil {
		_ = os.Remove(next)
		return fmt.Errorf("write the manifest: %w", err)
	}
	if err := os.Rename(next, file); err != nil {
		return fmt.Errorf("put the manifest in place: %w", err)
	}
	return syncPath(filepath.Dir(file))
}

func writeSynced(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
