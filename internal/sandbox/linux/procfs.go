//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pidfd refers to one process for good, unlike its number.
type pidfd struct {
	mu     sync.Mutex
	fd     int // -1 once closed
	number int // in this process's own pid namespace, once it was asked for
}

func newPidfd(fd int) *pidfd { return &pidfd{fd: fd} }

// kill sends SIGKILL. A process that is dead already stays so.
func (p *pidfd) kill() { p.send(unix.SIGKILL) }

func (p *pidfd) send(signal unix.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd >= 0 {
		_ = unix.PidfdSendSignal(p.fd, signal, nil, 0)
	}
}

func (p *pidfd) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
		p.fd = -1
	}
}

// pid is the number in this process's own pid namespace, or an error that wraps
// [errGone] when the process was reaped, from when on the number may be another's.
func (p *pidfd) pid() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd < 0 {
		return 0, errGone
	}
	if p.number == 0 {
		var r reader
		info, err := r.read(unix.AT_FDCWD, "/proc/self/fdinfo/"+strconv.Itoa(p.fd))
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(field(info, "Pid"))
		if err != nil || n <= 0 {
			return 0, errGone
		}
		p.number = n
	}
	if err := unix.PidfdSendSignal(p.fd, 0, nil, 0); errors.Is(err, unix.ESRCH) {
		return 0, errGone
	}
	return p.number, nil
}

// open is the directory of the process, or an error that wraps [errGone].
func (p *pidfd) open(r *reader) (procDir, error) {
	pid, err := p.pid()
	if err != nil {
		return procDir{}, err
	}
	d, err := openProc(pid, r)
	if err != nil {
		return procDir{}, errors.Join(errGone, err)
	}
	// The number may have passed on to another process between the two.
	if _, err := p.pid(); err != nil {
		d.close()
		return procDir{}, err
	}
	return d, nil
}

// hasEnded reports whether the process ends within the given time. The mutex is not
// held meanwhile, so that it can be killed.
func (p *pidfd) hasEnded(within time.Duration) bool {
	p.mu.Lock()
	if p.fd < 0 {
		p.mu.Unlock()
		return true
	}
	fd, err := unix.FcntlInt(uintptr(p.fd), unix.F_DUPFD_CLOEXEC, 0)
	p.mu.Unlock()
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return waitReadable(fd, within)
}

// waitReadable waits for a process descriptor, which is readable once its process
// has ended (pidfd_open(2)).
func waitReadable(fd int, within time.Duration) bool {
	deadline := time.Now().Add(within)
	for {
		left := max(0, time.Until(deadline))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0
		}
	}
}

// reader reads files of /proc with one buffer: what it has returned holds until the next.
type reader struct{ buf []byte }

// read returns all of a file.
func (r *reader) read(dir int, name string) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	if r.buf == nil {
		r.buf = make([]byte, 8<<10) // a list of mounts is some four thousand bytes
	}
	for got := 0; ; {
		if got == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		n, err := unix.Read(fd, r.buf[got:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		case n == 0:
			return r.buf[:got], nil
		}
		got += n
	}
}

// ofProcess returns all of a file of a process whose number cannot pass on meanwhile.
func (r *reader) ofProcess(pid int, name string) ([]byte, error) {
	return r.read(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/"+name)
}

// procDir is the directory of one process. Once the process is gone it finds nothing,
// whoever has the number then.
type procDir struct {
	fd int
	*reader
}

func openProc(pid int, r *reader) (procDir, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return procDir{}, fmt.Errorf("open /proc/%d: %w", pid, err)
	}
	return procDir{fd, r}, nil
}

func (d procDir) close() { _ = unix.Close(d.fd) }

func (d procDir) file(name string) ([]byte, error) { return d.read(d.fd, name) }

// namespaceNames are the files of /proc/PID/ns that matter.
var namespaceNames = [...]string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}

// namespaceIDs tell in which namespaces a process is, in the order of the names. A
// namespace is what its file is (namespaces(7)).
type namespaceIDs [len(namespaceNames)]struct{ device, inode uint64 }

func (d procDir) namespaces() (ids namespaceIDs, err error) {
	var st unix.Stat_t
	for i, name := range namespaceNames {
		if err := unix.Fstatat(d.fd, "ns/"+name, &st, 0); err != nil {
			return ids, fmt.Errorf("look at the %s namespace: %w", name, err)
		}
		ids[i].device, ids[i].inode = st.Dev, st.Ino
	}
	return ids, nil
}

// field returns the value of a line "name: value", without surrounding space.
func field(text []byte, name string) string { return string(fieldOf(text, name)) }

// fieldOf is field without a copy.
func fieldOf(text []byte, name string) []byte {
	for len(text) > 0 {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		if len(line) > len(name) && line[len(name)] == ':' && string(line[:len(name)]) == name {
			return bytes.TrimSpace(line[len(name)+1:])
		}
	}
	return nil
}

// mountLine is what matters of a line of mountinfo (proc_pid_mountinfo(5)).
type mountLine struct{ point, options []byte }

func (m mountLine) has(option string) bool {
	for o := range bytes.SplitSeq(m.options, []byte(",")) {
		if string(o) == option {
			return true
		}
	}
	return false
}

// parseMount finds the fifth and sixth field.
func parseMount(line []byte) (mountLine, error) {
	var m mountLine
	rest := line
	for i := range 6 {
		f, after, ok := bytes.Cut(rest, []byte(" "))
		switch {
		case !ok:
			return m, fmt.Errorf("strange line in mountinfo: %q", line)
		case i == 4:
			m.point = f
		case i == 5:
			m.options = f
		}
		rest = after
	}
	return m, nil
}
