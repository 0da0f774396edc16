//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// watchInterval is how often trees are measured. A tree can go over its limit by
// what it can touch meanwhile; RLIMIT_AS bounds each of its processes at once.
const watchInterval = 50 * time.Millisecond

// watch is one tree under observation.
type watch struct {
	reaper, cell int
	memory       execution.Bytes
	socketRoom   execution.Bytes // what one socket may hold
	ownNetwork   bool            // the tree's sockets are alone in their namespace
	processes    int
	// place is a directory that holds at most so many bytes and files, where no
	// file system of its own bounds them; full is called when it holds more.
	place string
	bytes execution.Bytes
	files int
	full  func()
	// over is called when the tree holds more than memory.
	over func()
	// ranOut, if set, is asked instead of measuring: the kernel bounds the memory,
	// and all there is to see is that it had to kill for it.
	ranOut func() bool

	// Guarded by the watcher's mutex.
	peak    execution.Bytes
	crowded bool
}

// watcher measures the memory of running trees where no memory cgroup does. Its
// goroutine lives while there is something to watch.
type watcher struct {
	mu      sync.Mutex
	watches map[*watch]struct{}
	running bool
	// as is the user whose processes are watched, if root is to look at them as that
	// user does: root in a container may not trace others.
	as   *identity
	quit chan struct{} // closed by stop
	idle sync.WaitGroup
}

func newWatcher() *watcher {
	return &watcher{watches: map[*watch]struct{}{}, quit: make(chan struct{})}
}

func (w *watcher) add(x *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.quit:
		return
	default:
	}
	w.watches[x] = struct{}{}
	if !w.running {
		w.running = true
		w.idle.Add(1)
		go w.run()
	}
}

// remove ends a watch and tells what it saw.
func (w *watcher) remove(x *watch) (peak execution.Bytes, crowded bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watches, x)
	return x.peak, x.crowded
}

// stop ends all watches and waits for the goroutine. It is called once.
func (w *watcher) stop() {
	w.mu.Lock()
	close(w.quit)
	w.mu.Unlock()
	w.idle.Wait()
}

func (w *watcher) run() {
	defer w.idle.Done()
	if w.as != nil {
		// The identity is the thread's, which ends with this goroutine.
		runtime.LockOSThread()
		lookAs(*w.as)
	}
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-ticker.C:
		}
		for _, x := range w.list() {
			w.look(x)
		}
		if w.finished() {
			return
		}
	}
}

// lookAs changes who this thread is for the file system, which is what access to /proc
// goes by (ptrace(2), PTRACE_MODE_FSCREDS). Where that fails, less can be seen.
func lookAs(id identity) {
	_, _ = unix.SetfsgidRetGid(id.gid)
	_, _ = unix.SetfsuidRetUid(id.uid)
}

func (w *watcher) finished() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.watches) > 0 {
		return false
	}
	w.running = false
	return true
}

func (w *watcher) list() []*watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]*watch, 0, len(w.watches))
	for x := range w.watches {
		out = append(out, x)
	}
	return out
}

// look measures one tree. The mutex is not held: the tree may be large.
func (w *watcher) look(x *watch) {
	if x.place != "" && fill(x.place, int64(x.bytes), x.files) {
		x.full()
	}
	if x.ranOut != nil {
		if x.ranOut() {
			x.over()
		}
		return
	}
	held, tasks := x.measure()
	w.mu.Lock()
	_, watched := w.watches[x]
	x.peak = max(x.peak, held)
	x.crowded = x.crowded || (x.processes > 0 && tasks >= x.processes)
	w.mu.Unlock()
	if watched && x.memory > 0 && held > x.memory {
		x.over()
	}
}

// measure sums the memory of the tree and counts its threads. Resident pages are
// cheap to read but count a page once for every process that shares it, which all
// forks do; only when their sum is over the limit is the share of each process
// read, which the kernel has to compute. What sockets may hold is added to either.
func (x *watch) measure() (execution.Bytes, int) {
	pids := tree(x.cell, x.reaper)
	var resident execution.Bytes
	tasks, tables := 0, 0
	for _, pid := range pids {
		r, t, fds := statusOf(pid)
		resident += r
		tasks += t
		tables += fds
	}
	sockets := x.mayHold(pids, tables)
	if len(pids) < 2 || x.memory <= 0 || resident+sockets <= x.memory {
		return resident + sockets, tasks
	}
	share := sockets
	for _, pid := range pids {
		of, ok := shareOf(pid)
		if !ok {
			// Not for us to see: too much is safer than nothing.
			return resident + sockets, tasks
		}
		share += of
	}
	return share, tasks
}

// tree lists the cell, its descendants, and the orphans that the reaper adopted.
func tree(cell, reaper int) []int {
	out := append([]int{cell}, childrenOf(reaper)...)
	for i := 0; i < len(out) && i < maxTree; i++ {
		out = append(out, childrenOf(out[i])...)
	}
	return out
}

// maxTree bounds one measurement should a tree have no limit on its processes.
const maxTree = 4096

// childrenOf lists the children of every thread. A process that ended has none.
func childrenOf(pid int) []int {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	var out []int
	for _, t := range threads {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for f := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

func statusOf(pid int) (resident execution.Bytes, threads, descriptors int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, 0
	}
	descriptors, _ = strconv.Atoi(field(text, "FDSize"))
	threads, _ = strconv.Atoi(field(text, "Threads"))
	return kilobytes(text, "RssAnon") + kilobytes(text, "RssShmem"), threads, descriptors
}

// shareOf is what falls to a process of the pages that it shares, nothing if it has
// ended. It takes the right to trace the process (proc_pid_smaps(5)).
func shareOf(pid int) (share execution.Bytes, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if errors.Is(err, fs.ErrPermission) {
		return 0, false
	}
	return kilobytes(text, "Pss_Anon") + kilobytes(text, "Pss_Shmem"), true
}

func kilobytes(text []byte, name string) execution.Bytes {
	value, _, _ := bytes.Cut([]byte(field(text, name)), []byte(" "))
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0
	}
	return execution.Bytes(n) * execution.KiB
}
