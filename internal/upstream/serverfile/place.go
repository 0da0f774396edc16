package serverfile

import (
	"os"
	"path/filepath"
)

// FileName is the name of our own file, in the data directory. Another program looks for a
// file of this name in the working directory.
const FileName = "mcp_servers.json"

// Default is the file that is read when none is named, empty if it is not there.
func Default(dataDir string) string {
	path := filepath.Join(dataDir, FileName)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// Stray is a file in the working directory that another program would load, and that is
// not among those that are loaded; empty if there is none. It is for telling the operator:
// a directory that somebody else filled must not choose which programs are started.
func Stray(dir string, loaded []string) string {
	path := filepath.Join(dir, FileName)
	here, err := os.Stat(path)
	if err != nil {
		return ""
	}
	for _, f := range loaded {
		if other, err := os.Stat(f); err == nil && os.SameFile(here, other) {
			return ""
		}
	}
	return path
}
