package credential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/flock"

	"github.com/gearbox-mcp/gearbox/internal/approval"
)

// FileName is the file below the data directory.
const FileName = "approvals.key"

// Kind is what is asked for.
type Kind string

// The kinds.
const (
	None       Kind = "none"
	Passphrase Kind = "passphrase"
	TOTP       Kind = "totp"
)

const (
	formatVersion = 1
	// maxFile bounds what is read, in bytes.
	maxFile = 8 << 10
	// lockTime is how long a check waits for others, which take a part of a second each,
	// and lockRetry how often it looks.
	lockTime  = 20 * time.Second
	lockRetry = 10 * time.Millisecond
)

// document is the content of the file.
type document struct {
	Version int  `json:"version"`
	Kind    Kind `json:"kind"`
	// Passphrase is its hash in the PHC string format.
	Passphrase string `json:"passphrase,omitzero"`
	// Secret is that of the codes, and Used the last step of time whose code counted.
	Secret []byte `json:"totp_secret,omitzero"`
	Used   int64  `json:"totp_used,omitzero"`
	// Failures are the tries in a row that were wrong, and Last is when the last one was.
	Failures int       `json:"failures,omitzero"`
	Last     time.Time `json:"last_failure,omitzero"`
}

// File is the credential of a data directory. It is safe for concurrent use, by any number
// of processes.
type File struct {
	path string
	want Kind
	now  func() time.Time
}

var _ approval.Guard = (*File)(nil)

// Open is the credential in a directory that is the operator's own. want is what the
// settings ask for; empty is [None]. Nothing is read or made before it is needed.
func Open(dir string, want Kind, now func() time.Time) *File {
	if want == "" {
		want = None
	}
	return &File{filepath.Join(dir, FileName), want, now}
}

// Kind is what whoever decides is asked for. The error is a *[approval.RefusedError] when
// the settings ask for what is not there.
func (f *File) Kind() (Kind, error) {
	d, err := f.read()
	if err != nil {
		return "", err
	}
	return f.kind(d)
}

func (f *File) kind(d *document) (Kind, error) {
	switch {
	case d == nil && f.want == None:
		return None, nil
	case d == nil:
		return "", unproven("approvals.credential is %s, and none is set: nobody can decide before gearbox approvals credential set %[1]s", f.want)
	case f.want != None && f.want != d.Kind:
		return "", unproven("approvals.credential is %s, and %s holds a %s: nobody can decide before they agree; gearbox approvals credential set %[1]s makes one", f.want, f.path, d.Kind)
	}
	return d.Kind, nil
}

func unproven(format string, args ...any) error {
	return &approval.RefusedError{Cause: approval.Unproven, Message: fmt.Sprintf(format, args...)}
}

// Check implements [approval.Guard].
func (f *File) Check(ctx context.Context, credential string) error {
	d, err := f.read()
	if err != nil {
		return err
	}
	kind, err := f.kind(d)
	switch {
	case err != nil || kind == None:
		return err
	case credential == "":
		return unproven("a %s is needed with each decision", d.Kind.words())
	}
	return f.locked(ctx, func() error { return f.judge(credential) })
}

// words name the kind in a sentence.
func (k Kind) words() string {
	if k == TOTP {
		return "code of the authenticator (TOTP)"
	}
	return string(k)
}

// judge checks a credential against the file as it is now. The lock is held.
func (f *File) judge(credential string) error {
	d, err := f.read()
	if err != nil {
		return err
	}
	if kind, err := f.kind(d); err != nil || kind == None {
		return err // it changed meanwhile
	}
	now := f.now()
	if left := d.wait(now); left > 0 {
		return &approval.RefusedError{
			Cause: approval.Throttled, RetryAfter: left,
			Message: fmt.Sprintf("there were %d wrong credentials in a row: the next one is looked at in %v", d.Failures, left.Round(time.Second)),
		}
	}
	d.Failures, d.Last = d.Failures+1, now.UTC()
	if err := f.write(d); err != nil {
		return err
	}
	right, err := d.verify(credential, now)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if !right {
		return unproven("this is not the %s", d.Kind.words())
	}
	d.Failures, d.Last = 0, time.Time{}
	return f.write(d)
}

// The patience with wrong credentials: some are typing errors. After those it doubles.
const (
	freeFailures = 5
	firstWait    = time.Minute
	longestWait  = time.Hour
)

// wait is how long no credential is looked at. A right one is none the sooner, or it would
// be told from a wrong one all the same.
func (d *document) wait(now time.Time) time.Duration {
	if d.Failures < freeFailures {
		return 0
	}
	wait := longestWait
	if n := d.Failures - freeFailures; n < 6 { // beyond which it would be longer
		wait = min(firstWait<<n, longestWait)
	}
	return min(wait-now.Sub(d.Last), wait) // no longer, also when the clock was set back
}

func (d *document) verify(credential string, now time.Time) (bool, error) {
	switch d.Kind {
	case Passphrase:
		return matches(d.Passphrase, credential)
	case TOTP:
		step, ok := stepOf(d.Secret, credential, now, d.Used)
		if ok {
			d.Used = step
		}
		return ok, nil
	case None:
	}
	return false, fmt.Errorf("the kind %q of credential is not known here", d.Kind)
}

// Key is a new credential.
type Key struct{ d document }

// Proof says that the credential of a file was shown.
type Proof struct{ of *document }

// Prove finds out whether current is the credential that is there, whatever the settings ask
// for. Where there is none nothing has to be shown.
func (f *File) Prove(ctx context.Context, current string) (p Proof, err error) {
	err = f.locked(ctx, func() error {
		p.of, err = f.read()
		if err != nil || p.of == nil {
			return err
		}
		return (&File{f.path, None, f.now}).judge(current)
	})
	return p, err
}

// errOther says that a proof is one of another credential.
var errOther = errors.New("the credential was changed meanwhile: nothing was set")

// Replace puts a new credential in place of the one that was shown.
func (f *File) Replace(ctx context.Context, k Key, p Proof) error {
	return f.locked(ctx, func() error {
		d, err := f.read()
		switch {
		case err != nil:
			return err
		case (d == nil) != (p.of == nil), d != nil && (d.Passphrase != p.of.Passphrase || !bytes.Equal(d.Secret, p.of.Secret)):
			return errOther
		}
		next := k.d
		next.Version = formatVersion
		return f.write(&next)
	})
}

// Set puts a new credential in place of the one that is there, which has to be shown.
func (f *File) Set(ctx context.Context, k Key, current string) error {
	p, err := f.Prove(ctx, current)
	if err != nil {
		return err
	}
	return f.Replace(ctx, k, p)
}

// locked does something that no other process does meanwhile.
func (f *File) locked(ctx context.Context, do func() error) (err error) {
	lock := flock.New(f.path+".lock", flock.SetPermissions(0o600))
	ctx, stop := context.WithTimeout(ctx, lockTime)
	defer stop()
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return fmt.Errorf("lock the credential; a process that is stopped may hold %s: %w", lock.Path(), err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return do()
}

// read is nil without an error when there is no file.
func (f *File) read() (*document, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // most data directories have none
	}
	if err != nil {
		return nil, fmt.Errorf("the credential cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written that closing could lose
	st, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("the credential cannot be read: %w", err)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: move it away", f.path)
	case st.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows": // which has no such bits
		return nil, fmt.Errorf("%s is open to other users, who may know or have changed it: set another credential, after chmod 600 %s", f.path, f.path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("the credential cannot be read: %w", err)
	}
	d, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; nobody can decide until it is mended, or moved away and a credential set anew", f.path, err)
	}
	return d, nil
}

// misread says where the JSON is wrong, in words for an operator.
func misread(err error) string {
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("it is cut off or wrong behind byte %d", wrong.ByteOffset)
	}
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok && wrong.JSONPointer != "" {
		return fmt.Sprintf("%.100q does not belong there, or has another value than it should", strings.TrimPrefix(string(wrong.JSONPointer), "/"))
	}
	return "it is no object"
}

// parse refuses what it does not know: it might ask for more.
func parse(text []byte) (*document, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("the file is longer than %d bytes", maxFile)
	}
	var d document
	if err := json.Unmarshal(text, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not the JSON that a credential has: %s", misread(err))
	}
	switch {
	case d.Version != formatVersion:
		return nil, fmt.Errorf("format version %d is not known here: use the Gearbox that wrote it", d.Version)
	case d.Kind == Passphrase && d.Secret == nil:
		_, err := parseHash(d.Passphrase)
		return &d, err
	case d.Kind == TOTP && d.Passphrase == "" && len(d.Secret) >= leastSecret:
		return &d, nil
	}
	return nil, fmt.Errorf("the kind %.20q of credential is not known here, or lacks what belongs to it", d.Kind)
}

// write replaces the file. The lock is held.
func (f *File) write(d *document) error {
	text, err := json.Marshal(d, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), ".approvals-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("the credential cannot be written: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // there only when something failed
	_, err = tmp.Write(append(text, '\n'))
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err == nil && runtime.GOOS != "windows" { // a directory cannot be synced there
		err = syncDir(filepath.Dir(f.path))
	}
	if err != nil {
		return fmt.Errorf("the credential cannot be written: %w", err)
	}
	return nil
}

// syncDir makes a rename outlive a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
