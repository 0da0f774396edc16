//go:build linux && (amd64 || arm64)

package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/guest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// Places inside the sandbox.
const (
	guestRoot  = "/gearbox"
	pythonRoot = "/python"
	workspace  = "/workspace"
)

// plan is the root file system of a fork server. Paths are those inside it, apart
// from the sources of the mounts.
type plan struct {
	Directories []string
	Links       []link
	Files       []file
	Mounts      []bind
	Executable  string
}

type link struct{ Path, Target string }

type file struct {
	Path string
	Data []byte
}

// bind is a read-only view of a host directory, file or device.
type bind struct {
	Source, Target string
	Device         bool
	// Unnamed keeps Source, which may lie in somebody's home, out of the list of
	// mounts that the sandbox can read.
	Unnamed bool
	// Overlaid shows a directory through an overlay or not at all.
	Overlaid bool
}

// newPlan decides what the sandbox holds. Absence is the wall: a program that is
// not in the plan cannot be run, whatever the filters say.
func newPlan(in sandbox.Interpreter, shape sandbox.Shape, files fs.FS) (plan, error) {
	p := plan{
		Directories: []string{"/dev/shm", "/etc", "/proc", "/run", "/tmp", "/usr/bin", "/var/tmp", workspace},
	}
	if err := p.addInterpreter(in); err != nil {
		return plan{}, err
	}
	if err := p.addPrograms(shape.Programs); err != nil {
		return plan{}, err
	}
	if err := p.addReads(shape.Reads); err != nil {
		return plan{}, err
	}
	for _, dir := range []string{
		"/usr/share/zoneinfo", "/etc/ssl/certs", "/usr/share/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
		// The locale of every sandbox, before the C library had it built in (glibc 2.35).
		"/usr/lib/locale/C.UTF-8", "/usr/lib/locale/C.utf8",
	} {
		p.addIfPresent(dir)
	}
	p.addDevices()
	p.addConfiguration()
	if err := p.addGuest(files, in.GuestCode); err != nil {
		return plan{}, err
	}
	p.Mounts = withoutCovered(p.Mounts)
	return p, nil
}

func (p *plan) addIfPresent(dir string) {
	if _, err := os.Stat(dir); err == nil {
		p.Mounts = append(p.Mounts, bind{Source: dir, Target: dir})
	}
}

// addLinkOrDirectory keeps what a top-level directory is: a link on systems with a
// merged /usr, a directory elsewhere.
func (p *plan) addLinkOrDirectory(dir string) {
	st, err := os.Lstat(dir)
	if err != nil {
		return
	}
	if st.Mode()&fs.ModeSymlink == 0 {
		p.Mounts = append(p.Mounts, bind{Source: dir, Target: dir})
		return
	}
	if target, err := os.Readlink(dir); err == nil {
		if path.IsAbs(target) {
			// An absolute target would be followed outside while the root is built.
			target, _ = filepath.Rel(path.Dir(dir), target)
		}
		p.Links = append(p.Links, link{Path: dir, Target: target})
	}
}

// addLibraries brings the shared libraries of dir: on systems that keep them apart by
// machine only those of this one, since the directories above hold programs as well.
// A directory without a C library or a loader holds nothing else that is needed.
func (p *plan) addLibraries(dir string) {
	st, err := os.Lstat(dir)
	if err != nil {
		return
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		p.addLinkOrDirectory(dir)
		return
	}
	// The loader stands at a path that is compiled into every program.
	loaders, _ := filepath.Glob(filepath.Join(dir, "ld-linux*.so.*"))
	machine := filepath.Join(dir, multiarch)
	if _, err := os.Stat(machine); err != nil {
		if _, err := os.Stat(filepath.Join(dir, "libc.so.6")); err == nil || len(loaders) > 0 {
			p.addLinkOrDirectory(dir)
		}
		return
	}
	p.Mounts = append(p.Mounts, bind{Source: machine, Target: machine})
	for _, l := range loaders {
		if source, err := filepath.EvalSymlinks(l); err == nil {
			p.Mounts = append(p.Mounts, bind{Source: source, Target: l})
		}
	}
}

func (p *plan) addInterpreter(in sandbox.Interpreter) error {
	if !path.IsAbs(in.Executable) {
		return fmt.Errorf("interpreter %q is not an absolute path", in.Executable)
	}
	if in.Embedded {
		rel, err := filepath.Rel(in.Root, in.Executable)
		if err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("interpreter %s is not below %s", in.Executable, in.Root)
		}
		p.Executable = path.Join(pythonRoot, rel)
		p.Mounts = append(p.Mounts, bind{Source: in.Root, Target: pythonRoot, Unnamed: true})
		return nil
	}
	p.Executable = in.Executable
	p.Mounts = append(p.Mounts, bind{Source: in.Executable, Target: in.Executable})
	for _, m := range in.Mounts {
		if !path.IsAbs(m) || path.Clean(m) == "/" {
			return fmt.Errorf("cannot mount %q for the interpreter", m)
		}
		p.Mounts = append(p.Mounts, bind{Source: m, Target: path.Clean(m)})
	}
	return nil
}

func (p *plan) addDevices() {
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		p.Mounts = append(p.Mounts, bind{Source: "/dev/" + name, Target: "/dev/" + name, Device: true})
	}
	p.Links = append(p.Links,
		link{"/dev/fd", "/proc/self/fd"}, link{"/dev/stdin", "/proc/self/fd/0"},
		link{"/dev/stdout", "/proc/self/fd/1"}, link{"/dev/stderr", "/proc/self/fd/2"})
}

// addConfiguration writes an /etc that says nothing about the host but its time
// zone and where its libraries are.
func (p *plan) addConfiguration() {
	text := map[string]string{
		"/etc/passwd":        "root:x:0:0:root:/:/bin/false\nsandbox:x:1000:1000:sandbox:/workspace:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
		"/etc/group":         "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n",
		"/etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
		"/etc/hostname":      hostName + "\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
	}
	for _, copied := range []string{"/etc/ld.so.cache", "/etc/localtime"} {
		if data, err := os.ReadFile(copied); err == nil {
			text[copied] = string(data)
		}
	}
	for name, data := range text {
		p.Files = append(p.Files, file{Path: name, Data: []byte(data)})
	}
}

func (p *plan) addGuest(files fs.FS, code map[string][]byte) error {
	for name, data := range code {
		p.Files = append(p.Files, file{Path: path.Join(guestRoot, guest.Package, "__pycache__", name), Data: data})
	}
	return fs.WalkDir(files, guest.Package, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		p.Files = append(p.Files, file{Path: path.Join(guestRoot, name), Data: data})
		return nil
	})
}

// withoutCovered orders mounts so that parents come first and drops those that a
// parent at its own path shows already.
func withoutCovered(mounts []bind) []bind {
	slices.SortStableFunc(mounts, func(a, b bind) int { return strings.Compare(a.Target, b.Target) })
	var out []bind
	for _, m := range mounts {
		covered := slices.ContainsFunc(out, func(o bind) bool {
			same := o.Source == m.Source && o.Target == m.Target
			below := o.Source == o.Target && m.Source == m.Target && strings.HasPrefix(m.Target, o.Target+"/")
			return same || below
		})
		if !covered {
			out = append(out, m)
		}
	}
	return out
}

// errNotMounted is wrapped when a source of the plan is out of the sandbox's reach.
var errNotMounted = errors.New("not reachable for the sandbox")
