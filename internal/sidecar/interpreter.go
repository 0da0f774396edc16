package sidecar

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
)

// showable refuses an interpreter of which a part lies where every sandbox has a
// place of its own: programs would find that place instead, and miss the packages
// one by one.
func showable(python cpython.Installation, own []string) error {
	for _, path := range slices.Concat([]string{python.Executable}, python.Mounts, python.Path) {
		for _, place := range own {
			if path != place && !strings.HasPrefix(path, place+string(filepath.Separator)) {
				continue
			}
			return &cpython.InterpreterError{
				Path: path, What: "lies in " + place + ", and every sandbox has a " + place + " of its own that hides it",
				Hint: "make the virtual environment, or install the interpreter, somewhere else, for example below your home directory",
			}
		}
	}
	return nil
}
