package pressure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

const (
	// part and floor are what has to be left of all memory: a twentieth, or a quarter of
	// a GiB where that is less. Closer to the end the kernel begins to kill.
	part  = 20
	floor = 256 << 20
	// stalled is the percentage of the last ten seconds in which no process got on
	// because all waited for memory.
	stalled = 10.0
)

// Memory returns a function that reports whether memory is short: that of the machine,
// by what is available and by how long processes waited for it, or that of a control
// group which this process is in. It reads a few files of the kernel, some 0.1 ms, and
// believes that there is enough where one cannot be read. It is safe for concurrent use.
func Memory() func() bool {
	m := &machine{root: "/"}
	return m.short
}

// machine is where the kernel's files are.
type machine struct {
	root   string
	find   sync.Once
	groups []group
}

func (m *machine) short() bool {
	m.find.Do(func() { m.groups = m.ownGroups() })
	info := m.read("proc/meminfo")
	all := value(info, "MemTotal:") << 10
	if scarce(value(info, "MemAvailable:")<<10, all) || waits(m.read("proc/pressure/memory")) {
		return true
	}
	for _, g := range m.groups {
		if m.full(g, all) {
			return true
		}
	}
	return false
}

// scarce reports whether too little is left of all. Nothing is known of nothing.
func scarce(left, all int64) bool { return all > 0 && left < min(all/part, floor) }

// waits reads the line "full avg10=0.00 …" (Documentation/accounting/psi.rst).
func waits(text string) bool {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "full avg10=")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, " ")
		percent, err := strconv.ParseFloat(number, 64)
		return err == nil && percent >= stalled
	}
	return false
}

// group is a control group that may have a limit, and how its files are called.
type group struct {
	dir                    string
	limit, usage, inactive string
}

// full reports whether little is left below the group's limit. Pages of files that
// nobody uses are as good as free. The limit of no limit is no number, or more than all.
func (m *machine) full(g group, all int64) bool {
	limit := number(m.read(g.dir, g.limit))
	if limit <= 0 || limit > all {
		return false
	}
	left := limit - number(m.read(g.dir, g.usage))
	return scarce(left, limit) && scarce(left+value(m.read(g.dir, "memory.stat"), g.inactive), limit)
}

// ownGroups are the groups of memory that this process is in, with those above them:
// /proc/self/cgroup names them (cgroups(7)), as seen from where their tree is mounted.
func (m *machine) ownGroups() []group {
	var groups []group
	for line := range strings.Lines(m.read("proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		g := group{limit: "memory.max", usage: "memory.current", inactive: "inactive_file"}
		kind := "cgroup2"
		if parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			kind = "cgroup"
			g = group{limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", inactive: "total_inactive_file"}
		}
		root, mount, ok := m.mounted(kind)
		if !ok {
			continue
		}
		rest, ok := strings.CutPrefix(parts[2], strings.TrimSuffix(root, "/"))
		if !ok {
			rest = "" // it lies outside of what is mounted: only that is left to look at
		}
		for dir := filepath.Join("/", rest); ; dir = filepath.Dir(dir) {
			g.dir = filepath.Join(mount, dir)
			groups = append(groups, g)
			if dir == "/" {
				break
			}
		}
	}
	return groups
}

// mounted finds where the tree of version 2, or that of memory of version 1, is mounted,
// and which part of it (proc_pid_mountinfo(5)).
func (m *machine) mounted(kind string) (root, mount string, ok bool) {
	for line := range strings.Lines(m.read("proc/self/mountinfo")) {
		front, back, _ := strings.Cut(strings.TrimSpace(line), " - ")
		f, b := strings.Fields(front), strings.Fields(back)
		if len(f) < 5 || len(b) < 3 || b[0] != kind {
			continue
		}
		if kind == "cgroup2" || strings.Contains(","+b[2]+",", ",memory,") {
			return f[3], f[4], true
		}
	}
	return "", "", false
}

func (m *machine) read(name ...string) string {
	b, err := os.ReadFile(filepath.Join(append([]string{m.root}, name...)...))
	if err != nil {
		return ""
	}
	return string(b)
}

// value finds the number behind a name at the start of a line, 0 when there is none.
func value(text, name string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
			return number(f[1])
		}
	}
	return 0
}

// number is 0 for what is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
