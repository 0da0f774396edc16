package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Member is a living instance of a data directory, as another process sees it.
type Member struct {
	ID  ID
	dir string
}

// Live lists the living instances of a data directory, this process among them, and
// sweeps the dead ones away. A directory that is not there has none.
func Live(dataDir string) ([]Member, error) {
	dir := filepath.Join(dataDir, folder)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the instances: %w", err)
	}
	var live []Member
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), socketSuffix); ok {
			err = removeStray(dir, ID(name))
		} else if name, ok := strings.CutSuffix(e.Name(), leaseSuffix); ok && e.Type().IsRegular() {
			m := Member{ID: ID(name), dir: dir}
			var alive bool
			if alive, err = m.alive(); alive {
				live = append(live, m)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return live, nil
}

// Find is one instance of a data directory, if it lives.
func Find(dataDir string, id ID) (Member, bool, error) {
	m := Member{ID: id, dir: filepath.Join(dataDir, folder)}
	if id == "" || filepath.Base(string(id)) != string(id) {
		return m, false, fmt.Errorf("%q is no name of an instance", id)
	}
	alive, err := m.alive()
	return m, alive, err
}

// alive asks the lock, which only a living process can hold, and removes what a dead
// one left.
func (m Member) alive() (bool, error) {
	l := flock.New(filepath.Join(m.dir, m.ID.lease()), flock.SetFlag(os.O_RDWR))
	ok, err := l.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // its owner has just removed it
	}
	if err != nil {
		return false, fmt.Errorf("look at the instance lease %s: %w", l.Path(), err)
	}
	if !ok {
		return true, nil
	}
	// The lock is ours, so no living process owns the files. Removing them while it
	// is held leaves no moment for a second owner.
	if err := errors.Join(bury(m.dir, m.ID), l.Unlock()); err != nil {
		return false, fmt.Errorf("remove what a dead instance left: %w", err)
	}
	return false, nil
}

// removeStray removes a socket whose lease somebody deleted by hand. A lease is made
// before its socket and removed after it, so that no living instance looks like this
// on its own.
func removeStray(dir string, id ID) error {
	if _, err := os.Lstat(filepath.Join(dir, id.lease())); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return remove(filepath.Join(dir, id.socket()))
}
