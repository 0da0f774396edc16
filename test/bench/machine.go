//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine is where and when a report was made.
type machine struct {
	CPU      string
	Cores    int
	MemoryGB float64
	Kernel   string
	System   string
	Go       string
	Python   string // the embedded one
	Other    string // the python3 of the system
	Gearbox  string // what the binary says of itself
	Commit   string
	Date     string
	Load     string // before the run: 1, 5 and 15 minutes
	After    string
}

func describeMachine(ctx context.Context, root string) machine {
	m := machine{
		CPU: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), System: strings.Trim(field("/etc/os-release", "PRETTY_NAME"), "\""),
		Go: runtime.Version(), Date: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Load: loadAverage(), Commit: commit(ctx, root),
		Other: said(ctx, "/usr/bin/python3", "-c", "import platform; print(platform.python_version())"),
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryGB = float64(info.Totalram) * float64(info.Unit) / (1 << 30)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:]) + " " + unix.ByteSliceToString(name.Machine[:])
	}
	if m.CPU == "" {
		m.CPU = runtime.GOARCH + " of a model that /proc/cpuinfo does not name"
	}
	return m
}

// rows are the lines of the table that names the machine.
func (m machine) rows() [][]string {
	return [][]string{
		{"processor", fmt.Sprintf("%s, %d cores", m.CPU, m.Cores)},
		{"memory", fmt.Sprintf("%.0f GB", m.MemoryGB)},
		{"system", m.System + ", kernel " + m.Kernel},
		{"Gearbox", m.Gearbox + ", commit " + m.Commit},
		{"Go", m.Go},
		{"Python", m.Python + " embedded, " + m.Other + " of the system"},
		{"date", m.Date},
		{"load average", m.Load + " before, " + m.After + " after"},
	}
}

// field is the value of the first line "NAME : VALUE" or "NAME=VALUE" of a file.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(strings.TrimLeft(rest, " \t:="))
		}
	}
	return ""
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// commit names the source, with a mark if there are changes to it.
func commit(ctx context.Context, root string) string {
	id := said(ctx, "git", "-C", root, "rev-parse", "--short", "HEAD")
	if id != "unknown" && said(ctx, "git", "-C", root, "status", "--porcelain", "--untracked-files=no", "--", "cmd", "internal", "go.mod") != "" {
		id += " and changes"
	}
	return id
}

// said is what a command prints, "unknown" if it fails.
func said(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
