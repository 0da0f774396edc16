//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
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
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", p.fd))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(field(info, "Pid"))
	if err != nil || pid <= 0 {
		return 0, errGone
	}
	return pid, nil
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
func namespaceNames() []string {
	return []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}
}

// namespaceLinks reads which namespaces a process is in.
func namespaceLinks(process string) (map[string]string, error) {
	out := map[string]string{}
	for _, n := range namespaceNames() {
		l, err := os.Readlink("/proc/" + process + "/ns/" + n)
		if err != nil {
			return nil, err
		}
		out[n] = l
	}
	return out, nil
}

// mountLine is what matters of a line of mountinfo (proc_pid_mountinfo(5)).
type mountLine struct {
	point   string
	options []string
}

func (m mountLine) has(option string) bool { return slices.Contains(m.options, option) }

func readMounts(pid int) ([]mountLine, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, err
	}
	var out []mountLine
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 6 {
			return nil, fmt.Errorf("strange line in mountinfo: %q", line)
		}
		out = append(out, mountLine{point: f[4], options: strings.Split(f[5], ",")})
	}
	return out, nil
}
