package sidecar

import (
	"errors"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
)

func TestAnInterpreterThatASandboxWouldHideIsRefusedByItsPlace(t *testing.T) {
	own := []string{"/tmp", "/workspace"}
	good := cpython.Installation{Executable: "/usr/bin/python3", Mounts: []string{"/usr/lib/python3"}, Path: []string{"/home/u/venv/lib"}}
	for name, row := range map[string]struct {
		change func(*cpython.Installation)
		place  string
	}{
		"elsewhere":         {func(*cpython.Installation) {}, ""},
		"a similar name":    {func(i *cpython.Installation) { i.Executable = "/tmpfs/python3" }, ""},
		"the interpreter":   {func(i *cpython.Installation) { i.Executable = "/tmp/python3" }, "/tmp"},
		"its library":       {func(i *cpython.Installation) { i.Mounts = []string{"/usr/lib", "/workspace/lib"} }, "/workspace"},
		"its packages":      {func(i *cpython.Installation) { i.Path = []string{"/tmp/venv/lib/site-packages"} }, "/tmp"},
		"the place as such": {func(i *cpython.Installation) { i.Path = []string{"/tmp"} }, "/tmp"},
	} {
		python := good
		row.change(&python)
		err := showable(python, own)
		if row.place == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var refused *cpython.InterpreterError
		if !errors.As(err, &refused) || !strings.Contains(refused.What, "lies in "+row.place+",") || !strings.Contains(refused.Hint, "below your home") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
