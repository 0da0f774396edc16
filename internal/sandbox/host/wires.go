//go:build unix

package host

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
)

// wires are the descriptors between the host and one child, both ends. Ours are
// in Go's poller, so that closing one wakes its readers.
type wires struct {
	stdin, stdout, stderr wire
	control               wire // its end tells the keeper to end the tree
	report                wire // the keeper's last word
	in, out               wire // the bridge, seen from the host; one wire when it is a socket pair
	bridge                io.ReadWriteCloser
}

// wire is one pipe, or a socket pair.
type wire struct{ ours, theirs *os.File }

func newWires(pipes bool) (*wires, error) {
	w := &wires{}
	err := w.open(pipes)
	if err != nil {
		w.closeTheirs()
		w.closeOurs()
		return nil, err
	}
	return w, nil
}

func (w *wires) open(pipes bool) error {
	var errs [7]error
	w.stdin, errs[0] = toChild()
	w.stdout, errs[1] = fromChild()
	w.stderr, errs[2] = fromChild()
	w.control, errs[3] = toChild()
	w.report, errs[6] = fromChild()
	if pipes {
		w.in, errs[4] = fromChild()
		w.out, errs[5] = toChild()
		w.bridge = pair{w.in.ours, w.out.ours}
	} else {
		w.in, errs[4] = socketPair()
		w.bridge = w.in.ours
	}
	return errors.Join(errs[:]...)
}

// extra is what the child inherits beyond 0, 1 and 2, from number 3 on.
func (w *wires) extra() []*os.File {
	files := []*os.File{w.control.theirs, w.report.theirs, w.in.theirs}
	if w.out.theirs != nil {
		files = append(files, w.out.theirs)
	}
	return files
}

// arguments name the child's numbers for extra.
func (w *wires) arguments() []string {
	bridgeOut := 5
	bridgeIn := bridgeOut + len(w.extra()) - 3 // the last one
	return []string{
		"--control-fd", "3", "--report-fd", "4",
		"--write-fd", strconv.Itoa(bridgeOut), "--read-fd", strconv.Itoa(bridgeIn),
	}
}

func (w *wires) each(do func(wire)) {
	for _, x := range []wire{w.stdin, w.stdout, w.stderr, w.control, w.report, w.in, w.out} {
		do(x)
	}
}

// closeTheirs and closeOurs ignore errors: a nil or closed file is as good.
func (w *wires) closeTheirs() { w.each(func(x wire) { _ = x.theirs.Close() }) }
func (w *wires) closeOurs()   { w.each(func(x wire) { _ = x.ours.Close() }) }

func toChild() (wire, error) {
	r, w, err := os.Pipe()
	return wire{ours: w, theirs: r}, err
}

func fromChild() (wire, error) {
	r, w, err := os.Pipe()
	return wire{ours: r, theirs: w}, err
}

// socketPair takes the lock that keeps a concurrent fork from inheriting the
// descriptors: not every Unix can make them close-on-exec at once.
func socketPair() (wire, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return wire{}, os.NewSyscallError("socketpair", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	// A descriptor that does not block is what os.NewFile puts into the poller.
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		return wire{}, errors.Join(os.NewSyscallError("setnonblock", err), syscall.Close(fds[0]), syscall.Close(fds[1]))
	}
	return wire{ours: os.NewFile(uintptr(fds[0]), "bridge"), theirs: os.NewFile(uintptr(fds[1]), "bridge")}, nil
}

// pair is one stream made of two pipes.
type pair struct {
	r io.ReadCloser
	w io.WriteCloser
}

func (p pair) Read(b []byte) (int, error)  { return p.r.Read(b) }
func (p pair) Write(b []byte) (int, error) { return p.w.Write(b) }
func (p pair) Close() error                { return errors.Join(p.r.Close(), p.w.Close()) }
