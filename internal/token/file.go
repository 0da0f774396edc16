package token

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/flock"
)

// FileName is the file of [File] below its directory.
const FileName = "tokens.json"

const (
	// formatVersion changes when an older Gearbox would misread the file.
	formatVersion = 1
	// maxFile bounds what is read, in bytes: some ten thousand tokens.
	maxFile = 8 << 20
	// lockTime is how long a change waits for another process to make its own, which
	// takes milliseconds, and lockRetry how often it looks.
	lockTime  = 10 * time.Second
	lockRetry = 5 * time.Millisecond
)

// document is the content of the file.
type document struct {
	Version int     `json:"version"`
	Tokens  []Token `json:"tokens"`
}

// File keeps tokens in a JSON file. Processes that share the directory see each
// other's changes at once: the file is replaced as a whole, and looked at, though
// not read, on each [File.Load].
type File struct {
	path string

	mu     sync.Mutex // guards what follows
	seen   fs.FileInfo
	tokens []Token
}

var _ Store = (*File)(nil)

// OpenFile is the store in a directory that is the operator's own. Nothing is made
// before the first change.
func OpenFile(dir string) *File { return &File{path: filepath.Join(dir, FileName)} }

// Load implements [Store].
func (f *File) Load() ([]Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load()
}

// load looks whether the file is still the one that was read. The mutex is held.
func (f *File) load() ([]Token, error) {
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.seen, f.tokens = nil, nil
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look at the tokens: %w", err)
	case f.seen != nil && same(f.seen, now):
		return f.tokens, nil
	}
	seen, tokens, err := read(f.path)
	if err != nil {
		return nil, err
	}
	f.seen, f.tokens = seen, tokens
	return tokens, nil
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

func read(path string) (fs.FileInfo, []Token, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the tokens: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written that closing could lose
	st, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("read the tokens: %w", err)
	}
	switch {
	case !st.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is not a regular file: move it away", path)
	case st.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows": // which has no such bits
		return nil, nil, fmt.Errorf("%s is open to other users, who may have changed it: look at it, then run chmod 600 %s", path, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read the tokens: %w", err)
	}
	tokens, err := parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w; nobody is let in until it is mended, or moved away with all the tokens in it", path, err)
	}
	return st, tokens, nil
}

// parse reads the content of a file. What it does not know it refuses: a right that
// is not understood would not be held to.
func parse(text []byte) ([]Token, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("the file is longer than %d bytes", maxFile)
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fmt.Errorf("not the JSON of tokens: %w", err)
	}
	if version.Version != formatVersion {
		return nil, fmt.Errorf("format version %d is not known here: use the Gearbox that wrote it", version.Version)
	}
	var d document
	if err := json.Unmarshal(text, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not the JSON of tokens: %w", err)
	}
	return d.Tokens, check(d.Tokens)
}

// check finds what is wrong with a list.
func check(tokens []Token) error {
	names, hashes := map[string]bool{}, map[Hash]bool{}
	for _, t := range tokens {
		if err := t.check(); err != nil {
			return err
		}
		if names[t.Name] || hashes[t.Hash] || t.Hash == (Hash{}) {
			return fmt.Errorf("the token %s: its name or its hash is there twice, or it has no hash", t.Name)
		}
		names[t.Name], hashes[t.Hash] = true, true
	}
	return nil
}

// Update implements [Store].
func (f *File) Update(change func([]Token) ([]Token, error)) (err error) {
	lock := flock.New(f.path+".lock", flock.SetPermissions(0o600))
	ctx, stop := context.WithTimeout(context.Background(), lockTime)
	defer stop()
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return fmt.Errorf("lock the tokens; a process that is stopped may hold %s: %w", lock.Path(), err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.load()
	if err != nil {
		return err
	}
	tokens, err := change(slices.Clone(old))
	if err != nil {
		return err
	}
	if err := check(tokens); err != nil {
		return err
	}
	if err := f.write(tokens); err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	return nil
}

// write replaces the file. The mutex and the lock are held.
func (f *File) write(tokens []Token) error {
	text, err := json.Marshal(document{formatVersion, tokens}, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), ".tokens-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // there only when something failed
	_, err = tmp.Write(append(text, '\n'))
	if err = errors.Join(err, f.later(tmp), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), f.path); err != nil {
		return err
	}
	f.seen = nil // so that the next look reads
	return syncDir(filepath.Dir(f.path))
}

// later gives the new file a time after that of the old one. Clocks of file systems
// tick every few milliseconds and inodes are used again, so that two changes in a
// row could look like none.
func (f *File) later(tmp *os.File) error {
	if f.seen == nil {
		return nil
	}
	st, err := tmp.Stat()
	if err != nil || st.ModTime().After(f.seen.ModTime()) {
		return err
	}
	at := f.seen.ModTime().Add(time.Millisecond)
	return os.Chtimes(tmp.Name(), at, at)
}

// syncDir makes a rename outlive a power failure.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
