//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// pidfd refers to one process for good, unlike its number.
type pidfd struct {
	mu sync.Mutex
	fd int // -1 once closed
}

func newPidfd(fd int) *pidfd { return &pidfd{fd: fd} }

// kill sends SIGKILL. A process that is dead already stays so.
func (p *pidfd) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd >= 0 {
		_ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0)
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
	point    string
	readOnly bool
}

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
		ro := f[5] == "ro" || strings.HasPrefix(f[5], "ro,")
		out = append(out, mountLine{point: f[4], readOnly: ro})
	}
	return out, nil
}

// isFull reports whether a file system has met its limit of blocks or of files.
func isFull(place *os.File) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(place.Fd()), &st); err != nil {
		return false
	}
	return st.Bavail == 0 || st.Ffree == 0
}
