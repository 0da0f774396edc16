//go:build linux && (amd64 || arm64)

package linux

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// streams are the four descriptors of a child, at one of their ends.
type streams struct {
	stdin, stdout, stderr, bridge *os.File
}

// newStreams makes both ends. Ours do not block, so that deadlines work on them;
// theirs are fresh open files of each child, so that no child can change the
// flags of another one's. The pipes belong to the sandbox's user, who may then
// open /dev/stdout by name.
func newStreams(id identity) (ours, theirs streams, err error) {
	defer func() {
		if err != nil {
			ours.close()
			theirs.close()
		}
	}()
	if theirs.stdin, ours.stdin, err = pipe(1); err != nil {
		return ours, theirs, err
	}
	if ours.stdout, theirs.stdout, err = pipe(0); err != nil {
		return ours, theirs, err
	}
	if ours.stderr, theirs.stderr, err = pipe(0); err != nil {
		return ours, theirs, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ours, theirs, err
	}
	if ours.bridge, theirs.bridge, err = ends(fds, 0); err != nil {
		return ours, theirs, err
	}
	for _, f := range []*os.File{theirs.stdin, theirs.stdout, theirs.stderr} {
		if err := f.Chown(id.uid, id.gid); err != nil {
			return ours, theirs, err
		}
	}
	return ours, theirs, nil
}

// pipe makes a pipe of which the end with index own does not block.
func pipe(own int) (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	return ends(fds, own)
}

// ends wraps both descriptors. An os.File decides when it is made whether it uses
// the poller, so that the flag must be set before.
func ends(fds [2]int, own int) (a, b *os.File, err error) {
	err = unix.SetNonblock(fds[own], true)
	a, b = os.NewFile(uintptr(fds[0]), "stream"), os.NewFile(uintptr(fds[1]), "stream")
	return a, b, err
}

func (s streams) files() []*os.File { return []*os.File{s.stdin, s.stdout, s.stderr, s.bridge} }

func (s streams) close() { closeFiles(s.files()) }

// descriptors are valid until the files are closed. Only the ends of the child may be
// asked for: Fd makes a file block.
func descriptors(files []*os.File) []int {
	out := make([]int, 0, len(files))
	for _, f := range files {
		out = append(out, int(f.Fd()))
	}
	return out
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// closingReader closes its file at the end of the stream: nobody else can know
// that it was read to the end.
type closingReader struct{ f *os.File }

func (r closingReader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	_ = r.f.Close()
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// output is a stream of a program. Once cut, it ends after what is in the pipe, though
// processes that are being killed may still hold the other end.
type output struct {
	closingReader
	isCut atomic.Bool
}

// cut may be called while the stream is being read.
func (o *output) cut() {
	o.isCut.Store(true)
	_ = o.f.SetReadDeadline(time.Unix(1, 0)) // fails only when the stream has ended already
}

func (o *output) Read(p []byte) (int, error) {
	n, err := o.closingReader.Read(p)
	if !errors.Is(err, os.ErrDeadlineExceeded) || !o.isCut.Load() {
		return n, err
	}
	if n := o.rest(p); n > 0 {
		return n, nil
	}
	_ = o.f.Close()
	return 0, io.EOF
}

// rest takes what is in the pipe. A file whose deadline has passed is not read
// otherwise.
func (o *output) rest(p []byte) int {
	var n int
	raw, err := o.f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { n, _ = unix.Read(int(fd), p) })
	}
	if err != nil {
		return 0
	}
	return n
}

// duplex is the host's end of a bridge.
type duplex struct {
	closingReader
}

func (d duplex) Write(p []byte) (int, error) { return d.f.Write(p) }
func (d duplex) Close() error {
	if err := d.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
