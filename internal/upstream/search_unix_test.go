//go:build unix

package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// home is a user with a login shell that finds more than we do, and that talks.
func home(t *testing.T) (environ func() []string, folder string) {
	t.Helper()
	folder = t.TempDir()
	shell := filepath.Join(folder, "shell")
	write(t, shell, "#!/bin/sh\necho welcome\necho asked >>"+folder+"/asked\nPATH="+folder+"/bin:$PATH\nshift\neval \"$1\"\n")
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	return func() []string { return []string{"PATH=" + folder + "/nothing", "HOME=" + folder, "SHELL=" + shell} }, folder
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
}

func TestAProgramIsFoundWhereTheLoginShellFindsIt(t *testing.T) {
	t.Parallel()
	environ, folder := home(t)
	write(t, folder+"/bin/npx-of-test", "#!/bin/sh\nexec \""+os.Args[0]+"\"\n")
	s := spec(t, "npx", "honest")
	s.Command = []string{"npx-of-test"}
	f := fleetOf(t, Options{Environ: environ}, s)
	if _, err := f.Server(bounded(t), "npx"); err != nil {
		t.Error(err)
	}
	if asked, err := os.ReadFile(folder + "/asked"); err != nil || string(asked) != "asked\nasked\n" {
		t.Errorf("%q, %v", asked, err)
	}
}

func TestAProgramThatIsNotThereSaysHowToGetIt(t *testing.T) {
	t.Parallel()
	environ, folder := home(t)
	for command, want := range map[string]string{
		"npx": "Node.js", "uvx": "docs.astral.sh/uv", "no-such-program": "whole path", "./here": "does not exist",
	} {
		s := Spec{Name: "x", Transport: Stdio, Command: []string{command}, Dir: folder, Env: map[string]string{"PATH": folder + "/nothing"}}
		f := fleetOf(t, Options{Environ: environ}, s)
		if _, err := f.Server(bounded(t), "x"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), command[2:]) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestAShellThatHangsIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	environ, folder := home(t)
	write(t, folder+"/shell", "#!/bin/sh\nprintf '\\036gearbox\\036/from/before\\036gearbox\\036'\n/bin/sleep 600\n")
	s := &searcher{environ: environ, patience: 200 * time.Millisecond}
	if path := s.loginPath(t.Context()); path != "/from/before" {
		t.Errorf("%q", path)
	}
}
