package cpython

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// walk visits everything below root in the order of paths, with what one lstat
// tells of each.
func walk(root string, visit func(rel string, st fileState) error) error {
	return filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		st, err := lstat(file)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(file[len(root)+1:]), st)
	})
}

// scan describes a tree completely, contents included.
func scan(ctx context.Context, root string) ([]entry, error) {
	var entries []entry
	err := walk(root, func(rel string, st fileState) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := entry{Path: rel, Mode: st.mode}
		var err error
		switch {
		case st.mode.IsDir():
		case st.mode.IsRegular():
			e.Size, e.Modified, e.Changed, e.Inode = st.size, st.modified, st.changed, st.inode
			e.Sum, err = hashFile(filepath.Join(root, filepath.FromSlash(rel)))
		case st.mode.Type() == fs.ModeSymlink:
			e.Link, err = os.Readlink(filepath.Join(root, filepath.FromSlash(rel)))
		default:
			err = fmt.Errorf("%s: neither file nor directory nor link", rel)
		}
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree %s: %w", root, err)
	}
	sortEntries(entries)
	return entries, nil
}

func hashFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash %s: %w", file, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// syncTree brings every file and directory of a tree to disk, so that a manifest
// never outlives what it describes when the power fails.
func syncTree(ctx context.Context, root string) error {
	err := walk(root, func(rel string, st fileState) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !st.mode.IsRegular() && !st.mode.IsDir() {
			return nil
		}
		return syncPath(filepath.Join(root, filepath.FromSlash(rel)))
	})
	if err != nil {
		return fmt.Errorf("sync the tree %s: %w", root, err)
	}
	return syncPath(root)
}
