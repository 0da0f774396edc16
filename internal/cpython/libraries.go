package cpython

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
)

// sharedLibraries lists what an executable needs beside the system's libraries:
// the directories of its run path, and a shared libpython. Only ELF has such
// here; systems with other formats have no mounts.
func sharedLibraries(executable, libraryDir string) ([]string, error) {
	data, err := os.Open(executable)
	if err != nil {
		return nil, err
	}
	defer func() { _ = data.Close() }()
	head := make([]byte, len(elf.ELFMAG))
	if _, err := data.ReadAt(head, 0); err != nil || !bytes.Equal(head, []byte(elf.ELFMAG)) {
		return nil, err
	}
	f, err := elf.NewFile(data)
	if err != nil {
		return nil, err
	}
	dirs, err := runPath(f, filepath.Dir(executable))
	if err != nil {
		return nil, err
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for _, name := range needed {
		if strings.HasPrefix(name, "libpython") {
			dirs = append(dirs, findLibrary(name, append(dirs, libraryDir))...)
		}
	}
	return dirs, nil
}

// runPath is where the dynamic linker looks first (ld.so(8), DT_RPATH and
// DT_RUNPATH), as far as it exists.
func runPath(f *elf.File, origin string) ([]string, error) {
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		values, err := f.DynString(tag)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			for dir := range strings.SplitSeq(value, ":") {
				dir = filepath.Clean(strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir))
				if filepath.IsAbs(dir) && isDir(dir) {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	return dirs, nil
}

// findLibrary returns the first directory that has the library, nothing when only
// the system's own directories have it.
func findLibrary(name string, dirs []string) []string {
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return []string{dir}
		}
	}
	return nil
}
