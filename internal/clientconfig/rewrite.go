package clientconfig

import (
	"bytes"
	"fmt"
	"time"
)

// Rewrite changes a file of Gearbox's own that holds secrets of other servers, as
// [Install] changes those of clients: the previous content is kept beside it, and the new
// one appears by rename, for its owner alone to read. edit makes the new content of the
// old one, which is empty where there is no file; where they are equal nothing is written.
// The time names the backup.
func Rewrite(path string, now time.Time, edit func(old []byte) ([]byte, error)) (Outcome, error) {
	f, err := openFile(Target{Path: path})
	if err != nil {
		return Outcome{}, err
	}
	f.private = true
	after, err := edit(bytes.Clone(f.data))
	if err != nil {
		return Outcome{}, fmt.Errorf("%w: nothing was written", err)
	}
	out := Outcome{Path: f.path, Change: Unchanged}
	if bytes.Equal(after, f.data) {
		return out, nil
	}
	out.Change = Created
	if f.exists {
		out.Change = Updated
		if out.Backup, err = f.backup(now); err != nil {
			return Outcome{}, err
		}
	}
	return out, f.replace(after)
}
