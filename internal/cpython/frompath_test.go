package cpython

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostPython is an interpreter of the system, never the first on PATH: that may be
// a version manager's script.
func hostPython(t *testing.T) string {
	t.Helper()
	const path = "/usr/bin/python3"
	inst, err := FromPath(t.Context(), path)
	if err != nil {
		t.Skipf("this machine has no interpreter that could stand for an operator's: %v", err)
	}
	return inst.Executable
}

// virtualEnvironment makes one of the host's interpreter.
func virtualEnvironment(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "venv")
	out, err := exec.CommandContext(t.Context(), hostPython(t), "-I", "-m", "venv", "--without-pip", dir).CombinedOutput()
	if err != nil {
		t.Skipf("this machine cannot make a virtual environment: %s", out)
	}
	return dir
}

func sitePackages(t *testing.T, venv string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatalf("found %q, %v", found, err)
	}
	return found[0]
}

func TestAnInterpreterOfTheSystemIsDescribed(t *testing.T) {
	exe := hostPython(t)
	inst, err := FromPath(t.Context(), exe)
	must(t, err)
	library := python(t, exe, "import sysconfig; print(sysconfig.get_path('stdlib'))")
	switch {
	case inst.Embedded || inst.Executable != exe || inst.Digest.IsZero():
		t.Errorf("got %+v", inst)
	case inst.Version != python(t, exe, "import platform; print(platform.python_version())"):
		t.Errorf("the version is %s", inst.Version)
	case !slices.Contains(inst.Mounts, library):
		t.Errorf("the mounts %q lack %s", inst.Mounts, library)
	case slices.Contains(inst.Mounts, "/usr/bin") || slices.Contains(inst.Mounts, "/usr"):
		t.Errorf("the mounts %q grant programs", inst.Mounts)
	}
}

func TestAVirtualEnvironmentIsItsBaseWithItsPackages(t *testing.T) {
	venv := virtualEnvironment(t)
	packages := sitePackages(t, venv)
	for _, path := range []string{venv, filepath.Join(venv, "bin", "python3")} {
		inst, err := FromPath(t.Context(), path)
		must(t, err)
		if inst.Executable != hostPython(t) || !slices.Equal(inst.Path, []string{packages}) || !slices.Contains(inst.Mounts, packages) {
			t.Errorf("%s: got %+v", path, inst)
		}
	}
}

func TestDirectoriesOutsideTheEnvironmentAreNotGranted(t *testing.T) {
	venv, project := virtualEnvironment(t), t.TempDir()
	must(t, os.WriteFile(filepath.Join(sitePackages(t, venv), "editable.pth"), []byte(project+"\nimport sys; print('noise')\n"), 0o644))
	inst, err := FromPath(t.Context(), venv)
	must(t, err)
	if !slices.Equal(inst.Omitted, []string{project}) || slices.Contains(inst.Mounts, project) || slices.Contains(inst.Path, project) {
		t.Fatalf("got %+v", inst)
	}
}

func TestWhatIsNoInterpreterIsRefusedWithAHint(t *testing.T) {
	exe := hostPython(t)
	cases := map[string]struct {
		path func(t *testing.T) string
		what string
		hint string
	}{
		"a version manager's script": {func(t *testing.T) string {
			return script(t, "exec "+exe+` "$@"`)
		}, "is a script", "name the interpreter that it starts: " + exe},
		"another script":                {func(t *testing.T) string { return script(t, "echo hello") }, "is a script", "name the interpreter itself"},
		"a failing script":              {func(t *testing.T) string { return script(t, "exit 3") }, "is a script", "name the interpreter itself"},
		"another program":               {func(*testing.T) string { return "/bin/true" }, "is not a Python interpreter", "3.10"},
		"a failing program":             {func(*testing.T) string { return "/bin/false" }, "does not run as Python 3", "exit status 1"},
		"one that quotes its arguments": {func(*testing.T) string { return "/bin/ls" }, "does not run as Python 3", "it ended with exit status 2"},
		"nothing":                       {func(*testing.T) string { return "" }, "no path", ""},
		"a missing file":                {func(t *testing.T) string { return filepath.Join(t.TempDir(), "python3") }, "cannot be used", "no such file"},
		"an empty file": {func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "python3")
			must(t, os.WriteFile(file, nil, 0o755))
			return file
		}, "first bytes", ""},
		"a directory without one": {func(t *testing.T) string { return t.TempDir() }, "is a directory", "name the interpreter itself"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := FromPath(t.Context(), c.path(t))
			var refused *InterpreterError
			if !errors.As(err, &refused) || !strings.Contains(refused.What, c.what) || !strings.Contains(refused.Hint, c.hint) {
				t.Fatalf("got %v", err)
			}
			if len(err.Error()) > 2*longestReason || strings.Contains(err.Error(), "import json") {
				t.Fatalf("the message is no sentence: %v", err)
			}
		})
	}
}

func script(t *testing.T, body string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "python3")
	must(t, os.WriteFile(file, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	return file
}

func TestAnInterpreterThatTheGuestCannotRunOnIsRefused(t *testing.T) {
	sound := description{
		Implementation: "cpython", Version: "3.10.0", VersionInfo: [2]int{3, 10},
		BaseExecutable: "/opt/python/bin/python3.10", Library: []string{"/opt/python/lib/python3.10"},
	}
	must(t, sound.check("python3"))
	cases := map[string]struct {
		spoil func(*description)
		what  string
	}{
		"too old":              {func(d *description) { d.Version, d.VersionInfo = "3.9.21", [2]int{3, 9} }, "is Python 3.9.21"},
		"of another kind":      {func(d *description) { d.Implementation = "pypy" }, "is pypy"},
		"without a library":    {func(d *description) { d.Library = nil }, "standard library"},
		"that is not anywhere": {func(d *description) { d.BaseExecutable = "" }, "standard library"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := sound
			c.spoil(&d)
			var refused *InterpreterError
			if err := d.check("python3"); !errors.As(err, &refused) || !strings.Contains(refused.What, c.what) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestMountsAreTheOutermostOfTheirPaths(t *testing.T) {
	got := outermost([]string{"/a/b", "/a", "/ab", "/c/d", "/c/d", "/c/d/e"})
	if !slices.Equal(got, []string{"/a", "/ab", "/c/d"}) {
		t.Fatalf("got %q", got)
	}
}

func TestPackagesOfAnEnvironmentAreListedWithWhatTheyImportAs(t *testing.T) {
	venv := virtualEnvironment(t)
	packages := sitePackages(t, venv)
	for file, text := range map[string]string{
		"Zebra_kit-1.2.dist-info/METADATA":    "Metadata-Version: 2.1\nName: Zebra-kit\nVersion: 1.2\n",
		"Zebra_kit-1.2.dist-info/RECORD":      "zebra/__init__.py,,\n_zebra.abi3.so,,\nZebra_kit-1.2.dist-info/METADATA,,\n../../../bin/zebra.py,,\n",
		"apple-3.dist-info/METADATA":          "Metadata-Version: 2.1\nName: apple\nVersion: 3\n",
		"apple-3.dist-info/top_level.txt":     "apple\nseed\n",
		"half_removed-1.dist-info/RECORD":     "half/__init__.py,,\n",
		"not_a_distribution/__init__.py":      "",
		"sitecustomize.py":                    "raise SystemExit('never run')",
		"broken-1.dist-info/entry_points.txt": "",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(packages, file)), 0o755))
		must(t, os.WriteFile(filepath.Join(packages, file), []byte(text), 0o644))
	}
	inst := Installation{Executable: hostPython(t), Path: []string{packages}}
	list, err := Packages(t.Context(), inst)
	must(t, err)
	want := []Package{
		{Name: "apple", Version: "3", ImportNames: []string{"apple", "seed"}},
		{Name: "Zebra-kit", Version: "1.2", ImportNames: []string{"_zebra", "zebra"}},
	}
	if !slices.EqualFunc(list, want, func(a, b Package) bool {
		return a.Name == b.Name && a.Version == b.Version && slices.Equal(a.ImportNames, b.ImportNames)
	}) {
		t.Fatalf("got %+v", list)
	}
}
