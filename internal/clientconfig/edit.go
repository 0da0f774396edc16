package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Entry is how a client starts Gearbox.
type Entry struct {
	// Command is an absolute path: clients that are started from a desktop do
	// not have the PATH of a shell.
	Command string
	Args    []string
}

func (e Entry) equal(other Entry) bool {
	return e.Command == other.Command && slices.Equal(e.Args, other.Args)
}

// Target is one client's file.
type Target struct {
	Client Client
	Path   string
	// Within is the project directory. When it is set, symbolic links may not
	// lead out of it: a project comes from somebody else, and its links must not
	// choose which file of this user is edited.
	Within string
}

// Change is what became of a file.
type Change string

// The changes.
const (
	Unchanged Change = "unchanged" // it said so already
	Created   Change = "created"
	Added     Change = "added"
	Updated   Change = "updated"
	Removed   Change = "removed"
	Restored  Change = "restored" // byte for byte what it was before the installation
	Deleted   Change = "deleted"  // the file held nothing but what the installation wrote
)

// Outcome tells what was done.
type Outcome struct {
	// Path is the file that was edited, with symbolic links resolved.
	Path   string
	Change Change
	// Backup is the file that holds the previous content, if one was needed.
	Backup string
}

// format edits one kind of file. The data it is given has no byte order mark.
// All of its methods leave data as it is.
type format interface {
	// tree is the whole content; an error names the line.
	tree(data []byte) (map[string]any, error)
	// servers is the key of the table of servers.
	servers() string
	// add sets command and arguments of our entry and keeps all else.
	add(data []byte, e Entry) ([]byte, error)
	// remove takes our entry out. It is called only if the entry is there.
	remove(data []byte) ([]byte, error)
}

// Install writes the entry into the file. The time names the backup.
func Install(t Target, e Entry, now time.Time) (Outcome, error) {
	f, err := openFile(t)
	if err != nil {
		return Outcome{}, err
	}
	found, present, err := current(t.Client.format(), f.data)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w: nothing was written", f.path, err)
	}
	out := Outcome{Path: f.path, Change: Unchanged}
	if present && found.equal(e) {
		return out, nil
	}
	after, err := edited(t.Client.format(), f.data, e)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w: nothing was written", f.path, err)
	}
	switch {
	case !f.exists:
		out.Change = Created
	case present:
		out.Change = Updated
	default:
		out.Change = Added
	}
	if f.exists {
		if out.Backup, err = f.backup(now); err != nil {
			return Outcome{}, err
		}
	}
	return out, f.replace(after)
}

// Uninstall takes the entry out of the file. Where the file is exactly a backup
// plus our entry, it becomes that backup again.
func Uninstall(t Target, now time.Time) (Outcome, error) {
	f, err := openFile(t)
	if err != nil {
		return Outcome{}, err
	}
	entry, present, err := current(t.Client.format(), f.data)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w: nothing was written", f.path, err)
	}
	out := Outcome{Path: f.path, Change: Unchanged}
	if !present {
		return out, nil
	}
	if restored, err := f.restore(t.Client.format(), entry); restored != Unchanged || err != nil {
		out.Change = restored
		return out, err
	}
	after, err := without(t.Client.format(), f.data)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w: nothing was written", f.path, err)
	}
	if out.Backup, err = f.backup(now); err != nil {
		return Outcome{}, err
	}
	out.Change = Removed
	return out, f.replace(after)
}

// restore brings back what stood before the installation if the file shows that
// nothing else was changed since.
func (f *file) restore(form format, entry Entry) (Change, error) {
	backups, err := f.backups()
	if err != nil {
		return Unchanged, err
	}
	for _, b := range backups {
		if _, present, err := current(form, b.data); err != nil || present {
			continue
		}
		if again, err := edited(form, b.data, entry); err != nil || !bytes.Equal(again, f.data) {
			continue
		}
		if err := f.replace(b.data); err != nil {
			return Unchanged, err
		}
		return Restored, b.discard()
	}
	if again, err := edited(form, nil, entry); err == nil && len(backups) == 0 && bytes.Equal(again, f.data) {
		return Deleted, f.remove()
	}
	return Unchanged, nil
}

// byteOrderMark is what some Windows editors put in front of UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

func splitMark(data []byte) (mark, rest []byte) {
	if rest, ok := bytes.CutPrefix(data, byteOrderMark); ok {
		return byteOrderMark, rest
	}
	return nil, data
}

// current reads our entry.
func current(f format, data []byte) (Entry, bool, error) {
	_, data = splitMark(data)
	tree, err := f.tree(data)
	if err != nil {
		return Entry{}, false, err
	}
	entry, present, err := entryOf(f, tree)
	if err != nil || !present {
		return Entry{}, false, err
	}
	fields, _ := entry.(map[string]any)
	e := Entry{}
	e.Command, _ = fields["command"].(string)
	args, _ := fields["args"].([]any)
	for _, a := range args {
		s, ok := a.(string)
		if !ok {
			return Entry{}, true, nil
		}
		e.Args = append(e.Args, s)
	}
	return e, true, nil
}

func entryOf(f format, tree map[string]any) (entry any, present bool, err error) {
	servers, ok := tree[f.servers()]
	if !ok {
		return nil, false, nil
	}
	table, ok := servers.(map[string]any)
	if !ok {
		return nil, false, fmt.Errorf("%q is not a table of servers", f.servers())
	}
	entry, present = table[ServerName]
	return entry, present, nil
}

// edited is data with the entry in it, checked.
func edited(f format, data []byte, e Entry) ([]byte, error) {
	mark, body := splitMark(data)
	after, err := f.add(body, e)
	if err != nil {
		return nil, err
	}
	if found, present, err := current(f, after); err != nil || !present || !found.equal(e) {
		return nil, errors.Join(errors.New("the edited file would not hold the entry"), err)
	}
	if err := sameElsewhere(f, body, after); err != nil {
		return nil, err
	}
	return slices.Concat(mark, after), nil
}

// without is data with no entry in it, checked.
func without(f format, data []byte) ([]byte, error) {
	mark, body := splitMark(data)
	after, err := f.remove(body)
	if err != nil {
		return nil, err
	}
	if _, present, err := current(f, after); err != nil || present {
		return nil, errors.Join(errors.New("the edited file would still hold the entry"), err)
	}
	if err := sameElsewhere(f, body, after); err != nil {
		return nil, err
	}
	return slices.Concat(mark, after), nil
}

// sameElsewhere checks that two texts differ in nothing but our entry. It is the
// net under both editors: whatever they got wrong is never written.
func sameElsewhere(f format, before, after []byte) error {
	a, err := f.tree(before)
	if err != nil {
		return err
	}
	b, err := f.tree(after)
	if err != nil {
		return fmt.Errorf("the edited file would not be valid: %w", err)
	}
	if !reflect.DeepEqual(rest(f, a), rest(f, b)) {
		return errors.New("the edit would change more than the entry: edit the file by hand")
	}
	return nil
}

// rest is the tree without our entry and without a table of servers that is
// then empty.
func rest(f format, tree map[string]any) map[string]any {
	out := maps.Clone(tree)
	table, ok := out[f.servers()].(map[string]any)
	if !ok {
		return out
	}
	table = maps.Clone(table)
	delete(table, ServerName)
	out[f.servers()] = table
	if len(table) == 0 {
		delete(out, f.servers())
	}
	return out
}
