package pressure

import (
	"os"
	"path/filepath"
	"testing"
)

// enough is a machine of 16 GiB with half of it left, in no control group.
func enough() map[string]string {
	return map[string]string{
		"proc/meminfo":         "MemTotal:       16777216 kB\nMemFree:         1000 kB\nMemAvailable:    8388608 kB\n",
		"proc/pressure/memory": "some avg10=40.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=9.99 avg60=0.00 avg300=0.00 total=1\n",
		"proc/self/cgroup":     "0::/user.slice/app.scope\n",
		"proc/self/mountinfo":  "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
	}
}

const (
	scope   = "sys/fs/cgroup/user.slice/app.scope/"
	slice   = "sys/fs/cgroup/user.slice/"
	oneGiB  = "1073741824\n"
	nearGiB = "1070000000\n"
)

func TestMemoryIsShortWhenOneOfItsMeasuresSaysSo(t *testing.T) {
	v1 := map[string]string{
		"proc/self/cgroup":                           "5:cpu:/x\n4:hugetlb,memory:/docker/abc\n0::/\n",
		"proc/self/mountinfo":                        "40 23 0:33 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 23 0:34 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes": oneGiB,
	}
	with := func(base map[string]string, name, text string) map[string]string {
		out := map[string]string{name: text}
		for k, v := range base {
			if _, there := out[k]; !there {
				out[k] = v
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"enough":                {nil, false},
		"nothing can be read":   {map[string]string{"proc/meminfo": "", "proc/pressure/memory": "", "proc/self/cgroup": "", "proc/self/mountinfo": ""}, false},
		"little is available":   {map[string]string{"proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 262143 kB\n"}, true},
		"a small machine":       {map[string]string{"proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 100000 kB\n"}, false},
		"a small machine, full": {map[string]string{"proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 50000 kB\n"}, true},
		"everything waits":      {map[string]string{"proc/pressure/memory": "some avg10=90.00\nfull avg10=10.00 avg60=0.00 avg300=0.00 total=1\n"}, true},
		"the own group is full": {map[string]string{scope + "memory.max": oneGiB, scope + "memory.current": nearGiB}, true},
		"full of idle files":    {map[string]string{scope + "memory.max": oneGiB, scope + "memory.current": nearGiB, scope + "memory.stat": "anon 1\ninactive_file 500000000\n"}, false},
		"the own group has no limit, the one above is full": {
			map[string]string{scope + "memory.max": "max\n", scope + "memory.current": nearGiB, slice + "memory.max": oneGiB, slice + "memory.current": nearGiB}, true,
		},
		"the own group has room": {map[string]string{scope + "memory.max": oneGiB, scope + "memory.current": "1000\n"}, false},
		"version 1, full":        {with(v1, "sys/fs/cgroup/memory/memory.usage_in_bytes", nearGiB), true},
		"version 1, room":        {with(v1, "sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n"), false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{root: t.TempDir()}
			files := enough()
			for k, v := range c.files {
				files[k] = v
			}
			for name, text := range files {
				path := filepath.Join(m.root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := m.short(); got != c.want {
				t.Errorf("short: %v", got)
			}
		})
	}
}

func TestThisMachinesFilesAreUnderstood(t *testing.T) {
	m := &machine{root: "/"}
	m.short()
	info := m.read("proc/meminfo")
	if value(info, "MemTotal:") <= 0 || value(info, "MemAvailable:") <= 0 {
		t.Errorf("/proc/meminfo: %s", info)
	}
	t.Logf("groups %+v", m.groups)
}

func BenchmarkMemory(b *testing.B) {
	short := Memory()
	b.ReportAllocs()
	for b.Loop() {
		short()
	}
}
