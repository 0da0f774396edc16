//go:build linux && (amd64 || arm64)

package linux

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// shell is the program that bash sources are run by.
const shell = "bash"

// HasShell reports whether this host has a bash that programs can be given.
func HasShell() bool { return findProgram(shell) != "" }

// withShell adds what a language needs beyond what a gear grants: a bash source is
// run by bash, whether or not programs may start another one.
func withShell(s sandbox.Shape, l execution.Language) (sandbox.Shape, error) {
	if l != execution.Bash {
		return s, nil
	}
	if !HasShell() {
		return s, sandbox.ErrNoShell
	}
	names := strings.Split(s.Programs, ",")
	switch {
	case s.Programs == "":
		s.Programs = shell
	case s.Programs != "*" && !slices.Contains(names, shell):
		s.Programs += "," + shell
	}
	return s, nil
}

// addPrograms brings the C library and the programs named in list. The interpreter
// has to be planned already.
func (p *plan) addPrograms(list string) error {
	if list == "*" {
		p.Mounts = append(p.Mounts, bind{Source: "/usr", Target: "/usr"})
		for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64"} {
			p.addLinkOrDirectory(dir)
		}
		p.addIfPresent("/etc/alternatives")
		return nil
	}
	for _, dir := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64"} {
		p.addLibraries(dir)
	}
	if list == "" {
		return nil
	}
	p.Links = append(p.Links, link{Path: "/bin", Target: "usr/bin"}, link{Path: "/sbin", Target: "usr/bin"})
	for name := range strings.SplitSeq(list, ",") {
		target := name
		if !path.IsAbs(name) {
			target = "/usr/bin/" + name
		}
		if name == "" || path.Clean(target) != target || strings.ContainsRune(name, 0) || strings.HasPrefix(name, ".") {
			return fmt.Errorf("not the name or the path of a program: %q", name)
		}
		if err := p.addProgram(name, target); err != nil {
			return err
		}
	}
	return nil
}

// addProgram brings one program to a place of its own name, whatever file is behind that.
func (p *plan) addProgram(name, at string) error {
	if name == "python" || name == "python3" {
		// The sandbox's own: that of the host would miss its library.
		return p.addInterpreterName(at)
	}
	source := findProgram(name)
	if source == "" {
		return nil
	}
	p.Mounts = append(p.Mounts, bind{Source: source, Target: at})
	for _, data := range programData()[path.Base(name)] {
		if source, err := filepath.EvalSymlinks(data); err == nil {
			p.Mounts = append(p.Mounts, bind{Source: source, Target: data})
		}
	}
	return nil
}

// addInterpreterName links at to the interpreter. The target is relative, so that it
// means the same while the root is built.
func (p *plan) addInterpreterName(at string) error {
	if p.Executable == at {
		return nil
	}
	target, err := filepath.Rel(path.Dir(at), p.Executable)
	if err != nil {
		return fmt.Errorf("link %s: %w", at, err)
	}
	p.Links = append(p.Links, link{Path: at, Target: target})
	return nil
}

// programData is what programs need beside their libraries, by name.
func programData() map[string][]string {
	awk := []string{"/usr/share/awk"}
	return map[string][]string{
		"awk": awk, "gawk": awk,
		"file":   {"/usr/share/misc/magic.mgc", "/usr/share/file/misc/magic.mgc", "/etc/magic"},
		"git":    {"/usr/lib/git-core", "/usr/libexec/git-core", "/usr/share/git-core"},
		"perl":   {"/etc/perl", "/usr/share/perl", "/usr/share/perl5", "/usr/lib/perl5"},
		"stdbuf": {"/usr/libexec/coreutils", "/usr/lib/coreutils"},
	}
}

// findProgram returns the file behind a program of the host, or nothing. The
// search path is fixed: that of the server's environment is the operator's own.
func findProgram(name string) string {
	candidates := []string{filepath.Join("/usr/bin", name), filepath.Join("/bin", name)}
	if path.IsAbs(name) {
		candidates = []string{name}
	}
	for _, candidate := range candidates {
		source, err := filepath.EvalSymlinks(candidate)
		if err != nil {
			continue
		}
		if st, err := os.Stat(source); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return source
		}
	}
	return ""
}
