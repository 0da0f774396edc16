//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes a simulated hierarchy of version 2: the kernel's files as ordinary
// ones, which is enough to see what is read and written.
func tree(t *testing.T, files map[string]string) system {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return system{
		root: root, pid: 77, own: "0::/user.slice/app.scope\n",
		mountinfo: "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
	}
}

const scope = "sys/fs/cgroup/user.slice/app.scope/"

func TestADelegatedGroupOfVersion2IsUsed(t *testing.T) {
	s := tree(t, map[string]string{
		scope + "cgroup.controllers":             "cpu memory pids\n",
		scope + "cgroup.subtree_control":         "",
		scope + "cgroup.procs":                   "77\n",
		scope + "gearbox-server/cgroup.procs":    "",
		scope + "gearbox-999999999-1/memory.max": "",
	})
	p, err := find(s)
	if err != nil {
		t.Fatal(err)
	}
	if p.Version() != 2 || !p.Has("memory") || !p.Has("pids") || !p.Has("cpu") {
		t.Fatalf("%+v", p)
	}
	for name, want := range map[string]string{
		scope + "cgroup.subtree_control":      "+memory +pids +cpu",
		scope + "gearbox-server/cgroup.procs": "77",
	} {
		if got, _ := os.ReadFile(filepath.Join(s.root, name)); string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestWhatIsNotDelegatedIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"controllers elsewhere": {
			map[string]string{scope + "cgroup.controllers": "hugetlb\n"},
			"offers the controllers [hugetlb]",
		},
		"other processes in the group": {
			map[string]string{
				scope + "cgroup.controllers": "memory pids\n", scope + "cgroup.subtree_control": "", scope + "cgroup.procs": "12\n77\n",
			}, "systemd-run --user --scope -p Delegate=yes",
		},
		"nothing mounted": {nil, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := find(tree(t, c.files))
			if !errors.Is(err, ErrNotDelegated) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestAGroupOfVersion2GetsItsLimits(t *testing.T) {
	s := tree(t, map[string]string{
		scope + "cgroup.controllers":     "cpu memory pids\n",
		scope + "cgroup.subtree_control": "cpu memory pids\n",
	})
	p, err := find(s)
	if err != nil {
		t.Fatal(err)
	}
	// The kernel makes these files with the directory; the simulation needs them first.
	name := fmt.Sprintf("%s%d-1", prefix, os.Getpid())
	dir := filepath.Join(s.root, scope, name)
	g := &Group{place: p, name: name, dirs: p.unique("memory", "pids")}
	files := []string{"memory.max", "memory.oom.group", "pids.max", "cpu.max", "cgroup.procs"}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Limit(Limits{Memory: 100 << 20, Processes: 64, CPUs: 0.5}); err != nil {
		t.Fatal(err)
	}
	doors, err := g.Doors()
	if err != nil || len(doors) != 1 {
		t.Fatalf("%v, %v", doors, err)
	}
	if _, err := doors[0].WriteString(Enter); err != nil {
		t.Fatal(err)
	}
	_ = doors[0].Close()
	for i, want := range []string{"104857600", "1", "64", "50000 100000", "0"} {
		if got, _ := os.ReadFile(filepath.Join(dir, files[i])); string(got) != want {
			t.Errorf("%s: %q, want %q", files[i], got, want)
		}
	}
}

func TestCountsOfVersion2AreRead(t *testing.T) {
	s := tree(t, map[string]string{
		scope + "cgroup.controllers": "memory pids\n", scope + "cgroup.subtree_control": "memory pids\n",
		scope + "g/memory.peak": "12345\n", scope + "g/memory.events": "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n", scope + "g/pids.events": "max 7\n",
	})
	p, err := find(s)
	if err != nil {
		t.Fatal(err)
	}
	u, err := (&Group{place: p, name: "g"}).Usage()
	if err != nil || u != (Usage{MemoryPeak: 12345, OOMKills: 2, Refused: 7}) {
		t.Fatalf("%+v, %v", u, err)
	}
}
