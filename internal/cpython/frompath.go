package cpython

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The oldest Python that the guest runs on.
const (
	oldestMajor = 3
	oldestMinor = 10
)

// describeTime bounds how long an interpreter may take to describe itself, cold
// disk and site configuration included.
const describeTime = 20 * time.Second

// description is what helper/describe.py tells.
type description struct {
	Implementation string   `json:"implementation"`
	Version        string   `json:"version"`
	VersionInfo    [2]int   `json:"version_info"`
	Executable     string   `json:"executable"`
	BaseExecutable string   `json:"base_executable"`
	Prefix         string   `json:"prefix"`
	BasePrefix     string   `json:"base_prefix"`
	Library        []string `json:"library"`
	LibraryDir     string   `json:"library_dir"`
	Path           []string `json:"path"`
}

// FromPath describes an interpreter that the operator names: an executable, a
// virtual environment's executable, or the directory of one. A path that cannot
// be used is an [InterpreterError].
//
// Of a virtual environment the base interpreter is used with the environment's
// packages on its path, so that no link of the environment has to be followed
// inside a sandbox. Directories outside the environment, as editable installs add
// them, are left out: they are the operator's files, and a rule must grant them.
func FromPath(ctx context.Context, path string) (Installation, error) {
	file, err := locate(path)
	if err != nil {
		return Installation{}, err
	}
	binary, err := isBinary(file)
	if err != nil {
		return Installation{}, &InterpreterError{Path: file, What: err.Error()}
	}
	d, err := describe(ctx, file)
	if err := ctx.Err(); err != nil {
		return Installation{}, err
	}
	if !binary {
		return Installation{}, scriptError(file, d, err)
	}
	if err != nil {
		return Installation{}, err
	}
	if err := d.check(file); err != nil {
		return Installation{}, err
	}
	return d.installation()
}

// locate turns what the operator wrote into the absolute path of a file, without
// following its last link: a virtual environment is known by that path.
func locate(path string) (string, error) {
	if path == "" {
		return "", &InterpreterError{Path: path, What: "no path is given"}
	}
	if !strings.ContainsRune(path, filepath.Separator) {
		if found, err := exec.LookPath(path); err == nil {
			path = found
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", &InterpreterError{Path: path, What: "cannot be used", Hint: err.Error()}
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, name := range []string{"bin/python3", "bin/python", "Scripts/python.exe", "python.exe"} {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(path, name), nil
		}
	}
	return "", &InterpreterError{Path: path, What: "is a directory without an interpreter in it", Hint: "name the interpreter itself"}
}

// isBinary reports whether file is an executable of this system and not a script:
// ELF, the forms of Mach-O, or PE.
func isBinary(file string) (bool, error) {
	info, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("is not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 4)
	if _, err := f.Read(head); err != nil {
		return false, fmt.Errorf("read its first bytes: %w", err)
	}
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true, nil
		}
	}
	return false, nil
}

// scriptError refuses a script. Version managers put scripts of the interpreter's
// name first on PATH; through such a one the interpreter has said where it is.
func scriptError(file string, d description, err error) error {
	hint := "name the interpreter itself"
	if err == nil && filepath.IsAbs(d.Executable) && d.Executable != file {
		hint = "name the interpreter that it starts: " + d.Executable
	}
	return &InterpreterError{Path: file, What: "is a script, not an interpreter", Hint: hint}
}

func describe(ctx context.Context, file string) (description, error) {
	out, err := call{executable: file, helper: "describe.py", timeout: describeTime}.run(ctx)
	if err != nil {
		return description{}, &InterpreterError{Path: file, What: "does not run as Python 3", Hint: reason(err)}
	}
	var d description
	if err := decodeLine(out, &d); err != nil {
		return description{}, &InterpreterError{Path: file, What: "is not a Python interpreter", Hint: "name one of Python 3.10 or newer"}
	}
	return d, nil
}

// longestReason is what a person reads of a program's last words. Interpreters end
// in one line; other programs may quote the whole helper, which is their argument.
const longestReason = 300

func reason(err error) string {
	var ended *exec.ExitError
	if s := err.Error(); !errors.As(err, &ended) || len(s) <= longestReason {
		return s
	}
	return "it ended with " + ended.Error() + "; name a CPython interpreter, 3.10 or newer"
}

// decodeLine reads the last line of a helper's output: start-up files of an
// environment may print before it.
func decodeLine(out []byte, to any) error {
	out = bytes.TrimSpace(out)
	return json.Unmarshal(out[bytes.LastIndexByte(out, '\n')+1:], to)
}

func (d description) check(file string) error {
	switch {
	case d.Implementation != "cpython":
		return &InterpreterError{Path: file, What: "is " + d.Implementation, Hint: "CPython is required"}
	case d.VersionInfo[0] != oldestMajor || d.VersionInfo[1] < oldestMinor:
		hint := fmt.Sprintf("%d.%d or newer is required", oldestMajor, oldestMinor)
		return &InterpreterError{Path: file, What: "is Python " + d.Version, Hint: hint}
	case len(d.Library) == 0 || !filepath.IsAbs(d.BaseExecutable):
		return &InterpreterError{Path: file, What: "cannot say where its standard library lies", Hint: "name an installed interpreter"}
	}
	return nil
}

func (d description) installation() (Installation, error) {
	libraries, err := sharedLibraries(d.BaseExecutable, d.LibraryDir)
	if err != nil {
		return Installation{}, fmt.Errorf("read %s: %w", d.BaseExecutable, err)
	}
	path, omitted := d.packagePaths()
	mounts := slices.Concat(d.Library, path, libraries)
	// An interpreter with a prefix of its own keeps libraries there that its
	// modules load. The prefix itself can be a home directory.
	if own := filepath.Join(d.BasePrefix, "lib"); !slices.Contains([]string{"/", "/usr"}, d.BasePrefix) && isDir(own) {
		mounts = append(mounts, own)
	}
	mounts = outermost(mounts)
	sum, err := hashFile(d.BaseExecutable)
	if err != nil {
		return Installation{}, err
	}
	digest := execution.DigestOf([]byte(sum), []byte(d.Version), []byte(d.BaseExecutable),
		[]byte(strings.Join(mounts, "\x00")), []byte(strings.Join(path, "\x00")))
	return Installation{
		Root: d.BasePrefix, Executable: d.BaseExecutable, Version: d.Version,
		Digest: digest, Content: digest, Mounts: mounts, Path: path, Omitted: omitted,
	}, nil
}

// packagePaths splits the interpreter's sys.path into the directories of its
// packages and those that lie elsewhere.
func (d description) packagePaths() (path, omitted []string) {
	for _, dir := range d.Path {
		switch {
		case slices.ContainsFunc(d.Library, func(library string) bool {
			return dir == library || dir == filepath.Join(library, "lib-dynload")
		}):
		case within(dir, d.Prefix) || within(dir, d.BasePrefix):
			path = append(path, dir)
		default:
			omitted = append(omitted, dir)
		}
	}
	return path, omitted
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// outermost drops paths that lie within others.
func outermost(paths []string) []string {
	var out []string
	slices.Sort(paths)
	for _, p := range paths {
		if !slices.ContainsFunc(out, func(o string) bool { return within(p, o) }) {
			out = append(out, p)
		}
	}
	return out
}
