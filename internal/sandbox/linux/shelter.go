//go:build linux && (amd64 || arm64)

package linux

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

const (
	shelterPrefix = "gearbox-sandbox-"
	// shelterMode lets the sandbox's user pass but not look: the names inside
	// cannot be guessed.
	shelterMode = 0o711
)

// shelter is a directory of the host for one fork server without a root of its own:
// the guest, the interpreter where the sandbox's user cannot reach it otherwise, and
// one place for each child. It is locked while its server lives, so that a later one
// can tell what was left behind.
type shelter struct {
	path string
	lock *os.File
	id   identity
}

func newShelter(id identity) (*shelter, error) {
	base := os.TempDir()
	sweepShelters(base)
	fresh, err := os.MkdirTemp(base, ".gearbox-new-")
	if err != nil {
		return nil, err
	}
	s := &shelter{path: fresh, id: id}
	if err := s.claim(filepath.Join(base, shelterPrefix+rand.Text())); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// claim locks the directory before it gets the name by which others look for it.
func (s *shelter) claim(name string) error {
	lock, err := os.Open(s.path)
	if err != nil {
		return err
	}
	s.lock = lock
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", s.path, err)
	}
	if err := os.Rename(s.path, name); err != nil {
		return err
	}
	s.path = name
	return os.Chmod(name, shelterMode)
}

// sweepShelters removes what servers left behind that did not end by themselves.
func sweepShelters(base string) {
	found, _ := filepath.Glob(filepath.Join(base, shelterPrefix+"*"))
	for _, dir := range found {
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && int(st.Uid) == os.Geteuid() && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = removeTree(dir) // the next start tries again
		}
		_ = unix.Close(fd)
	}
}

// close removes everything. The processes that used it are dead.
func (s *shelter) close() error {
	err := removeTree(s.path)
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// place makes the directory of one child and returns its path.
func (s *shelter) place() (string, error) {
	name := filepath.Join(s.path, rand.Text())
	for _, dir := range []string{name, filepath.Join(name, "workspace"), filepath.Join(name, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", err
		}
		if err := os.Chown(dir, s.id.uid, s.id.gid); err != nil {
			return "", errors.Join(err, removeTree(name))
		}
	}
	return name, nil
}

// clear removes a child's directory beside the path of the answer. Close waits for it.
func (s *source) clear(place string) {
	s.disbanding.Go(func() {
		if err := removeTree(place); err != nil {
			s.backend.config.Logger.Warn("a child's directory is left behind", "error", err)
		}
	})
}

// install writes the guest of a plan and returns the folder that holds its package.
func (s *shelter) install(files []file) (string, error) {
	dir := filepath.Join(s.path, "guest")
	for _, f := range files {
		rel, ok := strings.CutPrefix(f.Path, guestRoot+"/")
		if !ok {
			continue
		}
		name := filepath.Join(dir, rel)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// link gives the interpreter the names that a plan gives it, in a folder of programs.
func (s *shelter) link(p plan, executable string) (string, error) {
	bin := filepath.Join(s.path, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return "", err
	}
	for _, l := range p.Links {
		if filepath.Join(filepath.Dir(l.Path), l.Target) != p.Executable {
			continue
		}
		if err := os.Symlink(executable, filepath.Join(bin, filepath.Base(l.Path))); err != nil {
			return "", err
		}
	}
	return bin, nil
}

// reachable returns an interpreter that the sandbox's user can get to: a copy of one
// that lies in a directory of root's.
func (s *shelter) reachable(in sandbox.Interpreter) (sandbox.Interpreter, error) {
	if !s.id.root || isReachable(in.Executable) {
		return in, nil
	}
	if !in.Embedded {
		return in, fmt.Errorf("%w: user %d cannot get to %s", errNotMounted, s.id.uid, in.Executable)
	}
	rel, err := filepath.Rel(in.Root, in.Executable)
	if err != nil || !filepath.IsLocal(rel) {
		return in, fmt.Errorf("interpreter %s is not below %s", in.Executable, in.Root)
	}
	root := filepath.Join(s.path, "python")
	if err := os.CopyFS(root, os.DirFS(in.Root)); err != nil {
		return in, fmt.Errorf("copy the interpreter: %w", err)
	}
	in.Root, in.Executable = root, filepath.Join(root, rel)
	return in, nil
}

// removeTree removes what programs made, directories without rights included.
func removeTree(root string) error {
	err := os.RemoveAll(root)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(root)
}

// fill counts what a place holds, until it is more than allowed: bytes on the disk
// and files. What a program removed and still holds open is not seen.
func fill(root string, bytes int64, files int) (over bool) {
	var heldBytes int64
	heldFiles := 0
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was removed meanwhile
		}
		heldFiles++
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				heldBytes += st.Blocks * 512
			}
		}
		if over = heldBytes > bytes || heldFiles > files; over {
			return fs.SkipAll
		}
		return nil
	})
	return over
}
