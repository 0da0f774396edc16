//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pidfd refers to one process for good, unlike its number.
type pidfd struct {
	mu sync.Mutex
	fd int // -1 once closed
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
// [errGone] when the process was reaped.
func (p *pidfd) pid() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd < 0 {
		return 0, errGone
	}
	info, err := selfProc().read("fdinfo/"+strconv.Itoa(p.fd), make([]byte, 0, fdinfoSize))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(field(info, "Pid"))
	if err != nil || pid <= 0 {
		return 0, errGone
	}
	return pid, nil
}

// selfProc is this process's own directory, kept open.
var selfProc = sync.OnceValue(func() procDir {
	d, _ := openProc("self") // what cannot be opened cannot be read, and then says so
	return d
})

// fdinfoSize is more than the kernel says of a process descriptor.
const fdinfoSize = 512

// open is the directory of the process, or an error that wraps [errGone].
func (p *pidfd) open() (procDir, error) {
	pid, err := p.pid()
	if err != nil {
		return procDir{-1}, err
	}
	d, err := openProc(strconv.Itoa(pid))
	if err != nil {
		return d, errors.Join(errGone, err)
	}
	// The number may have passed on to another process between the two.
	if now, err := p.pid(); err != nil || now != pid {
		d.close()
		return procDir{-1}, errGone
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

// field returns the value of a line "name: value", without surrounding space.
func field(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return string(bytes.TrimSpace(rest))
		}
	}
	return ""
}

// namespaceNames are the files of /proc/PID/ns that matter.
var namespaceNames = []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}

// procDir is the directory of one process in /proc. Unlike its name it never comes to
// mean another process: once the process is gone, nothing in it can be read.
type procDir struct{ fd int }

// openProc opens the directory of a process by number, or that of "self".
func openProc(process string) (procDir, error) {
	fd, err := unix.Open("/proc/"+process, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return procDir{-1}, fmt.Errorf("open /proc/%s: %w", process, err)
	}
	return procDir{fd}, nil
}

func (d procDir) close() { _ = unix.Close(d.fd) }

// read reads a whole file of the directory into buf, which it makes larger if need be.
// It is os.ReadFile without the poller, which costs more than the reading here.
func (d procDir) read(name string, buf []byte) ([]byte, error) {
	fd, err := again(func() (int, error) { return unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, fmt.Errorf("open %s of a process: %w", name, err)
	}
	defer unix.Close(fd)
	if buf = buf[:0]; cap(buf) == 0 {
		buf = make([]byte, 0, procFileSize)
	}
	for {
		n, err := again(func() (int, error) { return unix.Read(fd, buf[len(buf):cap(buf)]) })
		if err != nil {
			return nil, fmt.Errorf("read %s of a process: %w", name, err)
		}
		if n <= 0 {
			return buf, nil
		}
		if buf = buf[:len(buf)+n]; len(buf) == cap(buf) {
			buf = slices.Grow(buf, cap(buf))
		}
	}
}

// procFileSize is more than most of the files hold.
const procFileSize = 4 << 10

func again(do func() (int, error)) (int, error) {
	for {
		n, err := do()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// namespaces reads which namespaces the process is in.
func (d procDir) namespaces() (map[string]string, error) {
	out := make(map[string]string, len(namespaceNames))
	var buf [64]byte
	for _, name := range namespaceNames {
		n, err := again(func() (int, error) { return unix.Readlinkat(d.fd, "ns/"+name, buf[:]) })
		if err != nil {
			return nil, fmt.Errorf("read the %s namespace of a process: %w", name, err)
		}
		out[name] = string(buf[:n])
	}
	return out, nil
}

// mountLine is what matters of a line of mountinfo (proc_pid_mountinfo(5)).
type mountLine struct{ point, options string }

func (m mountLine) has(option string) bool {
	for o := range strings.SplitSeq(m.options, ",") {
		if o == option {
			return true
		}
	}
	return false
}

// mounts reads what is mounted where for the process.
func (d procDir) mounts(buf []byte) ([]mountLine, error) {
	text, err := d.read("mountinfo", buf)
	if err != nil {
		return nil, err
	}
	out := make([]mountLine, 0, 64)
	for line := range strings.Lines(string(text)) {
		const point, options = 4, 5
		var m mountLine
		i := 0
		for f := range strings.FieldsSeq(line) {
			switch i {
			case point:
				m.point = f
			case options:
				m.options = f
			}
			i++
		}
		if i <= options {
			return nil, fmt.Errorf("strange line in mountinfo: %q", line)
		}
		out = append(out, m)
	}
	return out, nil
}
