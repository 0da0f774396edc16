package snippet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const (
	// Folder is where the files are, in the data directory.
	Folder = "snippets"
	suffix = ".snippet"
	// MaxSnippets bounds how many there are: each is a tool that every session reads.
	MaxSnippets = 100

	lockFile = ".lock"
	// lockTime is how long a change waits for another process to make its own, which takes
	// milliseconds, and lockRetry how often it looks.
	lockTime  = 10 * time.Second
	lockRetry = 5 * time.Millisecond
)

// Pins are what was saved, by the records. They are safe for concurrent use.
type Pins interface {
	// SnippetPins are the pins of all snippets by their names.
	SnippetPins(context.Context) (map[string]execution.Digest, error)
}

// Book is the snippets of a data directory. It reads the files anew each time and is safe
// for concurrent use, in any number of processes.
type Book struct {
	folder string
	pins   Pins
}

// Open is the book of a data directory. Nothing is made before one is saved.
func Open(dataDir string, pins Pins) Book { return Book{filepath.Join(dataDir, Folder), pins} }

// Entry is one snippet of a list. One that is refused has an Err and nothing but its name.
type Entry struct {
	Snippet Snippet
	Err     error
}

// Load is the snippet of a name. The error wraps [ErrUnknown] when there is none, and is a
// *[RefusedError] when its file is not what was saved.
func (b Book) Load(ctx context.Context, name string) (Snippet, error) {
	pins, err := b.pins.SnippetPins(ctx)
	if err != nil {
		return Snippet{}, err
	}
	return b.load(name, pins)
}

// List is every snippet in the order of the names, be it of a file or of the records.
func (b Book) List(ctx context.Context) ([]Entry, error) {
	pins, err := b.pins.SnippetPins(ctx)
	if err != nil {
		return nil, err
	}
	names, err := b.Names()
	if err != nil {
		return nil, err
	}
	names = append(names, slices.Collect(maps.Keys(pins))...)
	slices.Sort(names)
	var all []Entry
	for _, name := range slices.Compact(names) {
		s, err := b.load(name, pins)
		s.Name = name
		all = append(all, Entry{s, err})
	}
	return all, nil
}

// Names are the snippets that have a file, whole or not, in order.
func (b Book) Names() ([]string, error) {
	entries, err := os.ReadDir(b.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the snippets: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && CheckName(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// File is where the snippet of a name is.
func (b Book) File(name string) string { return filepath.Join(b.folder, name+suffix) }

func (b Book) load(name string, pins map[string]execution.Digest) (Snippet, error) {
	if err := CheckName(name); err != nil {
		return Snippet{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	refused := func(format string, args ...any) (Snippet, error) {
		return Snippet{}, &RefusedError{name, b.File(name), fmt.Sprintf(format, args...)}
	}
	pin, saved := pins[name]
	data, err := readFile(b.File(name))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !saved:
		return Snippet{}, fmt.Errorf("%w %s", ErrUnknown, name)
	case errors.Is(err, fs.ErrNotExist):
		return refused("the file is gone")
	case err != nil:
		return refused("%v", err)
	case !saved:
		return refused("the records know of no snippet that was saved by this name")
	}
	s, err := Parse(data)
	switch {
	case err != nil:
		return refused("%v", err)
	case s.Name != name:
		return refused("it holds the snippet %s", s.Name)
	case s.Pin() != pin:
		return refused("it has the pin %s and the records say that %s was saved", s.Pin(), pin)
	}
	return s, nil
}

// readFile reads a regular file that nobody else can have written.
func readFile(path string) ([]byte, error) {
	st, err := os.Stat(path) // before it is opened, which a fifo would hold up
	if err != nil {
		return nil, err
	}
	switch {
	case !st.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case st.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows": // which has no such bits
		return nil, fmt.Errorf("it is open to other users, who may have read or changed it (mode %v)", st.Mode().Perm())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written that closing could lose
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Save writes a snippet, if record succeeds: all that can fail beforehand has been done when
// it is called, and it has to put the pin into the records. What may fail after it is one
// rename, and then the snippet is refused until it is saved again. Without replace, one that
// is there stays, and the error wraps [ErrExists].
func (b Book) Save(ctx context.Context, s Snippet, replace bool, record func(context.Context) error) error {
	text, err := s.Format()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of snippets: %w", err)
	}
	return b.locked(ctx, func() error {
		if err := b.room(ctx, s.Name, replace); err != nil {
			return err
		}
		next, err := b.prepare(s.Name, text)
		if err != nil {
			return fmt.Errorf("write the snippet: %w", err)
		}
		defer func() { _ = os.Remove(next) }() // there only when something failed
		if err := record(ctx); err != nil {
			return err
		}
		if err := errors.Join(os.Rename(next, b.File(s.Name)), syncFolder(b.folder)); err != nil {
			return fmt.Errorf("the pin is recorded and the file could not be put in place: save the snippet again: %w", err)
		}
		return nil
	})
}

// room says whether a snippet may be saved by this name.
func (b Book) room(ctx context.Context, name string, replace bool) error {
	all, err := b.List(ctx)
	if err != nil {
		return err
	}
	there := slices.ContainsFunc(all, func(e Entry) bool { return e.Snippet.Name == name })
	switch {
	case there && !replace:
		return fmt.Errorf("%w: %s", ErrExists, name)
	case !there && len(all) >= MaxSnippets:
		return fmt.Errorf("there are %d snippets, and every session of a model reads them all: remove one first", len(all))
	}
	return nil
}

// Remove takes a snippet away, whole or not, and then has record take its pin out of the
// records. The file goes first: what is taken away must not wait for room on a disk. The
// error wraps [ErrUnknown] when there is neither.
func (b Book) Remove(ctx context.Context, name string, record func(context.Context) error) error {
	all, err := b.List(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(e Entry) bool { return e.Snippet.Name == name }) {
		return fmt.Errorf("%w %.60q", ErrUnknown, name)
	}
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of snippets: %w", err)
	}
	return b.locked(ctx, func() error {
		if err := os.Remove(b.File(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the snippet: %w", err)
		}
		if err := record(ctx); err != nil {
			return fmt.Errorf("the file of %s is gone and that is not recorded; remove it again: %w", name, err)
		}
		return nil
	})
}

// locked keeps other processes from changing the folder meanwhile.
func (b Book) locked(ctx context.Context, change func() error) (err error) {
	lock := flock.New(filepath.Join(b.folder, lockFile), flock.SetPermissions(0o600))
	waiting, stop := context.WithTimeout(ctx, lockTime)
	defer stop()
	if _, err := lock.TryLockContext(waiting, lockRetry); err != nil {
		return fmt.Errorf("lock the snippets; a process that is stopped may hold %s: %w", lock.Path(), err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return change()
}

// prepare writes the text beside its place, onto the disk.
func (b Book) prepare(name string, text []byte) (string, error) {
	tmp, err := os.CreateTemp(b.folder, "."+name+"-*") // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return "", errors.Join(err, os.Remove(tmp.Name()))
	}
	return tmp.Name(), nil
}

// syncFolder makes a rename outlive a power failure.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be synced there
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
