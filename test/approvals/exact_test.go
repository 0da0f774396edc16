//go:build linux

package approvals

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// looks is a program that tells what it finds of a list that comes by its input, where no
// analysis sees it: programs, files and variables of the environment.
const looks = `
import json as _json, os as _os, sys as _sys
_found = []
for _kind, _name, _text in _json.load(_sys.stdin):
    try:
        if _kind == "env":
            _os.environ[_name]
        elif _kind == "run":
            assert _os.access(_name, _os.X_OK)
        else:
            assert open(_name).read() == _text
        _found.append(_name)
    except Exception:
        pass
print(_json.dumps(_found))
`

// thing is what might be granted: its kind, its name, and what a file holds outside.
type thing [3]string

func file(t *testing.T, name string) thing { return thing{"read", name, read(t, name)} }

func looking(t *testing.T, before string, things ...thing) call {
	t.Helper()
	text, err := json.Marshal(things)
	if err != nil {
		t.Fatal(err)
	}
	return call{Code: before + looks, Stdin: string(text)}
}

// found is what such a program told in its last line.
func found(t *testing.T, a answer) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(a.Stdout), "\n")
	var all []string
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &all); err != nil || a.Status != "ok" {
		t.Fatalf("%v: %s", err, a.raw)
	}
	return all
}

// hostFiles are two files of the host. Where a sandbox has such a file of its own it says
// something else.
func hostFiles(t *testing.T) (one, other string) {
	t.Helper()
	var there []string
	for _, name := range []string{"/etc/hostname", "/etc/passwd", "/etc/fstab", "/etc/debian_version", "/etc/shells", "/etc/issue", "/etc/login.defs"} {
		real, err := filepath.EvalSymlinks(name)
		if st, bad := os.Stat(name); err == nil && bad == nil && real == name && st.Mode().IsRegular() {
			there = append(there, name)
		}
	}
	if len(there) < 2 {
		t.Skip("skipped: this machine has no two files in /etc to show")
	}
	return there[0], there[1]
}

func TestAYesGrantsExactlyWhatWasShownAndOnce(t *testing.T) {
	dir := dataDir(t)
	shown, neighbour := hostFiles(t)
	s := serve(t, dir, options{env: []string{"GEARBOX_TEST_SHOWN=1", "GEARBOX_TEST_HIDDEN=2"}})
	d := openDesk(t, dir)
	everything := []thing{
		{"run", "/usr/bin/mount"},
		{"run", "/usr/bin/umount"},
		{"run", "/usr/bin/findmnt"},
		{"run", "/usr/bin/gpg"},
		{"run", "/bin/mount"},
		file(t, shown), file(t, neighbour),
		{"env", "GEARBOX_TEST_SHOWN"},
		{"env", "GEARBOX_TEST_HIDDEN"},
	}
	nothing := looking(t, "", everything...)
	if got := found(t, s.execute(nothing)); len(got) > 0 {
		t.Fatalf("without a yes there is %v", got)
	}
	for before, want := range map[string]string{
		"import subprocess\nsubprocess.run(['mount', '--version'], capture_output=True)\n": "/usr/bin/mount /bin/mount",
		"open('" + shown + "').read()\n":                shown,
		"import os\nos.environ['GEARBOX_TEST_SHOWN']\n": "GEARBOX_TEST_SHOWN",
	} {
		a := s.ask(looking(t, before, everything...))
		d.approve(a.Operation)
		if got := strings.Join(found(t, s.outcome(a.Operation)), " "); got != want {
			t.Errorf("after a yes to %v there is %s", a.Permissions, got)
		}
		// Whichever warm sandbox the next programs get, and they get each.
		for range 12 {
			if got := found(t, s.execute(nothing)); len(got) > 0 {
				t.Fatalf("after the run with %v the next one has %v", a.Permissions, got)
			}
		}
		again := s.ask(looking(t, before, everything...))
		if again.Operation == a.Operation || d.question(again.Operation).Hash == d.question(a.Operation).Hash {
			t.Errorf("the same program is not asked about anew: %s", again.raw)
		}
	}
	verify(t, dir)
}

// A name that another part could read as a list or a pattern stands for nothing but itself,
// or for nothing.
func TestNamesThatLookLikePatternsAreNotAskedAboutAsSuch(t *testing.T) {
	dir := dataDir(t)
	s := serve(t, dir, options{})
	for _, code := range []string{
		"import subprocess\nsubprocess.run(['mount,umount'])", // which nobody can name, so that it is any program
		"import subprocess\nsubprocess.run(['mou*'])",
		"import subprocess\nsubprocess.run(['{mount,umount}'])",
		"import subprocess\nsubprocess.run(['../sbin/../bin/mount'])",
		"import subprocess\nsubprocess.run(['/usr/bin/../bin/mount'])",
		"open('/etc/**').read()",
		"open('/etc/*').read()",
		"open('/etc').read()",
		"open('" + dir + "/records.db').read()",
		"import subprocess\nsubprocess.run(['" + dir + "/records.db'])",
	} {
		a := s.execute(call{Code: code})
		anything := slices.Equal(a.Permissions, []string{"run(*) in line 2"})
		if a.Status == "pending_approval" && !anything || a.Status == "ok" {
			t.Errorf("%q: %s", code, a.raw)
		}
	}
}
