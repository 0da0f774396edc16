//go:build linux

package sidecar_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// hostFiles is a directory of the host that anybody may enter.
func hostFiles(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "gearbox-grants-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, text := range map[string]string{"a.txt": "one", "b.txt": "two", "tree/deep/c.txt": "three"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAGrantedPathIsReadAndItsNeighbourIsAbsent(t *testing.T) {
	dir := hostFiles(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, sidecar.Options{Allow: []string{"read(" + dir + "/a.txt)", "read(" + dir + "/tree/**)"}})
	// The directory comes as a variable, so that nothing is foreseen: what is there is the wall's doing.
	code := "import os\n" +
		"print(open(d + '/a.txt').read(), open(os.path.join(d, 'tree', 'deep', 'c.txt')).read(), os.path.exists(d + '/b.txt'))\n" +
		"for path in (d + '/a.txt', os.path.join(d, 'tree', 'new')):\n" +
		"    try:\n        open(path, 'a')\n    except OSError as e:\n        print(e.errno in (13, 30))\n"
	vars := map[string]json.RawMessage{"d": json.RawMessage(strconv.Quote(dir))}
	if r := run(t, s, execution.Request{Code: code, Variables: vars}); r.Stdout != "one three False\nTrue\nTrue\n" {
		t.Errorf("%s%s", r.Stdout, r.Stderr)
	}
	if r := run(t, s, execution.Request{Code: "print(open('" + dir + "/a.txt').read())"}); r.Stdout != "one\n" {
		t.Errorf("foreseen and allowed: %+v", r)
	}
	if r := run(t, s, execution.Request{Code: "open('" + dir + "/b.txt')"}); r.Status != execution.StatusDenied {
		t.Errorf("foreseen and not allowed: %+v", r)
	}
}

func TestASocketInAGrantedDirectoryLeadsNowhere(t *testing.T) {
	dir := hostFiles(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tree", "agent.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	s := open(t, sidecar.Options{Allow: []string{"read(" + dir + "/tree/**)"}})
	code := "import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('" + path + "'.strip())\n    print('reached')\nexcept OSError as e:\n    print('refused')\n"
	if r := run(t, s, execution.Request{Code: code}); r.Stdout != "refused\n" {
		t.Errorf("%+v", r)
	}
}

func TestAPatternThatNoMountCanCarryOutIsRefused(t *testing.T) {
	dir := hostFiles(t)
	s := open(t, sidecar.Options{Allow: []string{"read(" + dir + "/*.txt)"}})
	r := run(t, s, execution.Request{Code: "open('" + dir + "/a.txt')"})
	if r.Status != execution.StatusDenied || !strings.Contains(r.Error.Violations[0].Hint, "DIR/**") {
		t.Errorf("%+v", r)
	}
}

func TestAGrantedVariableIsThereAndNoOther(t *testing.T) {
	t.Setenv("GEARBOX_TEST_GRANTED", "value")
	t.Setenv("GEARBOX_TEST_SECRET", "secret")
	s := open(t, sidecar.Options{Allow: []string{"env(GEARBOX_TEST_GRANTED)"}})
	r := run(t, s, execution.Request{Code: "import os\nprint(os.environ['GEARBOX_TEST_GRANTED'], 'secret' in str(os.environ))"})
	if r.Stdout != "value False\n" {
		t.Errorf("%+v", r)
	}
	if r := run(t, s, execution.Request{Code: "import os\nprint(os.environ.get('GEARBOX_TEST_UNSET', 'default'))"}); r.Stdout != "default\n" {
		t.Errorf("what nobody has set needs no permission: %+v", r)
	}
	if r := run(t, s, execution.Request{Code: "import os\nos.environ['GEARBOX_TEST_SECRET']"}); r.Status != execution.StatusDenied {
		t.Errorf("%+v", r)
	}
}

func TestAGrantThatShowsTheRecordsOrMeansNothingIsRefusedAtStart(t *testing.T) {
	dir := cpythontest.DataDir(t)
	for _, rule := range []string{"read(" + dir + "/**)", "read(" + filepath.Dir(dir) + "/**)", "read(" + dir + "/rules.yaml)", "read(/tmp/x)", "read(/)", "read(/**)"} {
		if _, err := tryOpen(t, sidecar.Options{Allow: []string{rule}}); err == nil {
			t.Errorf("%s was accepted", rule)
		}
	}
}

func TestAGrantThatIsNotWhatItSaysIsRefusedAtStart(t *testing.T) {
	dir := hostFiles(t)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "tree"), link); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]sidecar.Options{
		"through a link":        {Allow: []string{"read(" + link + "/**)"}},
		"denied through a link": {Allow: []string{"read(" + dir + "/tree/**)"}, Deny: []string{"read(" + link + "/deep/c.txt)"}},
		"with a part taken out": {Allow: []string{"read(" + dir + "/tree/**)"}, Deny: []string{"read(" + dir + "/tree/deep/**)"}},
		"with a file taken out": {Allow: []string{"read(" + dir + "/tree/**)"}, Deny: []string{"read(" + dir + "/tree/deep/c.txt)"}},
	} {
		if _, err := tryOpen(t, o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAGrantedDirectoryIsListed(t *testing.T) {
	dir := hostFiles(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, sidecar.Options{Allow: []string{"read(" + dir + "/**)"}})
	vars := map[string]json.RawMessage{"d": json.RawMessage(strconv.Quote(dir))}
	r := run(t, s, execution.Request{Code: "import os\nprint(sorted(os.listdir(d)), os.listdir(d + '/tree'), len(os.listdir('/python')) > 0, 'usr' in os.listdir('/'))", Variables: vars})
	if r.Stdout != "['a.txt', 'b.txt', 'tree'] ['deep'] True True\n" {
		t.Errorf("%s%s", r.Stdout, r.Stderr)
	}
}

func TestAProgramIsPresentOnlyIfItIsAllowed(t *testing.T) {
	dir := hostFiles(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(dir, "tool")
	if err := os.WriteFile(tool, []byte("#!/usr/bin/env -S cat\nfrom the tool\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, sidecar.Options{Allow: []string{"run(" + tool + ")"}})
	code := "import subprocess\n" +
		"print(subprocess.run(['echo', 'hi'], capture_output=True, text=True).stdout, end='')\n" +
		"print(subprocess.run(['" + tool + "'], capture_output=True, text=True).stdout.splitlines()[-1])\n" +
		"import shutil\nprint(shutil.which('git'))\n"
	if r := run(t, s, execution.Request{Code: code}); r.Stdout != "hi\nfrom the tool\nNone\n" {
		t.Errorf("%+v %+v", r, r.Error)
	}
}
